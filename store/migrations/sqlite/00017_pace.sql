-- +goose Up
-- How a conversation grows and what that costs, as JSON; '': nothing was counted yet.
ALTER TABLE remembered ADD COLUMN pace TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE remembered DROP COLUMN pace;
