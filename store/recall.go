package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pare-llm/pare/archive"
)

// A reference is what the archive keeps of entries that are in the store anyway.
type reference struct {
	Key  Key   `json:"pare_session"`
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// An Archive keeps what the windows of one session take out. It is the keeper of a
// [pare.Policy].
type Archive struct {
	s   *Store
	key Key
}

// Archive returns the archive of a session.
func (s *Store) Archive(key Key) *Archive { return &Archive{s, key} }

// Put keeps items.
func (a *Archive) Put(ctx context.Context, items ...archive.Item) error {
	return a.s.write(ctx, func(t *tx) error {
		x, err := a.s.live(ctx, t, a.key, false)
		if err != nil {
			return err
		}
		for _, item := range items {
			if !item.Genuine() {
				return fmt.Errorf("archive: item %s is not the name of its bytes", item.ID)
			}
			if _, err := t.exec(ctx, `INSERT INTO archive (scope, id, sid, raw, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
				a.key.Scope, item.ID, x.sid, item.Raw, a.s.now()); err != nil {
				return err
			}
		}
		return nil
	})
}

// ErrNoItem is wrapped by the error for a handle that names nothing.
var ErrNoItem = errors.New("nothing is archived under that name")

// Recall returns what a handle stands for, as JSON: the block or message that a
// placeholder took the place of, or the list of messages that a summary stands for.
func (s *Store) Recall(ctx context.Context, scope, handle string) (raw []byte, err error) {
	err = s.read(ctx, func(t *tx) error {
		err := t.row(ctx, `SELECT raw FROM archive WHERE scope = ? AND id = ?`, scope, handle).Scan(&raw)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("recall %q: %w", handle, ErrNoItem)
		}
		if err != nil {
			return err
		}
		var ref reference
		if json.Unmarshal(raw, &ref) != nil || ref.Key.ID == "" {
			return nil
		}
		x, err := s.live(ctx, t, ref.Key, false)
		if err != nil {
			return err
		}
		all, err := s.entries(ctx, t, x, ref.From, ref.To, int(ref.To-ref.From)+1)
		if err != nil {
			return err
		}
		list := []json.RawMessage{}
		for _, e := range all {
			if e.Kind == KindMessage {
				list = append(list, e.Raw)
			}
		}
		raw, err = json.Marshal(list)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.fillBody(ctx, raw)
}

// Memory keeps summaries, so that every process sends the same ones. It is the memory
// of a [pare.Compactor].
func (s *Store) Memory() *Memory { return &Memory{s} }

// A Memory keeps texts by name.
type Memory struct{ s *Store }

// Load returns a text.
func (m *Memory) Load(key string) (text string, ok bool) {
	err := m.s.read(context.Background(), func(t *tx) error {
		return t.row(context.Background(), `SELECT text FROM summaries WHERE key = ?`, key).Scan(&text)
	})
	return text, err == nil
}

// Store keeps a text; the first one of a name stays.
func (m *Memory) Store(key, text string) {
	m.s.write(context.Background(), func(t *tx) error {
		_, err := t.exec(context.Background(), `INSERT INTO summaries (key, text, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, key, text, m.s.now())
		return err
	})
}
