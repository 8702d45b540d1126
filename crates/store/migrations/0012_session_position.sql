-- 0012_session_position.sql

-- serves: the sessions that were written since the titles were last read
CREATE INDEX session_by_position ON session (position);
