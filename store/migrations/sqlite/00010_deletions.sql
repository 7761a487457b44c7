-- +goose Up
-- Nothing: there is one writer, and what it reads is so. PostgreSQL has a number here that
-- changes with each deletion.
SELECT 1;

-- +goose Down
SELECT 1;
