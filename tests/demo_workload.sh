#!/bin/bash
# demo_workload.sh DIR - a small database server's day: an index build, random look-ups over the index
# and a backup-like scan in between. About 100 MB of files in DIR, which is made if it is not there
# and which the caller removes.
set -eu
mkdir -p "$1"
db=$1/orders.db
sqlite3 "$db" >/dev/null <<'SQL'
pragma journal_mode=off; pragma synchronous=off; pragma cache_size=-2000; pragma mmap_size=0;
drop table if exists orders;
create table orders(id integer primary key, customer int, amount int, note text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 320000)
insert into orders select i, abs(random()) % 40000, abs(random()) % 9999, hex(randomblob(90)) from n;
create index by_customer on orders(customer);
SQL
lookups() { # FROM COUNT: customers in random order, a few of them far more often than the rest
	sqlite3 "$db" >/dev/null <<SQL
pragma cache_size=-2000; pragma mmap_size=0;
with recursive n(i) as (select 1 union all select i + 1 from n where i < $1)
select sum(o.amount) from n join orders o
on o.customer = (abs(random()) % 200) * (abs(random()) % 200);
SQL
}
lookups 4000
cat "$db" >/dev/null
lookups 4000
cat "$db" >/dev/null
lookups 2000
