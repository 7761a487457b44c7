-- +goose Up
-- A boundary of a window asks for the far answers behind it: by their own number they are
-- as many as the window has, by that of their call as many as the history.
DROP INDEX answers_far;
CREATE INDEX answers_far ON answers (sid, seq) WHERE seq - call_seq > 64;

-- +goose Down
DROP INDEX answers_far;
CREATE INDEX answers_far ON answers (sid, call_seq) WHERE seq - call_seq > 64;
