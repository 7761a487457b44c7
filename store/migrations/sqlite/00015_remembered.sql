-- +goose Up
-- The conversations that a proxy has seen: who held them, what they were billed, where the
-- markers of the provider's cache stood in the last request.
CREATE TABLE remembered (
	sid       INTEGER NOT NULL PRIMARY KEY,
	agent     TEXT   NOT NULL,
	requests  INTEGER NOT NULL,
	input     INTEGER NOT NULL,
	was_read  INTEGER NOT NULL,
	written   INTEGER NOT NULL,
	output    INTEGER NOT NULL,
	size      INTEGER NOT NULL,
	marks     TEXT   NOT NULL,
	at        INTEGER NOT NULL
);
CREATE INDEX remembered_at ON remembered (at);

-- Every beginning of a remembered conversation, by a hash of all its messages: which entry it
-- ends with.
CREATE TABLE beginnings (
	hash BLOB NOT NULL PRIMARY KEY,
	sid  INTEGER NOT NULL,
	seq  INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX beginnings_session ON beginnings (sid);

-- +goose Down
DROP TABLE beginnings;
DROP TABLE remembered;
