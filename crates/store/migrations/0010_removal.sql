-- 0010_removal.sql
-- Sessions that were removed and of which something is left: a long one is removed slice by slice. Written by the commit
-- that removes the session, gone with the last slice; whoever opens the store ends what is listed here.
CREATE TABLE removal (
    session_id TEXT PRIMARY KEY
);
