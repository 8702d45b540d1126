-- 0004_session_order.sql

-- serves: pages of sessions by creation
CREATE INDEX session_by_creation ON session (created, id);
