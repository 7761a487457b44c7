package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
)

// seqBits is the number of bits of an entry's key that are its number; the others are the session.
const seqBits = 28

// maxSeq is the largest number of an entry.
const maxSeq = 1<<seqBits - 1

// pos returns the key of an entry.
func pos(sid, seq int64) int64 { return sid<<seqBits | max(0, min(seq, maxSeq)) }

// seqOf returns the number of an entry by its key.
func seqOf(pos int64) int64 { return pos & maxSeq }

const (
	markTurn               = 1 + iota // begins a turn
	markSystem                        // is a system message
	markProviderCompaction            // has the provider's own compaction
	markControl                       // is written by the store
	markFar                           // answers a call that is far before it
	markWithResults                   // has words of the user and results
)

// hashMark returns the mark of a text. Two texts can have the same mark, so an entry found by a
// mark must be compared.
func hashMark(kind byte, text string) int64 {
	sum := sha256.Sum256(append([]byte{kind}, text...))
	return int64(binary.BigEndian.Uint64(sum[:])>>2 | 1<<62)
}

func markID(id string) int64 { return hashMark('i', id) }

// markCall returns the mark of a call, by its id or else by its tool.
func markCall(c Call) int64 {
	if c.ID == "" {
		return hashMark('t', string(rune(c.family))+c.Tool)
	}
	return hashMark('c', string(rune(c.family))+c.ID)
}

// markAnswer returns the mark of the results of a call.
func markAnswer(to place) int64 { return 1<<61 | to.seq<<32 | int64(to.no) }

// An entryMark is a row of the table of marks. Marks find entries by other things than their
// number: ids, calls, turns. They are written for many entries at once, because writing them with
// every append took longer than the append itself. The marks of later entries are computed from the
// entries; see tail.
type entryMark struct{ mark, seq int64 }

// A tail holds the marks of the entries after those whose marks are in the table, ordered by entry.
type tail []entryMark

// add returns the tail with the marks of an entry.
func (l tail) add(e *Entry, flags int) tail {
	first := len(l)
	add := func(mark int64) {
		if m := (entryMark{mark, e.Seq}); !slices.Contains(l[first:], m) {
			l = append(l, m)
		}
	}
	add(markID(e.ID))
	for _, f := range [...]struct{ flag, mark int64 }{{flagTurn, markTurn}, {flagSystem, markSystem}, {flagProviderCompaction, markProviderCompaction}, {flagWithResults, markWithResults}} {
		if int64(flags)&f.flag != 0 {
			add(f.mark)
		}
	}
	if e.Kind.control() {
		add(markControl)
	}
	for _, c := range e.Calls {
		add(markCall(c))
	}
	for _, c := range e.Answers {
		if c.Seq == 0 {
			continue
		}
		add(markAnswer(place{c.Seq, c.No}))
		if e.Seq-c.Seq > nearAnswer {
			add(markFar)
		}
	}
	return l
}

// between returns the marks of the entries after one number, up to another.
func (l tail) between(behind, upto int64) tail {
	first, _ := slices.BinarySearchFunc(l, behind+1, func(m entryMark, seq int64) int { return cmp.Compare(m.seq, seq) })
	last, _ := slices.BinarySearchFunc(l, upto+1, func(m entryMark, seq int64) int { return cmp.Compare(m.seq, seq) })
	return l[first:last:last]
}

// entries returns the number of entries.
func (l tail) entries() int {
	if len(l) == 0 {
		return 0
	}
	return int(l[len(l)-1].seq - l[0].seq + 1)
}

// hasDuplicateID reports whether an id of the rows occurs more than once in the tail, which
// includes the rows.
func (l tail) hasDuplicateID(rows []*row) bool {
	for _, r := range rows {
		id := markID(r.ID)
		n := 0
		for _, m := range l {
			if m.mark == id {
				n++
			}
		}
		if n > 1 {
			return true
		}
	}
	return false
}

// sorted returns the marks in the order of their table.
func (l tail) sorted() tail {
	l = slices.Clone(l)
	slices.SortFunc(l, func(a, b entryMark) int {
		return cmp.Or(cmp.Compare(a.mark, b.mark), cmp.Compare(a.seq, b.seq))
	})
	return l
}

// minTailToMark is the number of entries at which a process that had to read a tail writes its
// marks.
const minTailToMark = 64

