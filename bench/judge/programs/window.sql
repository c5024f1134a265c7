SELECT sum(r) FROM (SELECT rank() OVER (PARTITION BY product ORDER BY amount) AS r FROM sales);
SELECT max(s) FROM (SELECT sum(amount) OVER (PARTITION BY day ORDER BY id) AS s FROM sales);
SELECT count(*) FROM (SELECT note, sum(amount) FROM sales GROUP BY note ORDER BY 2);
