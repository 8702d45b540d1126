-- 0001_log_and_rows.sql
-- Types are text, bigint and blob; `dialect.rs` names them as each database wants them.
-- No foreign keys: removal is explicit, so that it reads the same in both databases.

-- What happened, in the order it became durable. Append only; `fold` removes growth that says
-- nothing any more, the removal of a session removes what stood before it, and nothing else does.
-- The last entry of a session stays for ever: its `seq` is what the next commit builds on, so
-- that an id which is used again after a removal goes on counting.
CREATE TABLE log (
    position   BIGINT PRIMARY KEY,           -- order of the whole store; serves: entries after a cursor
    session_id TEXT   NOT NULL,
    seq        BIGINT NOT NULL,              -- order within the session
    kind       TEXT   NOT NULL,              -- 'text.grew.1': name and version
    at         BIGINT NOT NULL,              -- milliseconds
    data       TEXT   NOT NULL,              -- JSON, as text: byte for byte; empty when it is in a blob
    blob       TEXT,                         -- hash of the blob that holds a large `data`
    subject    TEXT,                         -- what it is about, where all that is said of it is wanted at once
    UNIQUE (session_id, seq)                 -- serves: one session's history, the seq check; catches a second writer
);
-- serves: all that was said of one call; what a later entry takes the place of
CREATE INDEX log_by_subject ON log (subject, position) WHERE subject IS NOT NULL;

-- What a session was right after an entry, as the caller wrote it. A reader that was away reads the
-- session's log from the keyframe before its cursor and not from the beginning.
CREATE TABLE keyframe (
    session_id TEXT   NOT NULL,
    seq        BIGINT NOT NULL,
    position   BIGINT NOT NULL,
    data       TEXT   NOT NULL,
    PRIMARY KEY (session_id, seq)
);

-- serves: whether a blob is still named
CREATE INDEX log_by_blob ON log (blob) WHERE blob IS NOT NULL;

-- Where the log ends. One row, changed by every commit.
CREATE TABLE head (
    id       BIGINT PRIMARY KEY,             -- always 1
    position BIGINT NOT NULL,                -- of the last entry
    at       BIGINT NOT NULL,                -- the latest time any entry ever carried
    horizon  BIGINT NOT NULL,                -- from here on every entry is still there
    epoch    TEXT   NOT NULL                 -- which store this is, for cursors; empty until it is first opened
);
INSERT INTO head (id, position, at, horizon, epoch) VALUES (1, 0, 0, 0, '');

-- A session as the API returns it, and what its machine has open.
CREATE TABLE session (
    id         TEXT   PRIMARY KEY,
    project_id TEXT   NOT NULL,
    directory  TEXT   NOT NULL,
    path       TEXT,
    parent_id  TEXT,
    title      TEXT   NOT NULL,
    created    BIGINT NOT NULL,
    updated    BIGINT NOT NULL,
    archived   BIGINT NOT NULL,              -- 0 or 1
    data       TEXT   NOT NULL,
    machine    TEXT   NOT NULL,              -- empty: idle with nothing waiting
    position   BIGINT NOT NULL               -- of the entry that changed it last
);
-- serves: the sessions of a project, newest first
CREATE INDEX session_by_project ON session (project_id, updated, id);
-- serves: the sessions of all projects, newest first
CREATE INDEX session_by_update ON session (updated, id);
-- serves: the children of a session
CREATE INDEX session_by_parent ON session (parent_id) WHERE parent_id IS NOT NULL;
-- serves: busy_sessions, at every start
CREATE INDEX session_busy ON session (id) WHERE machine <> '';

-- A message without its parts.
CREATE TABLE message (
    session_id TEXT   NOT NULL,
    id         TEXT   NOT NULL,
    ord        BIGINT NOT NULL,              -- place in the conversation; never changes
    created    BIGINT NOT NULL,
    data       TEXT   NOT NULL,
    position   BIGINT NOT NULL,
    PRIMARY KEY (session_id, id)             -- ids are a client's: what one session is sent never meets another's
);
-- serves: pages of messages; removal of a session
CREATE INDEX message_by_session ON message (session_id, ord);

-- A part. While `is_open`, the growth after `position` in the log belongs to its text.
CREATE TABLE part (
    session_id TEXT   NOT NULL,
    id         TEXT   NOT NULL,
    message_id TEXT   NOT NULL,
    ord        BIGINT NOT NULL,              -- place in the message; never changes
    is_open    BIGINT NOT NULL,              -- 0 or 1
    data       TEXT   NOT NULL,
    position   BIGINT NOT NULL,
    PRIMARY KEY (session_id, id)             -- serves: removal of a session
);
-- serves: the parts of a message; removal of a message
CREATE INDEX part_by_message ON part (session_id, message_id, ord);
-- serves: what a loaded session has open; how far `fold` may go
CREATE INDEX part_open ON part (session_id) WHERE is_open = 1;

-- A permission or question that waits for a person.
CREATE TABLE ask (
    session_id TEXT   NOT NULL,
    id         TEXT   NOT NULL,
    kind       TEXT   NOT NULL,
    data       TEXT   NOT NULL,
    position   BIGINT NOT NULL,
    PRIMARY KEY (session_id, id)             -- serves: the asks of a session; removal of a session
);

-- What a session means to do: the whole list as one JSON array.
CREATE TABLE todo (
    session_id TEXT   PRIMARY KEY,
    data       TEXT   NOT NULL,
    position   BIGINT NOT NULL
);

-- What is large, once.
CREATE TABLE blob (
    hash TEXT   PRIMARY KEY,                 -- BLAKE3, hex
    size BIGINT NOT NULL,
    data BLOB   NOT NULL
);

-- What several directories of one repository have in common.
CREATE TABLE project (
    id      TEXT   PRIMARY KEY,
    data    TEXT   NOT NULL,
    updated BIGINT NOT NULL
);
