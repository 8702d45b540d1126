-- 0007_grants.sql
-- Narrow rights to single sessions of this store. A secret is never stored, only its hash.

CREATE TABLE session_grant (
    grant_id    TEXT   PRIMARY KEY,
    session_id  TEXT   NOT NULL,
    parent_id   TEXT,                        -- the grant it was made of
    root_id     TEXT   NOT NULL,
    depth       BIGINT NOT NULL,
    secret_hash BLOB   NOT NULL,
    rights      BIGINT NOT NULL,             -- bits: 1 read, 2 prompt, 4 answer
    expires     BIGINT,                      -- by the server's clock
    max_uses    BIGINT,                      -- prompts and answers; NULL: no limit
    used        BIGINT NOT NULL,
    label       TEXT   NOT NULL,
    actor       TEXT   NOT NULL,             -- who made it
    created     BIGINT NOT NULL,
    revoked     BIGINT,
    revoked_by  TEXT
);
-- serves: the grants of a session; what goes with it
CREATE INDEX session_grant_by_session ON session_grant (session_id, created);
-- serves: revoking a grant with everything made of it
CREATE INDEX session_grant_by_parent ON session_grant (parent_id) WHERE parent_id IS NOT NULL;

-- Who used which grant for what. Never a secret, never what was said.
CREATE TABLE grant_audit (
    id         BIGINT PRIMARY KEY,
    grant_id   TEXT   NOT NULL,
    session_id TEXT   NOT NULL,
    at         BIGINT NOT NULL,
    actor      TEXT   NOT NULL,
    method     TEXT   NOT NULL,
    code       TEXT   NOT NULL,              -- 'ok' or why not
    transport  TEXT   NOT NULL,
    address    TEXT   NOT NULL               -- its first half only
);
-- serves: the audit of a grant, in order
CREATE INDEX grant_audit_by_grant ON grant_audit (grant_id, id);
-- serves: removing what is old
CREATE INDEX grant_audit_by_time ON grant_audit (at);
