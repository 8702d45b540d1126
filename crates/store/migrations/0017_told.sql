-- 0017_told.sql
-- The number of the last thing that a session has told clients of the v2 API, up to and with this entry. It begins at 1 and has no gaps; an
-- entry that tells nothing repeats that of the entry before. NULL: written before this was counted, when it was seq * 64.
ALTER TABLE log ADD COLUMN told BIGINT;
