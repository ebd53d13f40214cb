-- migrate_3.sql - from version 3 to 4: how a cost profile was fitted. (Version 4 also has a table for
-- sched_switch from the start, and views over it.)
CREATE TABLE cost_fit(
	profile TEXT PRIMARY KEY,
	method TEXT NOT NULL,
	nr_samples INTEGER NOT NULL,
	nr_left_out INTEGER NOT NULL,
	r2 REAL,
	measured_ns REAL NOT NULL,
	fitted_ns REAL NOT NULL
) WITHOUT ROWID;
