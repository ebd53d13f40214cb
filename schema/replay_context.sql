-- replay_context.sql - (fact, value) of a capture that kernel models take their defaults from; facts that
-- were not recorded give no row. See cmd/replay_db.c.
WITH last AS (
	SELECT subject, key, value, max(ts_ns) FROM context
	WHERE capture_id = :capture_id AND subject NOT LIKE 'zoneinfo%'
	GROUP BY subject, key
), memcg AS (
	SELECT subject, key, value FROM last WHERE subject LIKE 'memcg:%' AND subject <> 'memcg:/'
)
SELECT 'kernel_release', kernel_release FROM capture WHERE id = :capture_id
UNION ALL SELECT 'nr_cpus', nr_cpus FROM capture WHERE id = :capture_id AND nr_cpus > 0
UNION ALL SELECT 'swappiness', value FROM last WHERE subject = 'sysctl' AND key = 'vm.swappiness'
UNION ALL SELECT 'read_ahead_kb', max(value) FROM last WHERE subject LIKE 'bdi:%' AND key = 'read_ahead_kb'
	HAVING count(*) > 0
UNION ALL SELECT 'limit_bytes', min(CAST(value AS INTEGER)) FROM memcg
	WHERE key IN ('memory.max', 'memory.limit_in_bytes') AND value <> 'max' HAVING count(*) > 0
UNION ALL SELECT DISTINCT 'memcg_v2', 1 FROM memcg WHERE key = 'memory.max';
