package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
)

// An append writes one row, in the tree of its session: all that is known of an entry lies in
// it. What entries are found by besides their numbers are marks, in a table of their own,
// which is written for many entries at once: to write it with every append took longer than
// the append. Of the entries behind the last ones that are there, the tail, marks are read
// from the entries themselves.

// seqBits is how many bits of the key of an entry are its number; the others are its session.
const seqBits = 28

// maxSeq is how many entries a session can have.
const maxSeq = 1<<seqBits - 1

// pos is the key of an entry.
func pos(sid, seq int64) int64 { return sid<<seqBits | max(0, min(seq, maxSeq)) }

// seqOf is the number of an entry by its key.
func seqOf(pos int64) int64 { return pos & maxSeq }

// The marks that are no hashes.
const (
	markTurn               = 1 + iota // a person begins a turn
	markSystem                        // the system speaks
	markProviderCompaction            // the provider's own compaction
	markControl                       // what the store has written itself
	markFar                           // it answers a call that stands far in front of it
	markWithResults                   // a person speaks beside results
)

// hashed is the mark of a text: half of the numbers are for those, and they are so many that
// two texts have one in common only if somebody has looked for such. Who finds an entry by
// one looks whether it is the right one.
func hashMark(kind byte, text string) int64 {
	sum := sha256.Sum256(append([]byte{kind}, text...))
	return int64(binary.BigEndian.Uint64(sum[:])>>2 | 1<<62)
}

func markID(id string) int64 { return hashMark('i', id) }

// markCall is by the id of a call, or by its tool if it has none.
func markCall(c Call) int64 {
	if c.ID == "" {
		return hashMark('t', string(rune(c.family))+c.Tool)
	}
	return hashMark('c', string(rune(c.family))+c.ID)
}

// markAnswer is that of the answers to one call.
func markAnswer(to place) int64 { return 1<<61 | to.seq<<32 | int64(to.no) }

// A mark of an entry, as a row.
type entryMark struct{ mark, seq int64 }

// A tail is the marks of the last entries, in the order of the entries. The first one of each
// is that of its id.
type tail []entryMark

// add adds the marks of an entry, each once.
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

// between returns the marks of the entries behind one and up to another.
func (l tail) between(behind, upto int64) tail {
	first, _ := slices.BinarySearchFunc(l, behind+1, func(m entryMark, seq int64) int { return cmp.Compare(m.seq, seq) })
	last, _ := slices.BinarySearchFunc(l, upto+1, func(m entryMark, seq int64) int { return cmp.Compare(m.seq, seq) })
	return l[first:last:last]
}

// entries is how many entries it has.
func (l tail) entries() int {
	if len(l) == 0 {
		return 0
	}
	return int(l[len(l)-1].seq - l[0].seq + 1)
}

// hasDuplicateID reports whether an id of the rows occurs more than once in the tail, which the rows
// are part of.
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

// sorted lists the marks in the order of their table.
func (l tail) sorted() tail {
	l = slices.Clone(l)
	slices.SortFunc(l, func(a, b entryMark) int {
		return cmp.Or(cmp.Compare(a.mark, b.mark), cmp.Compare(a.seq, b.seq))
	})
	return l
}

// longTail is how many entries without marks are enough for whoever appends and has had to read
// them: it writes their marks, so that nobody reads them again.
const minTailToMark = 64

// unsettled returns the tail, which is read once, and not by the process that has written it.
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

// bearing lists the numbers of the entries in force between two, both included, that have a
// mark, at most so many: the first ones, or the last ones, the newest first.
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

// bearingIn is bearing for one stretch.
func (s *Store) findMarkedIn(ctx context.Context, t *tx, session *Session, mark int64, st entryRange, newest bool, limit int) (seqs []int64, err error) {
	var late []int64
	upto := st.to
	if st.sid == session.sid && st.to > session.settled {
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
		}, `SELECT seq FROM marks WHERE sid = ? AND mark = ? AND seq BETWEEN ? AND ?`+order, st.sid, mark, st.from, upto, limit-len(seqs))
	}
	if !newest {
		seqs = append(seqs, late[:min(len(late), limit-len(seqs))]...)
	}
	return seqs, err
}

// noLimit is for those who want all.
const allEntries = math.MaxInt32

// writeMarks writes the marks of the tail. The row of the session, which says so, is written by
// who calls it.
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

// writeMarksNow is writeMarks, with the row of the session.
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
