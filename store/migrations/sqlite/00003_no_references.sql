-- +goose Up
-- References are not enforced by SQLite any more, see openSQLite: each was looked up at
-- every append, and fsck verifies what they say.
SELECT 1;

-- +goose Down
SELECT 1;
