-- 0003_share.sql
-- Shares that this store receives: their own log with their own positions, beside the sessions.
-- A secret is never stored, only its hash.

CREATE TABLE share (
    share_id    TEXT   PRIMARY KEY,          -- 22 characters, random; never used again
    session_id  TEXT   NOT NULL,
    owner_actor TEXT   NOT NULL,
    visibility  TEXT   NOT NULL,             -- 'link': whoever has the address may read; 'private': a capability is needed
    epoch       BIGINT NOT NULL,             -- counts changes of authority
    cursor      BIGINT NOT NULL,             -- counts applied operations
    log_from    BIGINT NOT NULL,             -- operations after this one are still in the log
    sync_count  BIGINT NOT NULL,             -- accepted batches
    generation  BIGINT NOT NULL,             -- counts snapshots
    snapshot    TEXT,                        -- key of the snapshot that was begun and not ended
    created     BIGINT NOT NULL,
    updated     BIGINT NOT NULL,
    deleted     BIGINT                       -- a tombstone: everything else of the share is gone
);
-- serves: empty shares that nobody ever wrote to
CREATE INDEX share_empty ON share (created) WHERE sync_count = 0 AND deleted IS NULL;

-- Which share a request to create one made. Asked twice, it is answered twice and done once.
CREATE TABLE share_create (
    request_id  TEXT   PRIMARY KEY,
    share_id    TEXT   NOT NULL,
    secret_hash BLOB   NOT NULL
);

-- Who may do what with a share.
CREATE TABLE share_capability (
    cap_id      TEXT   PRIMARY KEY,
    share_id    TEXT   NOT NULL,
    parent_id   TEXT,
    root_id     TEXT   NOT NULL,
    depth       BIGINT NOT NULL,
    secret_hash BLOB   NOT NULL,
    scope       BIGINT NOT NULL,             -- bits: 1 read, 2 append, 4 admin
    kinds       TEXT,                        -- JSON array of allowed kinds of operations; NULL: all
    expires     BIGINT,
    max_ops     BIGINT,
    used_ops    BIGINT NOT NULL,
    label       TEXT   NOT NULL,
    actor       TEXT   NOT NULL,
    must_rotate BIGINT NOT NULL,             -- 1: made of an old plain secret
    created     BIGINT NOT NULL,
    revoked     BIGINT,
    revoked_by  TEXT
);
-- serves: the capabilities of a share
CREATE INDEX share_capability_by_share ON share_capability (share_id, created);
-- serves: revoking a capability with everything made of it
CREATE INDEX share_capability_by_parent ON share_capability (parent_id) WHERE parent_id IS NOT NULL;

-- How far each writer has come. A number at or below `applied_seq` is a repeat, for ever.
CREATE TABLE share_writer (
    share_id      TEXT   NOT NULL,
    writer_id     TEXT   NOT NULL,
    root_id       TEXT   NOT NULL,           -- lineage of the capability that used it first
    applied_seq   BIGINT NOT NULL,
    applied_count BIGINT NOT NULL,           -- operations that had an effect
    chain         TEXT   NOT NULL,           -- hash over everything up to applied_seq, hex
    updated       BIGINT NOT NULL,
    PRIMARY KEY (share_id, writer_id)
);

-- What a share shows: the newest value of each key.
CREATE TABLE share_entity (
    share_id   TEXT   NOT NULL,
    key        TEXT   NOT NULL,              -- 'message/<id>', 'part/<message>/<part>', …
    kind       TEXT   NOT NULL,
    version    BIGINT NOT NULL,
    schema     BIGINT NOT NULL,
    generation BIGINT NOT NULL,
    payload    TEXT   NOT NULL,              -- JSON, as text
    cursor     BIGINT NOT NULL,              -- of the operation that wrote it
    PRIMARY KEY (share_id, key)
);

-- What was applied, in order: for viewers that come back with a cursor, and for nobody else.
CREATE TABLE share_op (
    share_id  TEXT   NOT NULL,
    cursor    BIGINT NOT NULL,
    writer_id TEXT   NOT NULL,
    seq       BIGINT NOT NULL,
    op_id     TEXT   NOT NULL,
    kind      TEXT   NOT NULL,
    key       TEXT   NOT NULL,
    at        BIGINT NOT NULL,
    PRIMARY KEY (share_id, cursor),
    UNIQUE (share_id, op_id)                 -- serves: dependencies on another writer's operations
);

-- Operations that were refused one by one. Their numbers are used up. Kept as long as the share.
CREATE TABLE share_reject (
    share_id  TEXT   NOT NULL,
    writer_id TEXT   NOT NULL,
    seq       BIGINT NOT NULL,
    op_id     TEXT   NOT NULL,
    code      TEXT   NOT NULL,
    message   TEXT   NOT NULL,
    PRIMARY KEY (share_id, writer_id, seq)
);
-- serves: an operation that depends on a refused one
CREATE INDEX share_reject_by_op ON share_reject (share_id, op_id);

-- Who used which capability for what. Never a secret, never a payload.
CREATE TABLE share_audit (
    id        BIGINT PRIMARY KEY,
    share_id  TEXT   NOT NULL,
    at        BIGINT NOT NULL,
    cap_id    TEXT   NOT NULL,
    actor     TEXT   NOT NULL,
    method    TEXT   NOT NULL,
    code      TEXT   NOT NULL,               -- 'ok' or why not
    batch_id  TEXT,
    applied   BIGINT NOT NULL,
    rejected  BIGINT NOT NULL,
    transport TEXT   NOT NULL,
    address   TEXT   NOT NULL                -- its first half only
);
-- serves: the audit of a share, in order
CREATE INDEX share_audit_by_share ON share_audit (share_id, id);
