-- 0019_share_upkeep.sql

-- serves: the oldest tombstones
CREATE INDEX share_deleted ON share (deleted) WHERE deleted IS NOT NULL;
-- serves: the oldest tombstones of shares that were never written to
CREATE INDEX share_deleted_empty ON share (deleted) WHERE deleted IS NOT NULL AND sync_count = 0;
-- serves: how many shares there are and what they hold
CREATE INDEX share_held ON share (bytes) WHERE deleted IS NULL;
-- serves: forgetting a share with the request that made it
CREATE INDEX share_create_by_share ON share_create (share_id);
