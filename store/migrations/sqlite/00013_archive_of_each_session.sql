-- +goose Up
-- Each session that takes something out has a row for it, so that what one session loses is still
-- there for the others.
DROP INDEX archive_session;
ALTER TABLE archive RENAME TO archive_before;
CREATE TABLE archive (
	scope  TEXT   NOT NULL,
	id     TEXT   NOT NULL,
	sid    INTEGER NOT NULL,
	path   TEXT   NOT NULL,
	refers INTEGER NOT NULL, -- 1: raw says where the bytes are, in the place of the bytes
	raw    BLOB NOT NULL,
	at     INTEGER NOT NULL,
	PRIMARY KEY (scope, id, sid)
);
INSERT INTO archive SELECT scope, id, sid, path, refers, raw, at FROM archive_before;
DROP TABLE archive_before;
CREATE INDEX archive_session ON archive (sid);

-- +goose Down
DROP INDEX archive_session;
ALTER TABLE archive RENAME TO archive_after;
CREATE TABLE archive (
	scope  TEXT   NOT NULL,
	id     TEXT   NOT NULL,
	sid    INTEGER NOT NULL,
	path   TEXT   NOT NULL,
	refers INTEGER NOT NULL, -- 1: raw says where the bytes are, in the place of the bytes
	raw    BLOB NOT NULL,
	at     INTEGER NOT NULL,
	PRIMARY KEY (scope, id)
);
INSERT INTO archive SELECT scope, id, min(sid), path, refers, raw, at FROM archive_after GROUP BY scope, id;
DROP TABLE archive_after;
CREATE INDEX archive_session ON archive (sid);
