package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/pare-llm/pare/internal/jsonedit"
	"github.com/pare-llm/pare/wire"
)

// Import puts the messages of a request into a session, which is made if it does not
// exist. Importing the same history again changes nothing, and one that has grown adds
// what is new. One that was changed in between is refused: it is another history. It
// returns how many entries were added.
func (s *Store) Import(ctx context.Context, key Key, title string, r *wire.Request) (int, error) {
	base, err := requestBase(r)
	if err != nil {
		return 0, fmt.Errorf("import %s: %w", key, err)
	}
	if err := checkImportable(r); err != nil { // before a session is made for nothing
		return 0, fmt.Errorf("import %s: %w", key, err)
	}
	_, err = s.Create(ctx, key, Create{Dialect: r.Dialect.String(), Model: r.Model(), Title: title, Base: base})
	switch {
	case errors.Is(err, ErrDeleted):
		return 0, fmt.Errorf("%w, and its id stays taken; import it under another id with --id NAME", err)
	case err != nil && !errors.Is(err, ErrExists):
		return 0, err
	}
	t := r.Transcript()
	list := make([]Entry, len(t.Messages()))
	for i, m := range t.Messages() {
		list[i] = Entry{ID: fmt.Sprintf("import-%d", i), Raw: t.Bytes(m.Span)}
	}
	done, err := s.Append(ctx, key, Anywhere, list...)
	var dup *DuplicateError
	if errors.As(err, &dup) {
		return 0, fmt.Errorf("import %s: %w: it is there already and is no beginning of this history; import it under another id with --id NAME", key, err)
	}
	return len(list) - done.Replayed, err
}

// importable is an error if a message of a request could not be appended.
func checkImportable(r *wire.Request) error {
	session := &Session{Dialect: r.Dialect.String(), Model: r.Model()}
	t := r.Transcript()
	for i, m := range t.Messages() {
		err := checkMessage(r, i)
		if err == nil {
			alone, e := session.readMessage(t.Bytes(m.Span))
			if err = e; err == nil {
				err = checkSendable(alone)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.MessagePath(i), err)
		}
	}
	return nil
}

// baseOf is a request without its messages.
func requestBase(r *wire.Request) ([]byte, error) {
	if _, ok := jsonedit.Find(r.Raw(), r.Dialect.List()); !ok {
		return nil, nil // a bare list
	}
	return jsonedit.Put(r.Raw(), []byte("[]"), r.Dialect.List()), nil
}
