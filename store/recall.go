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

// A reference is an item of the archive whose bytes are in entries: a range of entries, one entry,
// or a block.
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
		panic(err)
	}
	return b
}

// An Archive keeps what the windows of a session remove, and finds all items in the scope of the
// session. It can be used as the archive of a [pare.Policy].
type Archive struct {
	s   *Store
	key Key
}

var _ archive.Archive = (*Archive)(nil)

// Archive returns the archive of a session.
func (s *Store) Archive(key Key) *Archive { return &Archive{s, key} }

// Put stores items.
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

// Get returns an item. The error wraps [archive.ErrNotFound] if there is none.
func (a *Archive) Get(ctx context.Context, id string) (archive.Item, error) {
	return a.s.item(ctx, a.key.Scope, id)
}

// insertArchiveItem stores an item of a session. If refers is set, its bytes are a reference. Each
// session has its own row, which is deleted with the session.
func (s *Store) insertArchiveItem(ctx context.Context, t *tx, session *Session, item archive.Item, refers bool) error {
	flag := 0
	if refers {
		flag = 1
	}
	_, err := t.exec(ctx, `INSERT INTO archive (scope, id, sid, path, refers, raw, at) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, session.Scope, item.ID, session.sid, item.Path, flag, item.Raw, s.now())
	return err
}

// archiveRemoved makes the parts that a window removes available under their handles. It stores
// references and writes only new handles.
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

// referencesByPath returns references for the messages and blocks of a request, by path. Summaries
// have none, because they are stored themselves.
func referencesByPath(session *Session, h history, r *wire.Request) map[string]reference {
	all := make(map[string]reference)
	t := r.Transcript()
	for i, m := range t.Messages() {
		seq := h.seqs[i]
		if seq == 0 {
			continue
		}
		for b := m.First; b < m.End; b++ {
			n := int(b - m.First)
			all[r.Path(b)] = reference{Key: session.Key, From: seq, To: seq, One: true, Block: &n}
		}
		all[r.MessagePath(i)] = reference{Key: session.Key, From: seq, To: seq, One: true}
	}
	return all
}

// Recall returns the JSON that a handle refers to: a block, a message, or the list of messages that
// a summary replaces. The error wraps [archive.ErrNotFound] if there is none.
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
		err = nil
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
		// Several sessions may have the item. The first one nearly always has the bytes.
		for sid := int64(0); ; {
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

// resolve reads the entries of a reference: one entry, in force or not, or the entries of a range
// that were in force when the summary was made. Forks keep shared entries of deleted sessions.
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
		// Later reverts do not hide entries of the range.
		session.state = session.state.fold(slices.DeleteFunc(all, func(c controlEntry) bool { return c.seq > ref.To }))
	}
	entries, err := s.entries(ctx, t, session, ref.From, ref.To, int(ref.To-ref.From)+1)
	if err != nil {
		return nil, err
	}
	var list [][]byte
	gone := 0
	for _, e := range entries {
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
	case gone > 0:
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
