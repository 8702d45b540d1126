-- 0014_packed.sql
-- What is long is stored packed where that saves room.
ALTER TABLE log ADD COLUMN packed BLOB;                          -- `data` in the zlib format; `data` is empty then
ALTER TABLE blob ADD COLUMN is_packed BIGINT NOT NULL DEFAULT 0; -- 1: `data` is in the zlib format; `size` and `hash` are those of the content
