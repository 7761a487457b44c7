-- +goose Up
-- Each was looked up at every append; fsck verifies what they say.
ALTER TABLE entries DROP CONSTRAINT entries_sid_fkey;
ALTER TABLE forks DROP CONSTRAINT forks_sid_fkey;

-- +goose Down
ALTER TABLE forks ADD CONSTRAINT forks_sid_fkey FOREIGN KEY (sid) REFERENCES sessions (sid);
ALTER TABLE entries ADD CONSTRAINT entries_sid_fkey FOREIGN KEY (sid) REFERENCES sessions (sid);
