-- index.sql - an index build by random inserts into a database larger than memory: the load of a 2002
-- report (osdb's create_idx, docs/cases). Every run makes the same pages.
PRAGMA page_size = 4096;
PRAGMA cache_size = -2000;
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA mmap_size = 0;
PRAGMA temp_store = MEMORY;
CREATE TABLE t(id INTEGER PRIMARY KEY, key BLOB NOT NULL);
CREATE INDEX by_key ON t(key);
BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 220000)
	INSERT INTO t SELECT i, printf('%016x', i * 2654435761 * 40503 & 9223372036854775807) || zeroblob(240) FROM n;
COMMIT;
