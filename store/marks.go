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
	markTurn    = 1 + iota // a person begins a turn
	markSystem             // the system speaks
	markStands             // the provider's own compaction
	markControl            // what the store has written itself
	markFar                // it answers a call that stands far in front of it
)

// hashed is the mark of a text: half of the numbers are for those, and they are so many that
// two texts have one in common only if somebody has looked for such. Who finds an entry by
// one looks whether it is the right one.
func hashed(kind byte, text string) int64 {
	sum := sha256.Sum256(append([]byte{kind}, text...))
	return int64(binary.BigEndian.Uint64(sum[:])>>2 | 1<<62)
}

func markID(id string) int64 { return hashed('i', id) }

// markCall is by the id of a call, or by its tool if it has none.
func markCall(c Call) int64 {
	if c.ID == "" {
		return hashed('t', string(rune(c.family))+c.Tool)
	}
	return hashed('c', string(rune(c.family))+c.ID)
}

// markAnswer is that of the answers to one call.
func markAnswer(to place) int64 { return 1<<61 | to.seq<<32 | int64(to.no) }

// A trace is the marks of an entry.
type trace struct {
	seq int64
	id  string
	// idMark is that of the id, which is among the marks.
	idMark int64
	marks  []int64 // each once
}

func traceOf(e *Entry, flags int) trace {
	t := trace{seq: e.Seq, id: e.ID, idMark: markID(e.ID), marks: make([]int64, 0, 3)}
	t.marks = append(t.marks, t.idMark)
	for _, f := range []struct{ flag, mark int64 }{{flagBegins, markTurn}, {flagSystem, markSystem}, {flagStands, markStands}} {
		if int64(flags)&f.flag != 0 {
			t.marks = append(t.marks, f.mark)
		}
	}
	if e.Kind.control() {
		t.marks = append(t.marks, markControl)
	}
	for _, c := range e.Calls {
		t.marks = append(t.marks, markCall(c))
	}
	for _, c := range e.Answers {
		if c.Seq == 0 {
			continue
		}
		t.marks = append(t.marks, markAnswer(place{c.Seq, c.No}))
		if e.Seq-c.Seq > near {
			t.marks = append(t.marks, markFar)
		}
	}
	if len(t.marks) > 2 {
		slices.Sort(t.marks)
		t.marks = slices.Compact(t.marks)
	}
	return t
}

// unsettled returns the traces of the tail, which it reads once.
func (s *Store) unsettled(ctx context.Context, t *tx, x *Session) ([]trace, error) {
	if x.traced || x.settled >= x.Head {
		x.traced = true
		return x.tail, nil
	}
	var all []trace
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
		if err := e.unpair(pairs); err != nil {
			return &CorruptError{x.Key, e.Seq, err.Error()}
		}
		all = append(all, traceOf(&e, flags))
		return nil
	}, `SELECT pos, id, kind, flags, pairs FROM entries WHERE pos BETWEEN ? AND ? ORDER BY pos`, pos(x.sid, x.settled+1), pos(x.sid, x.Head))
	if err != nil {
		return nil, err
	}
	x.tail, x.traced = all, true
	return all, nil
}

// bearing lists the numbers of the entries in force between two, both included, that have a
// mark, at most so many: the first ones, or the last ones, the newest first.
func (s *Store) bearing(ctx context.Context, t *tx, x *Session, mark, from, to int64, newest bool, limit int) (seqs []int64, err error) {
	list := x.stretches(from, to)
	if newest {
		slices.Reverse(list)
	}
	for _, st := range list {
		if len(seqs) >= limit {
			break
		}
		some, err := s.bearingIn(ctx, t, x, mark, st, newest, limit-len(seqs))
		if err != nil {
			return nil, err
		}
		seqs = append(seqs, some...)
	}
	return seqs, nil
}

// bearingIn is bearing for one stretch.
func (s *Store) bearingIn(ctx context.Context, t *tx, x *Session, mark int64, st stretch, newest bool, limit int) (seqs []int64, err error) {
	var late []int64
	upto := st.to
	if st.sid == x.sid && st.to > x.settled {
		tail, err := s.unsettled(ctx, t, x)
		if err != nil {
			return nil, err
		}
		for _, e := range tail {
			if e.seq >= st.from && e.seq <= st.to && slices.Contains(e.marks, mark) {
				late = append(late, e.seq)
			}
		}
		upto = x.settled
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
const noLimit = math.MaxInt32

// settle writes the marks of the tail. The row of the session, which says so, is written by
// who calls it.
func (s *Store) settle(ctx context.Context, t *tx, x *Session) error {
	tail, err := s.unsettled(ctx, t, x)
	if err != nil || len(tail) == 0 {
		return err
	}
	r := rows{into: `INSERT INTO marks (sid, mark, seq)`, width: 3, behind: ` ON CONFLICT DO NOTHING`}
	for _, m := range sorted(tail) {
		r.add(0, x.sid, m.mark, m.seq)
	}
	x.settled, x.tail = tail[len(tail)-1].seq, nil
	return r.flush(ctx, t)
}

// settleNow is settle, with the row of the session.
func (s *Store) settleNow(ctx context.Context, t *tx, x *Session) error {
	if x.settled >= x.Head {
		return nil
	}
	if err := s.settle(ctx, t, x); err != nil {
		return err
	}
	_, err := t.exec(ctx, `UPDATE sessions SET settled = ? WHERE sid = ?`, x.settled, x.sid)
	return err
}

// A mark of an entry, as a row.
type marking struct{ mark, seq int64 }

// sorted lists marks in the order of their table.
func sorted(tail []trace) []marking {
	all := make([]marking, 0, 2*len(tail))
	for _, e := range tail {
		for _, m := range e.marks {
			all = append(all, marking{m, e.seq})
		}
	}
	slices.SortFunc(all, func(a, b marking) int {
		if a.mark != b.mark {
			return cmp.Compare(a.mark, b.mark)
		}
		return cmp.Compare(a.seq, b.seq)
	})
	return all
}
