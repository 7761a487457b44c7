-- +goose Up
CREATE TABLE meta (
	one    INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
	secret BYTEA NOT NULL
);

-- An append does not write the row of its session: where a session ends is what its last
-- entry says, and noted_head, cum and updated_at only what was so when the row was written.
CREATE TABLE sessions (
	sid        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	scope      TEXT   NOT NULL,
	id         TEXT   NOT NULL,
	path       TEXT   NOT NULL,
	dialect    TEXT   NOT NULL,
	model      TEXT   NOT NULL,
	title      TEXT   NOT NULL,
	base       BYTEA,
	settings   BYTEA,
	noted_head BIGINT NOT NULL,
	cum        BIGINT NOT NULL,
	settled    BIGINT NOT NULL, -- up to here the marks are written
	state      TEXT   NOT NULL,
	indexed    BIGINT NOT NULL, -- up to here the words are written
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	deleted_at BIGINT,
	UNIQUE (scope, id, path)
);

-- Whose entries a fork goes on from. Who else it shares entries of is what that one shares.
CREATE TABLE forks (
	sid   BIGINT NOT NULL PRIMARY KEY,
	owner BIGINT NOT NULL,
	upto  BIGINT NOT NULL
);
CREATE INDEX forks_owner ON forks (owner, upto);

-- An append writes here and nowhere else. The key is the session and the number in one
-- (sid << 28 | seq): the entries of a session lie side by side.
CREATE TABLE entries (
	pos    BIGINT NOT NULL PRIMARY KEY,
	id     TEXT     NOT NULL,
	kind   TEXT     NOT NULL,
	flags  SMALLINT NOT NULL,
	weight BIGINT NOT NULL,
	cum    BIGINT NOT NULL,
	size   BIGINT NOT NULL,
	sum    BYTEA NOT NULL,
	codec  SMALLINT NOT NULL,
	at     BIGINT NOT NULL,
	pairs  BYTEA, -- its calls and answers
	raw    BYTEA NOT NULL
);
-- The bytes are compressed before they come here.
ALTER TABLE entries ALTER COLUMN raw SET STORAGE EXTERNAL;

-- What entries are found by besides their numbers, written for many at once.
CREATE TABLE marks (
	sid  BIGINT NOT NULL,
	mark BIGINT NOT NULL,
	seq  BIGINT NOT NULL,
	PRIMARY KEY (sid, mark, seq)
);

CREATE TABLE blobs (
	sum  BYTEA NOT NULL PRIMARY KEY,
	size BIGINT NOT NULL,
	data BYTEA NOT NULL
);
ALTER TABLE blobs ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE blob_uses (
	sum BYTEA NOT NULL,
	sid BIGINT NOT NULL,
	seq BIGINT NOT NULL,
	PRIMARY KEY (sum, sid, seq)
);
CREATE INDEX blob_uses_session ON blob_uses (sid, seq);

CREATE TABLE archive (
	scope  TEXT   NOT NULL,
	id     TEXT   NOT NULL,
	sid    BIGINT NOT NULL,
	path   TEXT   NOT NULL,
	refers SMALLINT NOT NULL, -- 1: raw says where the bytes are, in the place of the bytes
	raw    BYTEA NOT NULL,
	at     BIGINT NOT NULL,
	PRIMARY KEY (scope, id)
);
CREATE INDEX archive_session ON archive (sid);

-- The summaries that were used last are kept.
CREATE TABLE summaries (
	key  TEXT   NOT NULL PRIMARY KEY,
	text TEXT   NOT NULL,
	at   BIGINT NOT NULL
);
CREATE INDEX summaries_at ON summaries (at);

CREATE TABLE notes (
	key  TEXT   NOT NULL PRIMARY KEY,
	text TEXT   NOT NULL,
	at   BIGINT NOT NULL
);
CREATE INDEX notes_at ON notes (at);

CREATE TABLE receipts (
	id   TEXT   NOT NULL PRIMARY KEY,
	text TEXT   NOT NULL,
	at   BIGINT NOT NULL
);
CREATE INDEX receipts_at ON receipts (at);

CREATE TABLE leases (
	sid     BIGINT NOT NULL PRIMARY KEY,
	token   TEXT   NOT NULL,
	expires BIGINT NOT NULL
);

CREATE TABLE words (
	sid  BIGINT   NOT NULL,
	seq  BIGINT   NOT NULL,
	body TSVECTOR NOT NULL,
	PRIMARY KEY (sid, seq)
);
CREATE INDEX words_body ON words USING gin (body);

CREATE VIEW sessions_now AS
	SELECT s.sid, s.scope, s.id, s.path, s.dialect, s.model, s.title, s.base, s.settings,
		greatest(s.noted_head, e.pos & 268435455) AS head,
		CASE WHEN e.pos & 268435455 >= s.noted_head THEN e.cum ELSE s.cum END AS cum,
		s.settled, s.state, s.indexed, s.created_at,
		greatest(s.updated_at, e.at) AS updated_at,
		s.deleted_at
	FROM sessions s LEFT JOIN LATERAL (
		SELECT pos, cum, at FROM entries WHERE pos BETWEEN s.sid << 28 AND (s.sid << 28) + 268435455 ORDER BY pos DESC LIMIT 1
	) e ON TRUE;

-- +goose Down
DROP VIEW sessions_now;
DROP TABLE words;
DROP TABLE leases;
DROP TABLE receipts;
DROP TABLE notes;
DROP TABLE summaries;
DROP TABLE archive;
DROP TABLE blob_uses;
DROP TABLE blobs;
DROP TABLE marks;
DROP TABLE entries;
DROP TABLE forks;
DROP TABLE sessions;
DROP TABLE meta;
