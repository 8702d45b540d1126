-- 0015_share_unsent.sql
-- What changed in a shared session and is not sealed yet: so that a change costs its share the reading of
-- that change, and not of the whole session. Written by the commit that changes the row; a session that is
-- not shared has none.
CREATE TABLE share_unsent (
    session_id TEXT   NOT NULL,
    kind       TEXT   NOT NULL,              -- 'session', 'message', 'part'
    id         TEXT   NOT NULL,              -- of a row that changed, or that is gone
    place      BIGINT NOT NULL,              -- position of the first change that is not sealed
    position   BIGINT NOT NULL,              -- position of the last one
    PRIMARY KEY (session_id, kind, id)
);
-- serves: what is to be sealed next, in the order in which it happened; messages before their parts
CREATE INDEX share_unsent_by_place ON share_unsent (session_id, place, kind);

-- 1: the whole session was compared with what was sealed, and from then on only changes are looked at.
ALTER TABLE share_link ADD COLUMN is_compared BIGINT NOT NULL DEFAULT 0;
