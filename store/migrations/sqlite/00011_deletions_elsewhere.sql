-- +goose Up
-- Nothing: PostgreSQL has a trigger here for sessions that are taken out by hand.
SELECT 1;

-- +goose Down
SELECT 1;