// loadTail returns the tail of a session. It modifies the session, which keeps the tail.
func (s *Store) loadTail(ctx context.Context, t *tx, session *Session) (tail, error) {
	if session.tailLoaded || session.settled >= session.Head {
		session.tailLoaded = true
		return session.tail, nil
	}
	if a := s.cache.get(session.Key); a != nil && a.session.sid == session.sid && a.session.settled <= session.settled && a.session.Head >= session.Head {
		session.tail, session.tailLoaded = a.session.tail.between(session.settled, session.Head), true
		return session.tail, nil
	}
	var all tail
	err := t.each(ctx, func(scan func(...any) error) error {
		var (
			e     Entry
			flags int
			pairs []byte
		)
		if err := scan(&e.Seq, &e.ID, &e.Kind, &flags, &pairs); err != nil {
			return err
		}
		e.Seq = seqOf(e.Seq)
		e.decodePairsOrNone(pairs)
		all = all.add(&e, flags)
		return nil
	}, `SELECT pos, id, kind, flags, pairs FROM entries WHERE pos BETWEEN ? AND ? ORDER BY pos`, pos(session.sid, session.settled+1), pos(session.sid, session.Head))
	if err != nil {
		return nil, err
	}
	session.tail, session.tailLoaded = all, true
	return all, nil
}

// findMarked lists up to limit entries in force with a mark, between two numbers: the first ones,
// or the last ones in reverse order if newest is set.
func (s *Store) findMarked(ctx context.Context, t *tx, session *Session, mark, from, to int64, newest bool, limit int) (seqs []int64, err error) {
	list := session.ranges(from, to)
	if newest {
		slices.Reverse(list)
	}
	for _, st := range list {
		if len(seqs) >= limit {
			break
		}
		some, err := s.findMarkedIn(ctx, t, session, mark, st, newest, limit-len(seqs))
		if err != nil {
			return nil, err
		}
		seqs = append(seqs, some...)
	}
	return seqs, nil
}

// findMarkedIn is findMarked for one range.
func (s *Store) findMarkedIn(ctx context.Context, t *tx, session *Session, mark int64, st entryRange, newest bool, limit int) (seqs []int64, err error) {
	var late []int64
	upto := st.to
	if st.owner == session.sid && st.to > session.settled {
		all, err := s.loadTail(ctx, t, session)
		if err != nil {
			return nil, err
		}
		for _, m := range all {
			if m.mark == mark && m.seq >= st.from && m.seq <= st.to {
				late = append(late, m.seq)
			}
		}
		upto = session.settled
	}
	order := ` ORDER BY seq LIMIT ?`
	if newest {
		slices.Reverse(late)
		seqs, order = late[:min(len(late), limit)], ` ORDER BY seq DESC LIMIT ?`
	}
	if st.from <= upto && len(seqs) < limit {
		err = t.each(ctx, func(scan func(...any) error) error {
			var seq int64
			err := scan(&seq)
			seqs = append(seqs, seq)
			return err
		}, `SELECT seq FROM marks WHERE sid = ? AND mark = ? AND seq BETWEEN ? AND ?`+order, st.owner, mark, st.from, upto, limit-len(seqs))
	}
	if !newest {
		seqs = append(seqs, late[:min(len(late), limit-len(seqs))]...)
	}
	return seqs, err
}

// allEntries is the limit for no limit.
const allEntries = math.MaxInt32

// writeMarks writes the marks of the tail. The caller updates the row of the session.
func (s *Store) writeMarks(ctx context.Context, t *tx, session *Session) error {
	all, err := s.loadTail(ctx, t, session)
	if err != nil || len(all) == 0 {
		return err
	}
	r := bulkInsert{into: `INSERT INTO marks (sid, mark, seq)`, width: 3, suffix: ` ON CONFLICT DO NOTHING`}
	for _, m := range all.sorted() {
		r.add(0, session.sid, m.mark, m.seq)
	}
	session.settled, session.tail = all[len(all)-1].seq, nil
	return r.flush(ctx, t)
}

// writeMarksAndSession writes the marks of the tail, and the row of the session.
func (s *Store) writeMarksAndSession(ctx context.Context, t *tx, session *Session) error {
	if session.settled >= session.Head {
		return nil
	}
	if err := s.writeMarks(ctx, t, session); err != nil {
		return err
	}
	_, err := t.exec(ctx, `UPDATE sessions SET settled = ? WHERE sid = ?`, session.settled, session.sid)
	return err
}
