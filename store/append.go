package store

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Head says where a writer believes the session to be. Many goroutines may read it.
type Head struct {
	seq  int64
	mode mode
}

type mode uint8

const (
	anywhere mode = iota
	exactly
	disjoint
)

// Exactly demands that the head is seq: nobody has appended anything that the writer
// does not know.
func Exactly(seq int64) Head { return Head{seq, exactly} }

// Disjoint allows entries that the writer does not know, unless they open or close an
// exchange that its own entries touch: one that they open or close as well, or that
// they would part, because it is open and they speak before it is answered.
func Disjoint(seq int64) Head { return Head{seq, disjoint} }

// Anywhere appends behind whatever is there. It is for a session with one writer.
var Anywhere = Head{}

// Appended is what an append did. Many goroutines may read it.
type Appended struct {
	Head    int64   // the number of the last entry now
	Entries []Entry // as they lie in the session, without their bytes; in the order given
	// Replayed counts the entries that were there already.
	Replayed int
}

// Append writes entries at the end of a session, all or none. It is idempotent: an
// entry that is there already, with the same bytes, counts as written. When it
// returns without an error, the entries are on disk. The errors are a *ConflictError, a
// *DuplicateError, an *EntryError, or wrap ErrNotFound or ErrDeleted.
func (s *Store) Append(ctx context.Context, key Key, head Head, entries ...Entry) (Appended, error) {
	if err := ctx.Err(); err != nil {
		return Appended{}, err // whoever writes for several would not notice
	}
	entries = slices.Clone(entries)
	for i := range entries {
		if entries[i].ID == "" {
			entries[i].ID = s.entryID() // the same one, however often it is tried
		}
	}
	done, x, err := s.appendQuickly(ctx, key, head, entries)
	if x == nil {
		err = s.write(ctx, func(t *tx) (err error) {
			x, err = s.live(ctx, t, key, true)
			if err != nil {
				return err
			}
			done, err = s.append(ctx, t, x, head, entries)
			return err
		})
		if err == nil && done.Replayed == 0 {
			s.known.learn(x, done.Entries)
		}
	}
	if err != nil {
		return Appended{}, err
	}
	if n := len(entries) - done.Replayed; n > 0 {
		s.watch.wake(x.sid)
		s.emit(eventAppended, EventData{Session: key, Head: done.Head, Entries: n})
	}
	return done, nil
}

func (s *Store) append(ctx context.Context, t *tx, x *Session, head Head, entries []Entry) (Appended, error) {
	rows := make([]row, len(entries))
	for i, e := range entries {
		r, err := s.prepare(x, i, e)
		if err != nil {
			return Appended{}, err
		}
		rows[i] = r
	}
	fresh, err := s.fresh(ctx, t, x, rows)
	if err != nil {
		return Appended{}, err
	}
	if len(fresh) > 0 {
		if err := s.meets(ctx, t, x, head, fresh); err != nil {
			return Appended{}, err
		}
		if err := s.insert(ctx, t, x, fresh); err != nil {
			return Appended{}, err
		}
	}
	done := Appended{Head: x.Head, Replayed: len(rows) - len(fresh)}
	for i := range rows {
		done.Entries = append(done.Entries, rows[i].Entry)
	}
	return done, nil
}

// fresh returns the entries that are not there yet, and fills in what the store has set of
// those that are.
func (s *Store) fresh(ctx context.Context, t *tx, x *Session, rows []row) (fresh []*row, err error) {
	ids := make([]string, len(rows))
	seen := make(map[string]bool, len(rows))
	for i := range rows {
		if ids[i] = rows[i].ID; seen[ids[i]] {
			return nil, &EntryError{i, ids[i], errors.New("the id stands twice in one append")}
		}
		seen[ids[i]] = true
	}
	there, err := s.byIDs(ctx, t, x, ids)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		r := &rows[i]
		old, ok := there[r.ID]
		switch {
		case !ok:
			fresh = append(fresh, r)
			continue
		case !bytes.Equal(old.sum, r.sum[:]):
			return nil, &DuplicateError{Key: x.Key, ID: r.ID, Seq: old.Seq}
		case !x.state.visible(old.Seq):
			return nil, &DuplicateError{Key: x.Key, ID: r.ID, Seq: old.Seq, Reverted: true}
		}
		r.Seq, r.At, r.Calls, r.Answers = old.Seq, old.At, old.Calls, old.Answers
	}
	return fresh, nil
}

