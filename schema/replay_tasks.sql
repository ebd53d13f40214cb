-- replay_tasks.sql - (task, inside): the tasks of a demand stream, and whether they are in the memcg :path
-- or below it; inside is NULL where the cgroup of a task is not known.
SELECT task, cgroup = :path OR substr(cgroup, 1, length(:path) + 1) = :path || '/'
FROM demand_task WHERE stream_id = :stream_id ORDER BY task;
