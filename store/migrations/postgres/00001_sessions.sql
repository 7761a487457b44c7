-- +goose Up
CREATE TABLE meta (
	one    INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
	secret BYTEA NOT NULL
);

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
	head       BIGINT NOT NULL,
	cum        BIGINT NOT NULL,
	state      TEXT   NOT NULL,
	indexed    BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	deleted_at BIGINT,
	UNIQUE (scope, id, path)
) WITH (fillfactor = 50);

CREATE TABLE forks (
	sid   BIGINT NOT NULL REFERENCES sessions (sid),
	owner BIGINT NOT NULL,
	upto  BIGINT NOT NULL,
	PRIMARY KEY (sid, owner)
);
CREATE INDEX forks_owner ON forks (owner, upto);

CREATE TABLE entries (
	sid    BIGINT   NOT NULL REFERENCES sessions (sid),
	seq    BIGINT   NOT NULL,
	id     TEXT     NOT NULL,
	kind   TEXT     NOT NULL,
	flags  SMALLINT NOT NULL,
	weight BIGINT   NOT NULL,
	cum    BIGINT   NOT NULL,
	size   BIGINT   NOT NULL,
	sum    BYTEA    NOT NULL,
	codec  SMALLINT NOT NULL,
	at     BIGINT   NOT NULL,
	raw    BYTEA    NOT NULL,
	PRIMARY KEY (sid, seq)
);
-- The bytes are compressed before they come here.
ALTER TABLE entries ALTER COLUMN raw SET STORAGE EXTERNAL;
CREATE UNIQUE INDEX entries_id ON entries (sid, id);
CREATE INDEX entries_turns ON entries (sid, seq) WHERE flags & 1 = 1;
CREATE INDEX entries_system ON entries (sid, seq) WHERE flags & 8 = 8;
CREATE INDEX entries_control ON entries (sid, seq) WHERE kind IN ('compaction', 'revert', 'undo');

CREATE TABLE calls (
	sid     BIGINT   NOT NULL,
	seq     BIGINT   NOT NULL,
	no      INTEGER  NOT NULL,
	call_id TEXT     NOT NULL,
	tool    TEXT     NOT NULL,
	family  SMALLINT NOT NULL,
	PRIMARY KEY (sid, seq, no)
);
CREATE INDEX calls_id ON calls (sid, call_id, tool, seq);

CREATE TABLE answers (
	sid      BIGINT   NOT NULL,
	seq      BIGINT   NOT NULL,
	no       INTEGER  NOT NULL,
	call_id  TEXT     NOT NULL,
	tool     TEXT     NOT NULL,
	family   SMALLINT NOT NULL,
	call_seq BIGINT   NOT NULL,
	call_no  INTEGER  NOT NULL,
	PRIMARY KEY (sid, seq, no)
);
CREATE INDEX answers_call ON answers (sid, call_seq, call_no);
CREATE INDEX answers_far ON answers (sid, call_seq) WHERE seq - call_seq > 64;

CREATE TABLE blobs (
	sum  BYTEA  NOT NULL PRIMARY KEY,
	size BIGINT NOT NULL,
	data BYTEA  NOT NULL
);
ALTER TABLE blobs ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE blob_uses (
	sum BYTEA  NOT NULL,
	sid BIGINT NOT NULL,
	seq BIGINT NOT NULL,
	PRIMARY KEY (sum, sid, seq)
);
CREATE INDEX blob_uses_session ON blob_uses (sid, seq);

CREATE TABLE archive (
	scope TEXT   NOT NULL,
	id    TEXT   NOT NULL,
	sid   BIGINT NOT NULL,
	raw   BYTEA  NOT NULL,
	at    BIGINT NOT NULL,
	PRIMARY KEY (scope, id)
);

CREATE TABLE summaries (
	key  TEXT   NOT NULL PRIMARY KEY,
	text TEXT   NOT NULL,
	at   BIGINT NOT NULL
);

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
