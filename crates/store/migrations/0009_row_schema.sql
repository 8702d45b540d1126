-- 0009_row_schema.sql
-- In which form the data of a row is, as entries of the log say by their kind and operations of a share by their
-- schema. There is one form so far.
ALTER TABLE session ADD COLUMN schema BIGINT NOT NULL DEFAULT 1;
ALTER TABLE message ADD COLUMN schema BIGINT NOT NULL DEFAULT 1;
ALTER TABLE part ADD COLUMN schema BIGINT NOT NULL DEFAULT 1;
ALTER TABLE ask ADD COLUMN schema BIGINT NOT NULL DEFAULT 1;
ALTER TABLE todo ADD COLUMN schema BIGINT NOT NULL DEFAULT 1;
ALTER TABLE keyframe ADD COLUMN schema BIGINT NOT NULL DEFAULT 1;
ALTER TABLE project ADD COLUMN schema BIGINT NOT NULL DEFAULT 1;
-- serve: whether a newer program wrote a row; empty as long as none did
CREATE INDEX session_newer ON session (schema) WHERE schema > 1;
CREATE INDEX message_newer ON message (schema) WHERE schema > 1;
CREATE INDEX part_newer ON part (schema) WHERE schema > 1;
CREATE INDEX ask_newer ON ask (schema) WHERE schema > 1;
CREATE INDEX todo_newer ON todo (schema) WHERE schema > 1;
CREATE INDEX keyframe_newer ON keyframe (schema) WHERE schema > 1;
CREATE INDEX project_newer ON project (schema) WHERE schema > 1;
