-- +goose Up
CREATE TABLE meta (
	one    INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
	secret BLOB NOT NULL
);

-- An append does not write the row of its session: where a session ends is what its last
-- entry says, and noted_head, cum and updated_at only what was so when the row was written.
CREATE TABLE sessions (
	sid        INTEGER PRIMARY KEY AUTOINCREMENT,
	scope      TEXT   NOT NULL,
	id         TEXT   NOT NULL,
	path       TEXT   NOT NULL,
	dialect    TEXT   NOT NULL,
	model      TEXT   NOT NULL,
	title      TEXT   NOT NULL,
	base       BLOB,
	settings   BLOB,
	noted_head INTEGER NOT NULL,
	cum        INTEGER NOT NULL,
	settled    INTEGER NOT NULL, -- up to here the marks are written
	state      TEXT   NOT NULL,
	indexed    INTEGER NOT NULL, -- up to here the words are written
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	deleted_at INTEGER,
	UNIQUE (scope, id, path)
);

-- Whose entries a fork goes on from. Who else it shares entries of is what that one shares.
CREATE TABLE forks (
	sid   INTEGER NOT NULL PRIMARY KEY,
	owner INTEGER NOT NULL,
	upto  INTEGER NOT NULL
);
CREATE INDEX forks_owner ON forks (owner, upto);

-- An append writes here and nowhere else. The key is the session and the number in one
-- (sid << 28 | seq): the entries of a session lie side by side.
CREATE TABLE entries (
	pos    INTEGER NOT NULL PRIMARY KEY,
	id     TEXT     NOT NULL,
	kind   TEXT     NOT NULL,
	flags  INTEGER NOT NULL,
	weight INTEGER NOT NULL,
	cum    INTEGER NOT NULL,
	size   INTEGER NOT NULL,
	sum    BLOB NOT NULL,
	codec  INTEGER NOT NULL,
	at     INTEGER NOT NULL,
	pairs  BLOB, -- its calls and answers
	raw    BLOB NOT NULL
);

-- What entries are found by besides their numbers, written for many at once.
CREATE TABLE marks (
	sid  INTEGER NOT NULL,
	mark INTEGER NOT NULL,
	seq  INTEGER NOT NULL,
	PRIMARY KEY (sid, mark, seq)
) WITHOUT ROWID;

CREATE TABLE blobs (
	sum  BLOB NOT NULL PRIMARY KEY,
	size INTEGER NOT NULL,
	data BLOB NOT NULL
);
CREATE TABLE blob_uses (
	sum BLOB NOT NULL,
	sid INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	PRIMARY KEY (sum, sid, seq)
) WITHOUT ROWID;
CREATE INDEX blob_uses_session ON blob_uses (sid, seq);

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
CREATE INDEX archive_session ON archive (sid);

-- The summaries that were used last are kept.
CREATE TABLE summaries (
	key  TEXT   NOT NULL PRIMARY KEY,
	text TEXT   NOT NULL,
	at   INTEGER NOT NULL
);
CREATE INDEX summaries_at ON summaries (at);

CREATE TABLE notes (
	key  TEXT   NOT NULL PRIMARY KEY,
	text TEXT   NOT NULL,
	at   INTEGER NOT NULL
);
CREATE INDEX notes_at ON notes (at);

CREATE TABLE receipts (
	id   TEXT   NOT NULL PRIMARY KEY,
	text TEXT   NOT NULL,
	at   INTEGER NOT NULL
);
CREATE INDEX receipts_at ON receipts (at);

CREATE TABLE leases (
	sid     INTEGER NOT NULL PRIMARY KEY,
	token   TEXT   NOT NULL,
	expires INTEGER NOT NULL
);

CREATE VIRTUAL TABLE words USING fts5 (body, sid UNINDEXED, seq UNINDEXED, tokenize = 'unicode61');

CREATE VIEW sessions_now AS
	SELECT s.sid, s.scope, s.id, s.path, s.dialect, s.model, s.title, s.base, s.settings,
		max(s.noted_head, coalesce(e.pos & 268435455, 0)) AS head,
		CASE WHEN (e.pos & 268435455) >= s.noted_head THEN e.cum ELSE s.cum END AS cum,
		s.settled, s.state, s.indexed, s.created_at,
		max(s.updated_at, coalesce(e.at, 0)) AS updated_at,
		s.deleted_at
	FROM sessions s LEFT JOIN entries e
		ON e.pos = (SELECT max(pos) FROM entries WHERE pos BETWEEN s.sid << 28 AND (s.sid << 28) + 268435455);

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
