-- +goose Up
-- A number that is another one after each deletion of a session. It belongs to no transaction:
-- a statement reads what it is now, however long ago the statement began.
CREATE SEQUENCE deletions;
SELECT setval('deletions', 1 + (random() * 1e15)::bigint);

-- +goose Down
DROP SEQUENCE deletions;