// Each mark is looked up for itself: of a list in a condition a database that has no figures
// of the table believes that it is cheaper to read the whole session.
const mostIDs = 64

var (
	oneID   = idsQuery(1)
	manyIDs = idsQuery(mostIDs)
)

func idsQuery(n int) string {
	marks := strings.Repeat(`, (CAST(? AS BIGINT), CAST(? AS BIGINT))`, n-1)
	return `WITH v (sid, mark) AS (VALUES (CAST(? AS BIGINT), CAST(? AS BIGINT))` + marks + `)
		SELECT v.sid, v.mark, (SELECT seq FROM marks WHERE marks.sid = v.sid AND marks.mark = v.mark ORDER BY seq LIMIT 1) FROM v`
}

// byIDs finds entries of the session, reverted ones included, many with one statement.
func (s *Store) byIDs(ctx context.Context, t *tx, x *Session, ids []string) (map[string]known, error) {
	found := make(map[string]known)
	wanted := make(map[int64][]string, len(ids)) // by mark
	for _, id := range ids {
		m := markID(id)
		wanted[m] = append(wanted[m], id)
	}
	// The tail first: it is at hand.
	last, err := s.unsettled(ctx, t, x)
	if err != nil {
		return nil, err
	}
	seqs := make(map[int64][]int64) // by owner
	for _, m := range last {
		if m.seq <= x.Head && wanted[m.mark] != nil {
			seqs[x.sid] = append(seqs[x.sid], m.seq)
		}
	}
	var pairs []any
	if x.settled >= x.state.from() {
		for _, id := range ids {
			pairs = append(pairs, x.sid, markID(id))
		}
	}
	for _, p := range x.state.Lineage {
		for _, id := range ids {
			pairs = append(pairs, p.SID, markID(id))
		}
	}
	hits, err := t.marked(ctx, pairs, seqs)
	if err != nil {
		return nil, err
	}
	keep := func(sid int64, list []int64) error {
		all, err := s.readKnown(ctx, t, x, sid, list)
		for _, e := range all {
			// What stands behind what is shared is none of its.
			if x.owner(e.Seq) == sid && e.Seq <= x.Head && slices.Contains(wanted[markID(e.ID)], e.ID) {
				found[e.ID] = e
			}
		}
		return err
	}
	for sid, list := range seqs {
		if err := keep(sid, list); err != nil {
			return nil, err
		}
	}
	for _, hit := range hits {
		sid, mark := hit[0], hit[1]
		if !slices.ContainsFunc(wanted[mark], func(id string) bool { _, ok := found[id]; return !ok }) {
			continue
		}
		// Another id has the same mark: all that have it are looked at.
		same, err := s.bearingIn(ctx, t, x, mark, stretch{sid, 1, x.Head}, false, noLimit)
		if err != nil {
			return nil, err
		}
		if err := keep(sid, same); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// marked looks up pairs of an owner and a mark: seqs gets the entries by owner, and hits are the pairs
// that there are.
func (t *tx) marked(ctx context.Context, pairs []any, seqs map[int64][]int64) (hits [][2]int64, err error) {
	for len(pairs) > 0 {
		query, n := oneID, 1
		if len(pairs) > 2 { // two statements are enough: the last one fills the larger one
			query, n = manyIDs, mostIDs
		}
		list := slices.Clone(pairs[:min(2*n, len(pairs))])
		pairs = pairs[len(list):]
		for len(list) < 2*n {
			list = append(list, list[len(list)-2], list[len(list)-1])
		}
		err = t.each(ctx, func(scan func(...any) error) error {
			var (
				sid, mark int64
				seq       sql.NullInt64
			)
			if err := scan(&sid, &mark, &seq); err != nil || !seq.Valid {
				return err
			}
			seqs[sid] = append(seqs[sid], seq.Int64)
			hits = append(hits, [2]int64{sid, mark})
			return nil
		}, query, list...)
		if err != nil {
			return nil, err
		}
	}
	return hits, nil
}

// byID finds an entry of the session, reverted ones included; seq is 0 if there is none.
func (s *Store) byID(ctx context.Context, t *tx, x *Session, id string) (seq int64, sum []byte, err error) {
	found, err := s.byIDs(ctx, t, x, []string{id})
	return found[id].Seq, found[id].sum, err
}

// meets is an error if the writer must see first what it has missed.
func (s *Store) meets(ctx context.Context, t *tx, x *Session, head Head, fresh []*row) error {
	if head.mode == anywhere || head.seq == x.Head {
		return nil
	}
	if head.seq > x.Head || head.seq < 0 {
		return &ConflictError{Key: x.Key, Expected: head.seq, Head: x.Head, Reason: "no entry has that number yet"}
	}
	missed, err := s.entries(ctx, t, x, head.seq+1, x.Head, 1000)
	if err != nil {
		return err
	}
	c := &ConflictError{Key: x.Key, Expected: head.seq, Head: x.Head, Missed: missed, Reason: "entries were appended meanwhile"}
	if head.mode == exactly {
		return c
	}
	if int64(len(missed)) < x.Head-head.seq { // hidden, or too many to look at
		c.Reason = "the session was reverted meanwhile, or too much was appended to compare"
		return c
	}
	if reason := touches(missed, fresh); reason != "" {
		c.Reason = reason
		return c
	}
	return nil
}

// touches tells which exchange missed and new entries both touch, or "".
func touches(missed []Entry, fresh []*row) string {
	theirs := make(map[string]bool) // ids of exchanges
	open := make(map[place]Call)    // those they left open
	name := func(c Call) string {
		if c.ID == "" {
			return "name:" + c.Tool
		}
		return "id:" + c.ID
	}
	for _, e := range missed {
		if e.Kind == KindRevert || e.Kind == KindUndo { // a compaction parts nothing
			return fmt.Sprintf("there was a %s meanwhile", e.Kind)
		}
		for _, c := range e.Calls {
			theirs[name(c)] = true
			open[place{e.Seq, c.No}] = c
		}
		for _, c := range e.Answers {
			theirs[name(c)] = true
			delete(open, place{c.Seq, c.No})
		}
	}
	for _, r := range fresh {
		for _, c := range slices.Concat(r.Calls, r.Answers) {
			if theirs[name(c)] {
				return fmt.Sprintf("the exchange of %s was touched meanwhile", c)
			}
		}
		if r.flags&flagSpeaks == 0 {
			continue // answers and what is no message part nothing
		}
		if len(open) > 0 { // the first one, each time
			c := open[slices.MinFunc(slices.Collect(maps.Keys(open)), comparePlaces)]
			return fmt.Sprintf("%s was made meanwhile and is not answered yet: this would stand between the two", c)
		}
	}
	return ""
}

func comparePlaces(a, b place) int { return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.no, b.no)) }

// entries reads entries in force between two numbers, oldest first, at most so many.
func (s *Store) entries(ctx context.Context, t *tx, x *Session, from, to int64, limit int) ([]Entry, error) {
	all, err := s.scanAll(ctx, t, x, from, to, limit)
	if err != nil {
		return nil, err
	}
	out := make([]Entry, len(all))
	for i := range all {
		if !all[i].Gone {
			if err := x.orMark(&all[i], s.open(ctx, t, x, &all[i])); err != nil {
				return nil, err
			}
		}
		all[i].unpairOrNone(all[i].pairs)
		out[i] = all[i].Entry
	}
	return out, nil
}

// scanAll reads rows without opening them.
func (s *Store) scanAll(ctx context.Context, t *tx, x *Session, from, to int64, limit int) (all []scanned, err error) {
	for _, st := range x.stretches(from, to) {
		if len(all) >= limit {
			break
		}
		err = t.each(ctx, func(scan func(...any) error) error {
			e, err := x.scan(st.sid, scan)
			all = append(all, e)
			return err
		}, `SELECT `+entryColumns+` FROM entries WHERE pos BETWEEN ? AND ? ORDER BY pos LIMIT ?`, pos(st.sid, st.from), pos(st.sid, st.to), limit-len(all))
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}
