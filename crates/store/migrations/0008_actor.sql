-- 0008_actor.sql
-- On whose behalf an entry was written: 'local', 'user:…', 'device:…', 'token:…', 'grant:…'; empty: the session itself.
-- A row names the entry that wrote it by its position, and so its actor.
ALTER TABLE log ADD COLUMN actor TEXT NOT NULL DEFAULT '';
-- Who created the session; empty: another session, or a server from before this was kept.
ALTER TABLE session ADD COLUMN actor TEXT NOT NULL DEFAULT '';
-- serves: the sessions that somebody created
CREATE INDEX session_by_actor ON session (actor, updated) WHERE actor <> '';
