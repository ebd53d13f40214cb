-- info_gaps.sql - where events were lost.
SELECT capture_id, stream, cpu, from_ns, to_ns, to_ns - from_ns AS length_ns, events_lost AS nr_lost
FROM gap
WHERE :capture IS NULL OR capture_id = :capture
ORDER BY events_lost IS NOT NULL, events_lost DESC, from_ns
LIMIT 10;
