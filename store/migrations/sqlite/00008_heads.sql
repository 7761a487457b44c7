-- +goose Up
-- On PostgreSQL the row of a session is not written by every append, see there; here it is,
-- in the transaction of the append, which has one writer.
ALTER TABLE sessions RENAME COLUMN head TO noted_head;
CREATE VIEW sessions_now AS
	SELECT sid, scope, id, path, dialect, model, title, base, settings,
		noted_head AS head, cum, state, indexed, created_at, updated_at, deleted_at
	FROM sessions;

-- +goose Down
DROP VIEW sessions_now;
ALTER TABLE sessions RENAME COLUMN noted_head TO head;
