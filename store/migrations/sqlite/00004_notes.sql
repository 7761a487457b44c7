-- +goose Up
CREATE TABLE notes (
	key  TEXT    NOT NULL PRIMARY KEY,
	text TEXT    NOT NULL,
	at   INTEGER NOT NULL
);
CREATE INDEX notes_at ON notes (at);

-- +goose Down
DROP TABLE notes;
