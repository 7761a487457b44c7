package store

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A reference is what the archive keeps of entries that are in the store anyway: a range
// of them, one, or one block of one.
type reference struct {
	Key   Key   `json:"pare_session"`
	From  int64 `json:"from"`
	To    int64 `json:"to"`
	One   bool  `json:"one,omitempty"`   // the message itself, not a list
	Block *int  `json:"block,omitempty"` // of the message
}

func (r reference) encode() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // it has nothing that cannot be written
	}
	return b
}

// An Archive keeps what the windows of one session take out, and gives back what is kept in
// the scope of the session. It is the keeper of a [pare.Policy]. Many goroutines may use it.
type Archive struct {
	s   *Store
	key Key
}

var _ archive.Archive = (*Archive)(nil)

// Archive returns the archive of a session.
func (s *Store) Archive(key Key) *Archive { return &Archive{s, key} }

// Put keeps items.
func (a *Archive) Put(ctx context.Context, items ...archive.Item) error {
	return a.s.write(ctx, func(t *tx) error {
		session, err := a.s.live(ctx, t, a.key, false)
		if err != nil {
			return err
		}
		for _, item := range items {
			if !item.Genuine() {
				return fmt.Errorf("archive: item %s is not the name of its bytes", item.ID)
			}
			if err := a.s.insertArchiveItem(ctx, t, session, item, false); err != nil {
				return err
			}
		}
		return nil
	})
}

// Get returns an item; the error wraps [archive.ErrNotFound] if there is none.
func (a *Archive) Get(ctx context.Context, id string) (archive.Item, error) {
	return a.s.item(ctx, a.key.Scope, id)
}

