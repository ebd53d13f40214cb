-- replay_context.sql - (fact, value) of a capture that kernel models take their defaults from; facts that
-- were not recorded give no row. :dev_major, :dev_minor is the device that was read most
-- (cmd/replay_device.c), :path is the limited memcg (replay_memcg.sql) or NULL. See
-- cmd/replay_db.c.
WITH last AS (
	SELECT subject, key, value, max(ts_ns) FROM context
	WHERE capture_id = :capture_id AND subject NOT LIKE 'zoneinfo%'
	GROUP BY subject, key
), memcg AS (
	SELECT key, value FROM last WHERE subject = 'memcg:' || :path
), queue AS (
	SELECT key, value FROM last WHERE subject = 'bdi:' || :dev_major || ':' || :dev_minor
)
SELECT 'kernel_release', kernel_release FROM capture WHERE id = :capture_id
UNION ALL SELECT 'nr_cpus', nr_cpus FROM capture WHERE id = :capture_id AND nr_cpus > 0
UNION ALL SELECT 'nr_nodes', value FROM last WHERE subject = 'host' AND key = 'nr_numa_nodes'
UNION ALL SELECT 'total_bytes', value FROM last WHERE subject = 'host' AND key = 'memory_bytes'
UNION ALL SELECT 'memcg_v2', 1 FROM last WHERE subject = 'host' AND key = 'memcg_version' AND value = 2
UNION ALL SELECT 'swappiness', value FROM last WHERE subject = 'sysctl' AND key = 'vm.swappiness'
UNION ALL SELECT 'swappiness', value FROM memcg WHERE key = 'swappiness'
UNION ALL SELECT key, value FROM queue WHERE key IN ('read_ahead_kb', 'max_io_kb')
UNION ALL SELECT 'limit_bytes', value FROM memcg WHERE key = 'limit_bytes'
-- kernel memory and anonymous pages; else all that is charged less the cache
UNION ALL SELECT 'other_charge_bytes', sum(value) FROM memcg
	WHERE key IN ('kernel_bytes', 'stat.rss', 'stat.kernel', 'stat.anon')
	HAVING sum(key IN ('kernel_bytes', 'stat.kernel')) > 0
UNION ALL SELECT 'other_charge_bytes', sum(CASE key WHEN 'usage_bytes' THEN value ELSE -value END)
	FROM memcg WHERE key IN ('usage_bytes', 'stat.cache')
	HAVING count(*) = 2 AND (SELECT sum(key IN ('kernel_bytes', 'stat.kernel')) FROM memcg) = 0
-- at the end the tasks are gone and what was theirs with them: the mean over the samples, if there are any
UNION ALL SELECT 'other_charge_bytes', CAST(avg(bytes) AS INTEGER) FROM (
	SELECT sum(value) AS bytes FROM context
	WHERE capture_id = :capture_id AND phase = 'sample' AND subject = 'memcg:' || :path
		AND key IN ('kernel_bytes', 'stat.rss', 'stat.kernel', 'stat.anon')
	GROUP BY ts_ns HAVING sum(key IN ('kernel_bytes', 'stat.kernel')) > 0)
	HAVING count(*) > 0;
