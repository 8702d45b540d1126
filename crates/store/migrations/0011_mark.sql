-- 0011_mark.sql
-- Tells a store from an older copy of itself that was put back: replaced every few minutes, and listed in a file beside the
-- database. Empty in a store that was never served.
ALTER TABLE head ADD COLUMN mark TEXT NOT NULL DEFAULT '';
