-- +goose Up
-- Every append looks at the row of its session again, so nobody has to be told of deletions.
DROP TRIGGER session_gone ON sessions;
DROP FUNCTION session_gone();
DROP SEQUENCE deletions;

-- +goose Down
CREATE SEQUENCE deletions;
