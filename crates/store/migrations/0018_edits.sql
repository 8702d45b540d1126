-- 0018_edits.sql
-- serves: what was chosen for a session and when, which the v2 API lists between its messages
CREATE INDEX log_edits ON log (session_id, seq) WHERE kind = 'session.edited.1';
