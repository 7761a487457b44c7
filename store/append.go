package store

import (
	"context"
	"slices"
)

// A Head is the head that a writer expects of a session.
type Head struct {
	seq  int64
	mode headMode
}

type headMode uint8

const (
	anyHead headMode = iota
	exactHead
	disjointHead
)

// Exactly requires the head seq: the writer has seen all entries.
func Exactly(seq int64) Head { return Head{seq, exactHead} }

// Disjoint allows entries after seq, unless they conflict with the new ones. Entries conflict if
// they touch the same exchange, or if a new entry would separate an open call from its result.
func Disjoint(seq int64) Head { return Head{seq, disjointHead} }

// Anywhere appends at any head. Use it for sessions with one writer.
var Anywhere = Head{}

// Appended is the result of an append.
type Appended struct {
	Head int64 // the number of the last entry
	// Entries are the given entries as stored, without their bytes.
	Entries []Entry
	// Replayed counts the entries that were stored before.
	Replayed int
}

// Append writes entries at the end of a session, all or none. When it returns without an error, the
// entries are on disk. It is idempotent: an entry whose id is stored with the same bytes counts as
// written. The error is a *ConflictError, a *DuplicateError or an *EntryError, or wraps ErrNotFound
// or ErrDeleted.
func (s *Store) Append(ctx context.Context, key Key, head Head, entries ...Entry) (Appended, error) {
	if err := ctx.Err(); err != nil {
		return Appended{}, err // a group commit would not notice
	}
	entries = slices.Clone(entries)
	for i := range entries {
		if entries[i].ID == "" {
			entries[i].ID = s.entryID() // the same id for every attempt
		}
	}
	result, session := s.fastAppend(ctx, key, head, entries)
	if session == nil {
		err := s.write(ctx, func(t *tx) (err error) {
			if session, err = s.live(ctx, t, key, true); err != nil {
				return err
			}
			result, err = s.append(ctx, t, session, head, entries)
			return err
		})
		if err != nil {
			return Appended{}, err
		}
		if result.Replayed == 0 {
			s.cache.add(session, result.Entries)
		}
	}
	if n := len(entries) - result.Replayed; n > 0 {
		s.watchers.wake(session.sid)
		s.emit(eventAppended, EventData{Session: key, Head: result.Head, Entries: n})
	}
	return result, nil
}

// append appends entries to a session that the transaction has locked. It modifies the session.
func (s *Store) append(ctx context.Context, t *tx, session *Session, head Head, entries []Entry) (Appended, error) {
	rows, err := s.prepareRows(session, entries)
	if err != nil {
		return Appended{}, err
	}
	fresh, err := s.newRows(ctx, t, session, rows)
	if err != nil {
		return Appended{}, err
	}
	if len(fresh) > 0 {
		if err := s.checkHead(ctx, t, session, head, fresh); err != nil {
			return Appended{}, err
		}
		if err := s.insert(ctx, t, session, fresh); err != nil {
			return Appended{}, err
		}
	}
	return appended(session, rows, len(rows)-len(fresh)), nil
}

func appended(session *Session, rows []*row, replayed int) Appended {
	result := Appended{Head: session.Head, Replayed: replayed, Entries: make([]Entry, len(rows))}
	for i, r := range rows {
		result.Entries[i] = r.Entry
	}
	return result
}

// maxFastEntries is the largest number of entries that fastAppend writes.
const maxFastEntries = 64

// A fastWrite is an append that needs only the cached session. The
// database writes it if the head is still the one before its rows, and no id is taken.
type fastWrite struct {
	sid     int64
	settled int64 // before the append
	head    int64 // before the append
	weight  int64 // of the entries up to head
	at      int64
	rows    []*row
	marks   tail // the marks of the entries after settled, up to head; empty if it is too early to write them

	wroteMarks bool // set by the engine
}

func (w *fastWrite) last() *row { return w.rows[len(w.rows)-1] }

// fastAppend appends to a session that this process appended to last, without reading anything. It
// returns no session if the transaction of [Store.Append] has to decide: the session is not cached
// or has changed, an id may be taken, a call has to be looked up, or the append fails.
func (s *Store) fastAppend(ctx context.Context, key Key, head Head, entries []Entry) (Appended, *Session) {
	if len(entries) == 0 || len(entries) > maxFastEntries {
		return Appended{}, nil
	}
	known := s.cache.get(key)
	if known == nil || head.mode != anyHead && head.seq != known.session.Head {
		return Appended{}, nil
	}
	session := known.session
	rows, err := s.prepareRows(&session, entries)
	if err != nil || session.Dialect != known.session.Dialect || slices.ContainsFunc(rows, func(r *row) bool { return len(r.media) > 0 }) {
		return Appended{}, nil
	}
	w := &fastWrite{sid: session.sid, settled: session.settled, head: session.Head, weight: session.weight, at: s.now(), rows: rows}
	pairs := newPairing(func(c Call, _ []place, answered map[place]bool) (place, error) {
		return known.open.searchCondition(c, answered)
	})
	if s.number(&session, rows, w.at, pairs) != nil || session.tail.hasDuplicateID(rows) {
		return Appended{}, nil
	}
	session.tailLoaded = true
	if known.session.tail.entries() >= s.maxTail {
		// The marks of the new rows are not among them: another process may write its entries in their
		// place, and then only the rows fail.
		w.marks = known.session.tail.sorted()
		session.settled = w.head
		session.tail = slices.Clone(session.tail.between(w.head, session.Head))
	}
	written, err := s.engine.appendFast(ctx, w)
	if err != nil || !written {
		s.cache.remove(key)
		return Appended{}, nil
	}
	result := appended(&session, rows, 0)
	if len(w.marks) > 0 && !w.wroteMarks {
		s.cache.remove(key) // another process has written marks
	} else {
		s.cache.add(&session, result.Entries)
	}
	return result, &session
}
