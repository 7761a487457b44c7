-- +goose Up
-- A row that somebody takes out by hand begins another era, too, and waits for the appends that
-- have found out before that it is the old one. What the store itself has deleted has done both
-- when it was marked.
-- +goose StatementBegin
CREATE FUNCTION session_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM setval(format('%I.deletions', TG_TABLE_SCHEMA)::regclass, 1 + (random() * 1e18)::bigint);
	PERFORM pg_advisory_lock(8097879383106125824 # OLD.sid), pg_advisory_unlock(8097879383106125824 # OLD.sid);
	RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER session_gone AFTER DELETE ON sessions FOR EACH ROW WHEN (OLD.deleted_at IS NULL) EXECUTE FUNCTION session_gone();

-- +goose Down
DROP TRIGGER session_gone ON sessions;
DROP FUNCTION session_gone();
