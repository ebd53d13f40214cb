-- replay_memcg.sql - the limited memcg that most of the capture's tasks are in, as a path; no row: none.
WITH limited AS (
	SELECT substr(subject, length('memcg:') + 1) AS path, value, max(ts_ns) FROM context
	WHERE capture_id = :capture_id AND subject LIKE 'memcg:/_%' AND key = 'limit_bytes'
		AND typeof(value) = 'integer'
		AND value < coalesce((SELECT max(value) FROM context WHERE capture_id = :capture_id
			AND subject = 'host' AND key = 'memory_bytes'), 9e18)
	GROUP BY subject
)
SELECT path FROM limited
ORDER BY (SELECT count(*) FROM task WHERE capture_id = :capture_id
	AND (cgroup = path OR substr(cgroup, 1, length(path) + 1) = path || '/')) DESC, length(path) DESC
LIMIT 1;
