-- +goose Up
-- The stems of words, for ranking. All words are indexed anew at the next search.
CREATE TABLE stems (
	pos  BIGINT   NOT NULL PRIMARY KEY,
	body TSVECTOR NOT NULL
);
CREATE INDEX stems_body ON stems USING gin (body);
DELETE FROM words;
UPDATE sessions SET indexed = 0;

-- +goose Down
DROP TABLE stems;
