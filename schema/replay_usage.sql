-- replay_usage.sql - (ts_ns, which, value) of what tells how much memory a machine used for other things than
-- page cache: 0 total, 1 free, 2 and 3 the file lists, all in kB. Samples hold what has changed since the last.
SELECT ts_ns, CASE key WHEN 'MemTotal_kb' THEN 0 WHEN 'MemFree_kb' THEN 1 WHEN 'Active(file)_kb' THEN 2 ELSE 3 END, value
FROM context WHERE capture_id = :capture_id AND subject = 'meminfo'
	AND key IN ('MemTotal_kb', 'MemFree_kb', 'Active(file)_kb', 'Inactive(file)_kb')
ORDER BY ts_ns;
