-- +goose Up
CREATE INDEX entries_stands ON entries (sid, seq) WHERE flags & 16 = 16;
ALTER TABLE archive ADD COLUMN path TEXT NOT NULL DEFAULT '';
-- Whether raw says where the bytes are, in the place of the bytes.
ALTER TABLE archive ADD COLUMN refers SMALLINT NOT NULL DEFAULT 0;
UPDATE archive SET refers = 1 WHERE length(id) = 31;
CREATE INDEX archive_session ON archive (sid);

-- +goose Down
DROP INDEX archive_session;
ALTER TABLE archive DROP COLUMN refers;
ALTER TABLE archive DROP COLUMN path;
DROP INDEX entries_stands;
