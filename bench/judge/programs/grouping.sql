SELECT region, day / 365, count(*), avg(amount), count(DISTINCT product) FROM sales JOIN customers USING (customer) GROUP BY 1, 2 ORDER BY 4;
SELECT substr(name, 1, 2), product % 50, total(amount) FROM sales JOIN customers USING (customer) GROUP BY 1, 2 ORDER BY 3 DESC;
