package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/pare-llm/pare/internal/jsonedit"
	"github.com/pare-llm/pare/wire"
)

// Import appends the messages of a request to a session, and creates it if necessary. Importing a
// history again adds only its new messages. If an older message has changed, the error wraps a
// *DuplicateError. It returns the number of added entries.
func (s *Store) Import(ctx context.Context, key Key, title string, r *wire.Request) (int, error) {
	base, err := requestBase(r)
	if err != nil {
		return 0, fmt.Errorf("import %s: %w", key, err)
	}
	// Check first, so that no empty session is left.
	if err := checkImportable(r); err != nil {
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
	result, err := s.Append(ctx, key, Anywhere, list...)
	var dup *DuplicateError
	if errors.As(err, &dup) {
		return 0, fmt.Errorf("import %s: %w: it is there already and is no beginning of this history; import it under another id with --id NAME", key, err)
	}
	return len(list) - result.Replayed, err
}

// checkImportable returns an error if a message of the request cannot be appended.
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

// requestBase returns the request without its messages, or nil for a bare list.
func requestBase(r *wire.Request) ([]byte, error) {
	if _, ok := jsonedit.Find(r.Raw(), r.Dialect.List()); !ok {
		return nil, nil
	}
	return jsonedit.Put(r.Raw(), []byte("[]"), r.Dialect.List()), nil
}
