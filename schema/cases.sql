-- cases.sql - what `pagereel case -o` stores beside its capture row: every figure of a case's tables. In
-- databases of cases only. section and item name the row, measure the column; value is NULL where the
-- model cannot say. reported, low, high and verdict belong to figures that a report gives a bound for.
CREATE TABLE IF NOT EXISTS case_value(
	capture_id INTEGER NOT NULL REFERENCES capture(id),
	section TEXT NOT NULL,
	item TEXT NOT NULL,
	measure TEXT NOT NULL,
	value,
	reported TEXT,
	low REAL,
	high REAL,
	verdict TEXT,
	PRIMARY KEY(capture_id, section, item, measure)
);
