-- +goose Up
-- Nothing: PostgreSQL loses the number here that changed with each deletion.
SELECT 1;

-- +goose Down
SELECT 1;
