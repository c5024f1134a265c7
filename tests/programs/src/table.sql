-- Input of sqlite3.
create table t(a integer, b integer);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 100000) insert into t select x, x * 7919 % 10007 from c;
create index of_b on t(b);
select sum(a * b), count(distinct b) from t;
select b, count(*), max(a) from t group by b order by 2 desc, 1 limit 5;
delete from t where a % 3 = 0;
select count(*), avg(a) from t;
