package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
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
			entries[i].ID = NewID() // the same one, however often it is tried
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
		s.emit(EventAppended, Happened{Session: key, Head: done.Head, Entries: n})
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
		e := rows[i].Entry
		e.Raw = nil
		done.Entries = append(done.Entries, e)
	}
	return done, nil
}

// fresh returns the entries that are not there yet, and fills in the numbers of those
// that are.
func (s *Store) fresh(ctx context.Context, t *tx, x *Session, rows []row) (fresh []*row, err error) {
	byID := make(map[string]*row, len(rows))
	for i := range rows {
		r := &rows[i]
		if twin := byID[r.ID]; twin != nil {
			return nil, &EntryError{i, r.ID, errors.New("the id stands twice in one append")}
		}
		byID[r.ID] = r
		seq, sum, err := s.byID(ctx, t, x, r.ID)
		if err != nil {
			return nil, err
		}
		switch {
		case seq == 0:
			fresh = append(fresh, r)
			continue
		case !bytes.Equal(sum, r.sum[:]):
			return nil, &DuplicateError{Key: x.Key, ID: r.ID, Seq: seq}
		case !x.state.visible(seq):
			return nil, &DuplicateError{Key: x.Key, ID: r.ID, Seq: seq, Reverted: true}
		}
		r.Seq = seq
	}
	return fresh, nil
}

// byID finds an entry of the session, reverted ones included; seq is 0 if there is none.
func (s *Store) byID(ctx context.Context, t *tx, x *Session, id string) (seq int64, sum []byte, err error) {
	look := func(sid, from, upto int64) error {
		err := t.row(ctx, `SELECT seq, sum FROM entries WHERE sid = ? AND id = ? AND seq BETWEEN ? AND ?`, sid, id, from, upto).Scan(&seq, &sum)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	}
	from := int64(1)
	for _, p := range x.state.Lineage {
		if err := look(p.SID, from, p.Upto); err != nil || seq > 0 {
			return seq, sum, err
		}
		from = p.Upto + 1
	}
	return seq, sum, look(x.sid, from, x.Head)
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
	open := make(map[[2]int64]Call) // those they left open
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
			open[[2]int64{e.Seq, int64(c.No)}] = c
		}
		for _, c := range e.Answers {
			theirs[name(c)] = true
			delete(open, [2]int64{c.Seq, int64(c.No)})
		}
	}
	for _, r := range fresh {
		for _, c := range slices.Concat(r.Calls, r.Answers) {
			if theirs[name(c)] {
				return fmt.Sprintf("the exchange of call %q (%s) was touched meanwhile", c.ID, c.Tool)
			}
		}
		if r.flags&flagSpeaks == 0 {
			continue // answers and what is no message part nothing
		}
		for _, c := range open {
			return fmt.Sprintf("call %q (%s) was made meanwhile and is not answered yet: this would stand between the two", c.ID, c.Tool)
		}
	}
	return ""
}

// insert writes entries at the end.
func (s *Store) insert(ctx context.Context, t *tx, x *Session, fresh []*row) error {
	now := s.now()
	for _, r := range fresh {
		x.Head++
		x.cum += r.weight
		r.Seq, r.cum, r.At = x.Head, x.cum, s.o.Now().UTC()
		if err := s.media(ctx, t, x, r); err != nil {
			return err
		}
		if _, err := t.exec(ctx, `INSERT INTO entries (sid, seq, id, kind, flags, weight, cum, size, sum, codec, at, raw) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			x.sid, r.Seq, r.ID, string(r.Kind), r.flags, r.weight, r.cum, len(r.Raw), r.sum[:], r.codec, now, r.stored); err != nil {
			return err
		}
		if err := s.pair(ctx, t, x, r); err != nil {
			return err
		}
	}
	_, err := t.exec(ctx, `UPDATE sessions SET head = ?, cum = ?, dialect = ?, state = ?, updated_at = ? WHERE sid = ?`, x.Head, x.cum, x.Dialect, x.state.encode(), now, x.sid)
	return err
}

// media stores the media of an entry, each one once.
func (s *Store) media(ctx context.Context, t *tx, x *Session, r *row) error {
	if len(r.media) > 0 {
		if err := s.eng.guard(ctx, t, false); err != nil {
			return err
		}
	}
	for _, m := range r.media {
		if _, err := t.exec(ctx, `INSERT INTO blobs (sum, size, data) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, m.sum[:], len(m.data), m.data); err != nil {
			return err
		}
		if _, err := t.exec(ctx, `INSERT INTO blob_uses (sum, sid, seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, m.sum[:], x.sid, r.Seq); err != nil {
			return err
		}
	}
	return nil
}

// pair writes down the calls of an entry, and which calls its results answer: of an
// id the last one that is open, of a name the first one of the newest that are open.
func (s *Store) pair(ctx context.Context, t *tx, x *Session, r *row) error {
	for i := range r.Calls {
		c := &r.Calls[i]
		if _, err := t.exec(ctx, `INSERT INTO calls (sid, seq, no, call_id, tool, family) VALUES (?, ?, ?, ?, ?, ?)`, x.sid, r.Seq, c.No, c.ID, c.Tool, c.family); err != nil {
			return err
		}
	}
	for i := range r.Answers {
		c := &r.Answers[i]
		seq, no, err := s.openCall(ctx, t, x, *c)
		if err != nil {
			return err
		}
		c.Seq, c.No = seq, no
		if _, err := t.exec(ctx, `INSERT INTO answers (sid, seq, no, call_id, tool, family, call_seq, call_no) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			x.sid, r.Seq, i, c.ID, c.Tool, c.family, seq, no); err != nil {
			return err
		}
	}
	return nil
}

