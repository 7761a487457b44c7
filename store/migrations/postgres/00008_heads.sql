-- +goose Up
-- An append does not write the row of its session: where a session ends is what its last
-- entry says, and the row only what was so when it was written. A program that takes the row
-- for the truth must not go on, so the column has another name.
ALTER TABLE sessions RENAME COLUMN head TO noted_head;
ALTER TABLE sessions RESET (fillfactor);
CREATE VIEW sessions_now AS
	SELECT s.sid, s.scope, s.id, s.path, s.dialect, s.model, s.title, s.base, s.settings,
		greatest(s.noted_head, e.seq) AS head,
		CASE WHEN e.seq >= s.noted_head THEN e.cum ELSE s.cum END AS cum,
		s.state, s.indexed, s.created_at,
		greatest(s.updated_at, e.at) AS updated_at,
		s.deleted_at
	FROM sessions s LEFT JOIN LATERAL (SELECT seq, cum, at FROM entries WHERE entries.sid = s.sid ORDER BY seq DESC LIMIT 1) e ON TRUE;

-- +goose Down
UPDATE sessions s SET noted_head = n.head, cum = n.cum, updated_at = n.updated_at FROM sessions_now n WHERE n.sid = s.sid;
DROP VIEW sessions_now;
ALTER TABLE sessions SET (fillfactor = 50);
ALTER TABLE sessions RENAME COLUMN noted_head TO head;