// shelveOne writes an item down for a session; one that refers has a reference in the place of
// its bytes. Every session that takes the same bytes out has a row of its own, which lives as long
// as the session does.
func (s *Store) insertArchiveItem(ctx context.Context, t *tx, session *Session, item archive.Item, refers bool) error {
	flag := 0
	if refers {
		flag = 1
	}
	_, err := t.exec(ctx, `INSERT INTO archive (scope, id, sid, path, refers, raw, at) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, session.Scope, item.ID, session.sid, item.Path, flag, item.Raw, s.now())
	return err
}

// shelve makes what a window takes out known by its names. The entries have the bytes, so
// the archive says where; it is written to only if a name is new to the session.
func (s *Store) archiveRemoved(ctx context.Context, session *Session, h history, r *wire.Request, items []archive.Item) error {
	if len(items) == 0 {
		return nil
	}
	known := make(map[string]bool, len(items))
	err := s.read(ctx, func(t *tx) error {
		for _, item := range items {
			var one int
			err := t.row(ctx, `SELECT 1 FROM archive WHERE scope = ? AND id = ? AND sid = ?`, session.Scope, item.ID, session.sid).Scan(&one)
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			known[item.ID] = err == nil
		}
		return nil
	})
	if err != nil {
		return err
	}
	var fresh []archive.Item
	for _, item := range items {
		if !known[item.ID] {
			known[item.ID] = true
			fresh = append(fresh, item)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	where := referencesByPath(session, h, r)
	return s.write(ctx, func(t *tx) error {
		for _, item := range fresh {
			ref, refers := where[item.Path]
			if refers {
				item.Raw = ref.encode()
			}
			if err := s.insertArchiveItem(ctx, t, session, item, refers); err != nil {
				return err
			}
		}
		return nil
	})
}

// places says, by path, which entries the messages and blocks of a request are.
func referencesByPath(session *Session, h history, r *wire.Request) map[string]reference {
	all := make(map[string]reference)
	t := r.Transcript()
	for i, m := range t.Messages() {
		seq := h.seqs[i]
		if seq == 0 {
			continue // a summary: its bytes are kept themselves
		}
		for b := m.First; b < m.End; b++ {
			n := int(b - m.First)
			all[r.Path(b)] = reference{Key: session.Key, From: seq, To: seq, One: true, Block: &n}
		}
		all[r.MessagePath(i)] = reference{Key: session.Key, From: seq, To: seq, One: true}
	}
	return all
}

// Recall returns what a handle stands for, as JSON: the block or message that a
// placeholder took the place of, or the list of messages that a summary stands for. The
// error wraps [archive.ErrNotFound] if it names nothing.
func (s *Store) Recall(ctx context.Context, scope, handle string) ([]byte, error) {
	item, err := s.item(ctx, scope, handle)
	if err != nil || !item.Stands() {
		return item.Raw, err
	}
	all, err := archive.Recall(ctx, &Archive{s, Key{Scope: scope}}, handle)
	list := make([][]byte, len(all))
	for i, item := range all {
		list[i] = item.Raw
	}
	if len(all) > 0 {
		err = nil // some of it is kept
	}
	return slices.Concat([]byte{'['}, bytes.Join(list, []byte{','}), []byte{']'}), err
}

func (s *Store) item(ctx context.Context, scope, handle string) (item archive.Item, err error) {
	item.ID = handle
	if !isText(scope) || !isText(handle) {
		return item, fmt.Errorf("recall %q: %w", handle, archive.ErrNotFound)
	}
	err = s.read(ctx, func(t *tx) error {
		first := error(nil)
		for sid := int64(0); ; { // the sessions that have it; almost always the first one has the bytes
			var refers int
			err := t.row(ctx, `SELECT sid, raw, path, refers FROM archive WHERE scope = ? AND id = ? AND sid > ? ORDER BY sid LIMIT 1`, scope, handle, sid).
				Scan(&sid, &item.Raw, &item.Path, &refers)
			if errors.Is(err, sql.ErrNoRows) {
				return cmp.Or(first, fmt.Errorf("recall %q: %w", handle, archive.ErrNotFound))
			}
			if err != nil || refers == 0 {
				return err
			}
			var ref reference
			if err := json.Unmarshal(item.Raw, &ref); err != nil {
				return &CorruptError{Key{Scope: scope}, 0, "what the archive says of " + handle + " cannot be read"}
			}
			if item.Raw, err = s.resolve(ctx, t, handle, ref); !errors.Is(err, archive.ErrNotFound) && !errors.Is(err, ErrNotFound) {
				return err
			}
			first = cmp.Or(first, err)
		}
	})
	if err != nil {
		return archive.Item{}, err
	}
	item.Raw, err = s.fillMedia(ctx, item.Raw)
	return item, err
}

// resolve reads what a reference names: an entry, in force or not, or those of a range that were
// in force when a summary took their place. Of a session that was deleted, forks keep what they
// share.
func (s *Store) resolve(ctx context.Context, t *tx, handle string, ref reference) ([]byte, error) {
	session, err := s.lookup(ctx, t, ref.Key, false)
	if err != nil {
		return nil, err
	}
	if ref.To > session.Head {
		return nil, fmt.Errorf("recall %q: %w", handle, archive.ErrNotFound)
	}
	if session.state.Hidden = nil; !ref.One {
		all, err := s.readControls(ctx, t, session)
		if err != nil {
			return nil, err
		}
		// What was reverted behind the range hides nothing of it, or there would be no summary.
		session.state = session.state.fold(slices.DeleteFunc(all, func(c controlEntry) bool { return c.seq > ref.To }))
	}
	all, err := s.entries(ctx, t, session, ref.From, ref.To, int(ref.To-ref.From)+1)
	if err != nil {
		return nil, err
	}
	var list [][]byte
	gone := 0
	for _, e := range all {
		if e.Damaged != "" && ref.One {
			return nil, fmt.Errorf("recall %q: %w", handle, &CorruptError{session.Key, e.Seq, e.Damaged})
		}
		if e.Gone {
			gone++
		} else if e.Kind == KindMessage {
			list = append(list, e.Raw)
		}
	}
	switch {
	case gone > 0 && len(list) == 0:
		return nil, fmt.Errorf("recall %q: %w: %w", handle, archive.ErrNotFound, errExpiredBytes)
	case gone > 0: // a summary of summaries stands for more than is kept
		list = slices.Insert(list, 0, fmt.Appendf(nil, "%q", fmt.Sprintf("%s%d entries in front of this are not kept any more]", wording.Mark, gone)))
	}
	switch {
	case !ref.One:
		return slices.Concat([]byte{'['}, bytes.Join(list, []byte{','}), []byte{']'}), nil
	case len(list) != 1:
		return nil, fmt.Errorf("recall %q: %w", handle, archive.ErrNotFound)
	case ref.Block == nil:
		return list[0], nil
	}
	r, err := parseMessage(session, list[0])
	if err != nil {
		return nil, err
	}
	tr := r.Transcript()
	if *ref.Block >= len(tr.Blocks()) {
		return nil, &CorruptError{session.Key, ref.From, "the block that was archived is not there"}
	}
	return tr.Bytes(tr.Block(transcript.BlockID(*ref.Block)).Span), nil
}
