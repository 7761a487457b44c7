-- +goose Up
-- What went around the messages of a session up to a head, before it was changed.
CREATE TABLE earlier (
	sid      BIGINT NOT NULL,
	upto     BIGINT NOT NULL,
	model    TEXT   NOT NULL,
	base     BYTEA,
	settings BYTEA,
	PRIMARY KEY (sid, upto)
);

-- +goose Down
DROP TABLE earlier;
