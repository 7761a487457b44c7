-- +goose Up
-- The summaries that were used last are kept.
CREATE INDEX summaries_at ON summaries (at);

-- +goose Down
DROP INDEX summaries_at;
