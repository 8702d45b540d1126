-- 0005_outbox.sql
-- Sessions of this store that are shared, here or elsewhere. What has to be sent is not queued: it is the
-- difference between a session's rows and what was said of them, sealed into a batch before it is sent.

-- A session that is shared. Without regard to its session, which may be gone: the share is deleted after it.
CREATE TABLE share_link (
    session_id   TEXT   PRIMARY KEY,
    state        TEXT   NOT NULL,            -- 'creating', 'active', 'deleting', 'failed'
    target       TEXT   NOT NULL,            -- the service's URL; empty: this store
    request_id   TEXT   NOT NULL,            -- makes a repeated creation the same one
    secret       TEXT   NOT NULL,            -- what the service is shown; it must stay usable, so it is no hash
    share_id     TEXT   NOT NULL,            -- empty while it is being created
    url          TEXT   NOT NULL,            -- the same
    contract     TEXT   NOT NULL,            -- 'ops', or 'sync' for a service that knows only the old contract
    writer_id    TEXT   NOT NULL,
    epoch        BIGINT NOT NULL,            -- of the last answer
    cursor       BIGINT NOT NULL,            -- of the last answer
    sealed_seq   BIGINT NOT NULL,            -- the last number that was given to an operation
    sealed_chain TEXT   NOT NULL,
    acked_seq    BIGINT NOT NULL,            -- the last one that was answered
    acked_count  BIGINT NOT NULL,            -- how many of them had an effect, by the service's account
    acked_chain  TEXT   NOT NULL,
    generation   BIGINT NOT NULL,            -- counts snapshots
    snapshot     TEXT   NOT NULL,            -- 'none', 'wanted', 'open'
    error        TEXT,                       -- why it does not go on
    created      BIGINT NOT NULL
);

-- The batch of a link that was sealed and not answered yet. At most one: the next is sealed after the answer.
CREATE TABLE share_sealed (
    session_id TEXT   PRIMARY KEY,
    first_seq  BIGINT NOT NULL,
    last_seq   BIGINT NOT NULL,
    ops        TEXT   NOT NULL               -- JSON; sent again it is the same, byte for byte
);

-- What was sealed last of each thing.
CREATE TABLE share_said (
    session_id TEXT   NOT NULL,
    kind       TEXT   NOT NULL,              -- 'session', 'message', 'part', 'session_diff', 'model'
    id         TEXT   NOT NULL,
    parent     TEXT   NOT NULL,              -- a part's message
    version    BIGINT NOT NULL,              -- the position it was read at
    hash       BLOB   NOT NULL,
    PRIMARY KEY (session_id, kind, id)
);
