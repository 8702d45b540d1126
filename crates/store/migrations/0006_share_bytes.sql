-- 0006_share_bytes.sql
-- What a share holds, so that a service which is open to all has a bound.
ALTER TABLE share ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;
UPDATE share SET bytes = (SELECT COALESCE(sum(length(CAST(payload AS BLOB))), 0) FROM share_entity
    WHERE share_entity.share_id = share.share_id);
