-- +goose Up
-- The stems of words, for ranking; rows have the numbers of entries. All words are indexed anew
-- at the next search.
CREATE VIRTUAL TABLE stems USING fts5 (body, content = '', contentless_delete = 1, tokenize = 'porter unicode61');
DELETE FROM words;
UPDATE sessions SET indexed = 0;

-- +goose Down
DROP TABLE stems;
