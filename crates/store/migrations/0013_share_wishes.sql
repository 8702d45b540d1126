-- 0013_share_wishes.sql
-- What whoever shares a session wants of the share, and who that was.
ALTER TABLE share_link ADD COLUMN visibility TEXT NOT NULL DEFAULT 'link';   -- 'link' or 'private', as in share
ALTER TABLE share_link ADD COLUMN actor TEXT NOT NULL DEFAULT '';            -- empty: nobody in particular
