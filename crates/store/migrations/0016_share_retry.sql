-- 0016_share_retry.sql
-- When a link whose service was not reached is tried again: so that a start neither asks a service at once that was
-- to be left alone, nor forgets how long it has not answered.
ALTER TABLE share_link ADD COLUMN failures BIGINT NOT NULL DEFAULT 0;    -- in a row, since it was last reached
ALTER TABLE share_link ADD COLUMN retry_at BIGINT NOT NULL DEFAULT 0;    -- milliseconds; 0: at once
