-- replay_flushes.sql - when the statistics of memcg :path were flushed since :from_ns: by the kernel's worker
-- (of all memcgs, forced), and by each sample of them, as reading memory.stat flushes. See cmd/replay_db.c.
SELECT ts_ns FROM memcg_flush_stats WHERE capture_id = :capture_id AND ts_ns >= :from_ns AND force
UNION SELECT ts_ns FROM context
	WHERE capture_id = :capture_id AND ts_ns >= :from_ns AND phase = 'sample' AND subject = 'memcg:' || :path
ORDER BY 1;
