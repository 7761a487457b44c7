-- +goose Up
-- The conversations that a proxy has seen: who held them, what they were billed, where the
-- markers of the provider's cache stood in the last request.
CREATE TABLE remembered (
	sid       BIGINT NOT NULL PRIMARY KEY,
	agent     TEXT   NOT NULL,
	requests  BIGINT NOT NULL,
	input     BIGINT NOT NULL,
	was_read  BIGINT NOT NULL,
	written   BIGINT NOT NULL,
	output    BIGINT NOT NULL,
	size      BIGINT NOT NULL,
	marks     TEXT   NOT NULL,
	at        BIGINT NOT NULL
);
CREATE INDEX remembered_at ON remembered (at);

-- Every beginning of a remembered conversation, by a hash of all its messages: which entry it
-- ends with.
CREATE TABLE beginnings (
	hash BYTEA NOT NULL PRIMARY KEY,
	sid  BIGINT NOT NULL,
	seq  BIGINT NOT NULL
);
CREATE INDEX beginnings_session ON beginnings (sid);

-- +goose Down
DROP TABLE beginnings;
DROP TABLE remembered;
