WITH RECURSIVE steps(n, at) AS (SELECT 0, 1 UNION ALL SELECT n + 1, (at * 48271) % 50000 FROM steps WHERE n < 95000)
SELECT count(*), sum(amount), max(note) FROM steps JOIN sales ON sales.customer = steps.at WHERE note LIKE '%a%';
