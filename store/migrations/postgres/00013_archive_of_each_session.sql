-- +goose Up
-- Each session that takes something out has a row for it, so that what one session loses is still
-- there for the others.
ALTER TABLE archive DROP CONSTRAINT archive_pkey;
ALTER TABLE archive ADD PRIMARY KEY (scope, id, sid);

-- +goose Down
DELETE FROM archive a WHERE EXISTS (SELECT 1 FROM archive b WHERE b.scope = a.scope AND b.id = a.id AND b.sid < a.sid);
ALTER TABLE archive DROP CONSTRAINT archive_pkey;
ALTER TABLE archive ADD PRIMARY KEY (scope, id);
