-- 0002_approvals.sql

-- What a person allowed with "always". Written by the commit that stores the answer; read whenever
-- the rules alone would ask; it outlives the session in which it was said.
CREATE TABLE approval (
    id         TEXT   PRIMARY KEY,           -- 'psv_…', made of the request's id
    project_id TEXT   NOT NULL,
    directory  TEXT   NOT NULL,              -- empty: everywhere in the project
    permission TEXT   NOT NULL,
    pattern    TEXT   NOT NULL,
    position   BIGINT NOT NULL,
    UNIQUE (project_id, directory, permission, pattern) -- serves: what a project allows; said twice is kept once
);