// openCall finds the call that a result answers; seq is 0 if there is none.
func (s *Store) openCall(ctx context.Context, t *tx, x *Session, c Call) (seq int64, no int, err error) {
	type place struct {
		sid, seq int64
		no       int
	}
	where, args := `call_id = ?`, []any{c.ID}
	if c.ID == "" {
		where, args = `call_id = '' AND tool = ?`, []any{c.Tool}
	}
	for _, st := range slices.Backward(x.stretches(1, x.Head)) {
		var found []place
		err := t.each(ctx, func(scan func(...any) error) error {
			p := place{sid: st.sid}
			if err := scan(&p.seq, &p.no); err != nil {
				return err
			}
			found = append(found, p)
			return nil
		}, `SELECT seq, no FROM calls WHERE sid = ? AND seq BETWEEN ? AND ? AND family = ? AND `+where+` ORDER BY seq DESC, no DESC LIMIT 64`,
			append([]any{st.sid, st.from, st.to, c.family}, args...)...)
		if err != nil {
			return 0, 0, err
		}
		for _, p := range found {
			done, err := s.answered(ctx, t, x, p.seq, p.no)
			switch {
			case err != nil:
				return 0, 0, err
			case done && seq > 0: // behind it are all that are open by name
				return seq, no, nil
			case done:
				continue
			}
			seq, no = p.seq, p.no
			if c.ID != "" {
				return seq, no, nil
			}
		}
		if seq > 0 || len(found) > 0 {
			return seq, no, nil
		}
	}
	return 0, 0, nil
}

// answered reports whether a result that is in force answers a call.
func (s *Store) answered(ctx context.Context, t *tx, x *Session, seq int64, no int) (bool, error) {
	done := false
	for _, st := range x.stretches(seq, x.Head) {
		err := t.each(ctx, func(scan func(...any) error) error {
			done = true
			return errStop
		}, `SELECT 1 FROM answers WHERE sid = ? AND call_seq = ? AND call_no = ? AND seq BETWEEN ? AND ? LIMIT 1`, st.sid, seq, no, st.from, st.to)
		if err != nil && !errors.Is(err, errStop) {
			return false, err
		}
		if done {
			return true, nil
		}
	}
	return false, nil
}

// entries reads entries in force between two numbers, oldest first, at most so many.
func (s *Store) entries(ctx context.Context, t *tx, x *Session, from, to int64, limit int) ([]Entry, error) {
	all, err := s.scanAll(ctx, t, x, from, to, limit)
	if err != nil {
		return nil, err
	}
	out := make([]Entry, len(all))
	for i := range all {
		if !all[i].Gone {
			if err := s.open(ctx, t, x, &all[i]); err != nil {
				return nil, err
			}
		}
		out[i] = all[i].Entry
	}
	return out, s.withPairs(ctx, t, x, out)
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
		}, `SELECT `+entryColumns+` FROM entries WHERE sid = ? AND seq BETWEEN ? AND ? ORDER BY seq LIMIT ?`, st.sid, st.from, st.to, limit-len(all))
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// withPairs fills in what entries open and close.
func (s *Store) withPairs(ctx context.Context, t *tx, x *Session, all []Entry) error {
	if len(all) == 0 {
		return nil
	}
	at := make(map[int64]*Entry, len(all))
	for i := range all {
		at[all[i].Seq] = &all[i]
	}
	from, to := all[0].Seq, all[len(all)-1].Seq
	for _, st := range x.stretches(from, to) {
		err := t.each(ctx, func(scan func(...any) error) error {
			var (
				seq int64
				c   Call
			)
			if err := scan(&seq, &c.No, &c.ID, &c.Tool, &c.family); err != nil {
				return err
			}
			if e := at[seq]; e != nil {
				e.Calls = append(e.Calls, c)
			}
			return nil
		}, `SELECT seq, no, call_id, tool, family FROM calls WHERE sid = ? AND seq BETWEEN ? AND ? ORDER BY seq, no`, st.sid, st.from, st.to)
		if err != nil {
			return err
		}
		err = t.each(ctx, func(scan func(...any) error) error {
			var (
				seq int64
				c   Call
			)
			if err := scan(&seq, &c.ID, &c.Tool, &c.family, &c.Seq, &c.No); err != nil {
				return err
			}
			if e := at[seq]; e != nil {
				e.Answers = append(e.Answers, c)
			}
			return nil
		}, `SELECT seq, call_id, tool, family, call_seq, call_no FROM answers WHERE sid = ? AND seq BETWEEN ? AND ? ORDER BY seq, no`, st.sid, st.from, st.to)
		if err != nil {
			return err
		}
	}
	return nil
}
