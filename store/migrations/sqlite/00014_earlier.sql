-- +goose Up
-- What went around the messages of a session up to a head, before it was changed.
CREATE TABLE earlier (
	sid      INTEGER NOT NULL,
	upto     INTEGER NOT NULL,
	model    TEXT NOT NULL,
	base     BLOB,
	settings BLOB,
	PRIMARY KEY (sid, upto)
);

-- +goose Down
DROP TABLE earlier;
