-- migrate_1.sql - from version 1 to 2: whose memory an anonymous extent is, and gaps by their end.
ALTER TABLE demand_extent ADD COLUMN pid INTEGER;
CREATE INDEX gap_by_end ON gap(capture_id, stream, cpu, to_ns, from_ns);
