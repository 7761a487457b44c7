-- +goose Up
CREATE TABLE meta (
	one    INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
	secret BLOB NOT NULL
);

CREATE TABLE sessions (
	sid        INTEGER PRIMARY KEY,
	scope      TEXT    NOT NULL,
	id         TEXT    NOT NULL,
	path       TEXT    NOT NULL,
	dialect    TEXT    NOT NULL,
	model      TEXT    NOT NULL,
	title      TEXT    NOT NULL,
	base       BLOB,
	settings   BLOB,
	head       INTEGER NOT NULL,
	cum        INTEGER NOT NULL,
	state      TEXT    NOT NULL,
	indexed    INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	deleted_at INTEGER,
	UNIQUE (scope, id, path)
);

CREATE TABLE forks (
	sid   INTEGER NOT NULL REFERENCES sessions (sid),
	owner INTEGER NOT NULL,
	upto  INTEGER NOT NULL,
	PRIMARY KEY (sid, owner)
);
CREATE INDEX forks_owner ON forks (owner, upto);

CREATE TABLE entries (
	sid    INTEGER NOT NULL REFERENCES sessions (sid),
	seq    INTEGER NOT NULL,
	id     TEXT    NOT NULL,
	kind   TEXT    NOT NULL,
	flags  INTEGER NOT NULL,
	weight INTEGER NOT NULL,
	cum    INTEGER NOT NULL,
	size   INTEGER NOT NULL,
	sum    BLOB    NOT NULL,
	codec  INTEGER NOT NULL,
	at     INTEGER NOT NULL,
	raw    BLOB    NOT NULL
);
CREATE UNIQUE INDEX entries_seq ON entries (sid, seq);
CREATE UNIQUE INDEX entries_id ON entries (sid, id);
CREATE INDEX entries_turns ON entries (sid, seq) WHERE flags & 1 = 1;
CREATE INDEX entries_system ON entries (sid, seq) WHERE flags & 8 = 8;
CREATE INDEX entries_control ON entries (sid, seq) WHERE kind IN ('compaction', 'revert', 'undo');

CREATE TABLE calls (
	sid     INTEGER NOT NULL,
	seq     INTEGER NOT NULL,
	no      INTEGER NOT NULL,
	call_id TEXT    NOT NULL,
	tool    TEXT    NOT NULL,
	family  INTEGER NOT NULL,
	PRIMARY KEY (sid, seq, no)
) WITHOUT ROWID;
CREATE INDEX calls_id ON calls (sid, call_id, tool, seq);

CREATE TABLE answers (
	sid      INTEGER NOT NULL,
	seq      INTEGER NOT NULL,
	no       INTEGER NOT NULL,
	call_id  TEXT    NOT NULL,
	tool     TEXT    NOT NULL,
	family   INTEGER NOT NULL,
	call_seq INTEGER NOT NULL,
	call_no  INTEGER NOT NULL,
	PRIMARY KEY (sid, seq, no)
) WITHOUT ROWID;
CREATE INDEX answers_call ON answers (sid, call_seq, call_no);
CREATE INDEX answers_far ON answers (sid, call_seq) WHERE seq - call_seq > 64;

CREATE TABLE blobs (
	sum  BLOB    NOT NULL PRIMARY KEY,
	size INTEGER NOT NULL,
	data BLOB    NOT NULL
);
CREATE TABLE blob_uses (
	sum BLOB    NOT NULL,
	sid INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	PRIMARY KEY (sum, sid, seq)
) WITHOUT ROWID;
CREATE INDEX blob_uses_session ON blob_uses (sid, seq);

CREATE TABLE archive (
	scope TEXT NOT NULL,
	id    TEXT NOT NULL,
	sid   INTEGER NOT NULL,
	raw   BLOB NOT NULL,
	at    INTEGER NOT NULL,
	PRIMARY KEY (scope, id)
);

CREATE TABLE summaries (
	key  TEXT NOT NULL PRIMARY KEY,
	text TEXT NOT NULL,
	at   INTEGER NOT NULL
);

CREATE TABLE leases (
	sid     INTEGER NOT NULL PRIMARY KEY,
	token   TEXT    NOT NULL,
	expires INTEGER NOT NULL
);

CREATE VIRTUAL TABLE words USING fts5 (body, sid UNINDEXED, seq UNINDEXED, tokenize = 'unicode61');

-- +goose Down
DROP TABLE words;
DROP TABLE leases;
DROP TABLE summaries;
DROP TABLE archive;
DROP TABLE blob_uses;
DROP TABLE blobs;
DROP TABLE answers;
DROP TABLE calls;
DROP TABLE entries;
DROP TABLE forks;
DROP TABLE sessions;
DROP TABLE meta;
