-- +goose Up
-- Receipts were kept with the summaries, and for ever.
CREATE TABLE receipts (
	id   TEXT   NOT NULL PRIMARY KEY,
	text TEXT   NOT NULL,
	at   INTEGER NOT NULL
);
CREATE INDEX receipts_at ON receipts (at);
INSERT INTO receipts (id, text, at) SELECT substr(key, 9), text, at FROM summaries WHERE key LIKE 'receipt/%';
DELETE FROM summaries WHERE key LIKE 'receipt/%';

-- +goose Down
INSERT INTO summaries (key, text, at) SELECT 'receipt/' || id, text, at FROM receipts;
DROP TABLE receipts;
