package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// A Note is a short text that all processes on the database share, such as data that a proxy has
// learned about a conversation.
type Note struct {
	Key, Text string
	At        time.Time // of the last change, by the clock of the database
}

// Note changes a note. Join combines the old text, or "", with the change; it may be called several
// times.
func (s *Store) Note(ctx context.Context, key string, join func(old string) string) error {
	err := s.write(ctx, func(t *tx) error {
		at, err := s.engine.sharedNow(ctx, t, s.now)
		if err != nil {
			return err
		}
		// This creates and locks the row before it is read.
		if _, err := t.exec(ctx, `INSERT INTO notes (key, text, at) VALUES (?, '', ?) ON CONFLICT (key) DO UPDATE SET at = excluded.at`, key, at); err != nil {
			return err
		}
		var old string
		if err := t.row(ctx, `SELECT text FROM notes WHERE key = ?`, key).Scan(&old); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		_, err = t.exec(ctx, `UPDATE notes SET text = ? WHERE key = ?`, join(old), key)
		return err
	})
	if err != nil {
		return fmt.Errorf("note %s: %w", key, err)
	}
	return nil
}

// Notes lists the notes that have changed since a time, oldest first.
func (s *Store) Notes(ctx context.Context, since time.Time, limit int) (all []Note, err error) {
	err = s.read(ctx, func(t *tx) error {
		return t.each(ctx, func(scan func(...any) error) error {
			var n Note
			var at int64
			err := scan(&n.Key, &n.Text, &at)
			n.At = time.UnixMicro(at)
			all = append(all, n)
			return err
		}, `SELECT key, text, at FROM notes WHERE at >= ? ORDER BY at, key LIMIT ?`, since.UnixMicro(), limit)
	})
	if err != nil {
		return nil, fmt.Errorf("notes: %w", err)
	}
	return all, nil
}

// ForgetNotes deletes the notes that have not changed since a time.
func (s *Store) ForgetNotes(ctx context.Context, before time.Time) (n int64, err error) {
	err = s.write(ctx, func(t *tx) error {
		n, err = t.exec(ctx, `DELETE FROM notes WHERE at < ?`, before.UnixMicro())
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("forget notes: %w", err)
	}
	return n, nil
}
