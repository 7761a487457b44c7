package store

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// insert writes entries at the end.
func (s *Store) insert(ctx context.Context, t *tx, x *Session, fresh []*row) error {
	now := s.now()
	b := s.batch(ctx, t, x)
	for _, r := range fresh {
		x.Head++
		x.cum += r.weight
		r.Seq, r.cum, r.At = x.Head, x.cum, s.o.Now().UTC()
		if err := s.media(ctx, t, x, r); err != nil {
			return err
		}
		if err := b.add(r, now); err != nil {
			return err
		}
	}
	if err := b.flush(); err != nil {
		return err
	}
	_, err := t.exec(ctx, `UPDATE sessions SET noted_head = ?, cum = ?, dialect = ?, state = ?, updated_at = ? WHERE sid = ?`, x.Head, x.cum, x.Dialect, x.state.encode(), now, x.sid)
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

// A batch is entries on their way into the tables: many rows go with one statement, and
// an answer to a call of the same batch is found without asking.
type batch struct {
	s   *Store
	t   *tx
	ctx context.Context
	x   *Session

	entries, calls, answers rows

	byID   map[openCall][]place // calls of the batch that are not answered, by id
	byName map[openCall][]place // all calls of the batch without id, by tool
	done   map[place]bool       // calls that the batch answers
}

func (s *Store) batch(ctx context.Context, t *tx, x *Session) *batch {
	return &batch{s: s, t: t, ctx: ctx, x: x,
		entries: rows{into: `INSERT INTO entries (sid, seq, id, kind, flags, weight, cum, size, sum, codec, at, raw)`, width: 12},
		calls:   rows{into: `INSERT INTO calls (sid, seq, no, call_id, tool, family)`, width: 6},
		answers: rows{into: `INSERT INTO answers (sid, seq, no, call_id, tool, family, call_seq, call_no)`, width: 8},
		byID:    make(map[openCall][]place), byName: make(map[openCall][]place), done: make(map[place]bool)}
}

// add adds an entry that has its number.
func (b *batch) add(r *row, now int64) error {
	b.entries.add(len(r.stored), b.x.sid, r.Seq, r.ID, string(r.Kind), r.flags, r.weight, r.cum, len(r.Raw), r.sum[:], r.codec, now, r.stored)
	if err := b.pair(r); err != nil {
		return err
	}
	if b.entries.bytes > maxStatement {
		return b.flush()
	}
	return nil
}

// pair writes down the calls of an entry, and which calls its results answer: of an
// id the last one that is open, of a name the first one of the newest that are open.
func (b *batch) pair(r *row) error {
	for i := range r.Calls {
		c := &r.Calls[i]
		b.calls.add(0, b.x.sid, r.Seq, c.No, c.ID, c.Tool, c.family)
		if at := (place{r.Seq, c.No}); c.ID != "" {
			k := openCall{c.ID, c.family}
			b.byID[k] = append(b.byID[k], at)
		} else {
			k := openCall{c.Tool, c.family}
			b.byName[k] = append(b.byName[k], at)
		}
	}
	for i := range r.Answers {
		c := &r.Answers[i]
		at, ok := b.answer(c)
		if !ok {
			var err error
			if at, err = b.lookUp(*c); err != nil {
				return err
			}
		}
		if at.seq > 0 {
			b.done[at] = true
		}
		c.Seq, c.No = at.seq, at.no
		b.answers.add(0, b.x.sid, r.Seq, i, c.ID, c.Tool, c.family, c.Seq, c.No)
	}
	return nil
}

// maxLook is how many calls of one name are looked at for the one that an answer belongs
// to.
const maxLook = 64

// answer finds the call of an answer in the batch, if it can be told without the rest.
func (b *batch) answer(c *Call) (at place, ok bool) {
	if c.ID != "" {
		k := openCall{c.ID, c.family}
		open := b.byID[k]
		if len(open) == 0 {
			return at, false
		}
		b.byID[k] = open[:len(open)-1]
		return open[len(open)-1], true
	}
	all := b.byName[openCall{c.Tool, c.family}]
	for i, p := range slices.Backward(all) {
		switch done := b.done[p]; {
		case done && ok: // behind it are all that are open
			return at, true
		case !done:
			at, ok = p, true
		}
		if len(all)-i == maxLook {
			return at, true
		}
	}
	return at, false // what is open may begin in front of the batch
}

// lookUp finds the call of an answer in the tables.
func (b *batch) lookUp(c Call) (place, error) {
	if c.ID == "" {
		if err := b.flush(); err != nil { // those of the batch count, too
			return place{}, err
		}
	}
	return b.s.openCall(b.ctx, b.t, b.x, c, b.done)
}

// flush writes what was added.
func (b *batch) flush() error {
	for _, r := range []*rows{&b.entries, &b.calls, &b.answers} {
		if err := r.flush(b.ctx, b.t); err != nil {
			return err
		}
	}
	return nil
}

// rows are rows of one table, by their values.
type rows struct {
	into   string
	width  int
	values []any
	bytes  int
}

// maxStatement is about how many bytes of entries one statement takes, if they are not one
// entry.
const maxStatement = 4 << 20

func (r *rows) add(bytes int, values ...any) {
	r.values = append(r.values, values...)
	r.bytes += bytes
}

// flush writes the rows with few statements of few sizes: each is planned once.
func (r *rows) flush(ctx context.Context, t *tx) error {
	for rest := r.values; len(rest) > 0; {
		n := 1
		for _, more := range []int{8, 64} {
			if len(rest) >= more*r.width {
				n = more
			}
		}
		one := "(?" + strings.Repeat(", ?", r.width-1) + ")"
		if _, err := t.exec(ctx, r.into+" VALUES "+one+strings.Repeat(", "+one, n-1), rest[:n*r.width]...); err != nil {
			return err
		}
		rest = rest[n*r.width:]
	}
	clear(r.values)
	r.values, r.bytes = r.values[:0], 0
	return nil
}

// openCall finds the call that a result answers, besides those that are done; seq is 0 if
// there is none. It goes by the index of ids: seq + 0 keeps a database that has no figures of
// the table from going through the session by number.
func (s *Store) openCall(ctx context.Context, t *tx, x *Session, c Call, done map[place]bool) (at place, err error) {
	where, args := `call_id = ?`, []any{c.ID}
	if c.ID == "" {
		where, args = `call_id = '' AND tool = ?`, []any{c.Tool}
	}
	for _, st := range slices.Backward(x.stretches(1, x.Head)) {
		var found []place
		err := t.each(ctx, func(scan func(...any) error) error {
			var p place
			if err := scan(&p.seq, &p.no); err != nil {
				return err
			}
			found = append(found, p)
			return nil
		}, `SELECT seq, no FROM calls WHERE sid = ? AND seq + 0 BETWEEN ? AND ? AND family = ? AND `+where+` ORDER BY seq + 0 DESC, no DESC LIMIT ?`,
			append(append([]any{st.sid, st.from, st.to, c.family}, args...), maxLook)...)
		if err != nil {
			return place{}, err
		}
		for _, p := range found {
			answered := done[p]
			if !answered {
				if answered, err = s.answered(ctx, t, x, p.seq, p.no); err != nil {
					return place{}, err
				}
			}
			switch {
			case answered && at.seq > 0: // behind it are all that are open by name
				return at, nil
			case answered:
				continue
			}
			at = p
			if c.ID != "" {
				return at, nil
			}
		}
		if at.seq > 0 || len(found) > 0 {
			return at, nil
		}
	}
	return place{}, nil
}

// answered reports whether a result that is in force answers a call.
func (s *Store) answered(ctx context.Context, t *tx, x *Session, seq int64, no int) (bool, error) {
	done := false
	for _, st := range x.stretches(seq, x.Head) {
		err := t.each(ctx, func(scan func(...any) error) error {
			done = true
			return errStop
		}, `SELECT 1 FROM answers WHERE sid = ? AND call_seq = ? AND call_no = ? AND seq + 0 BETWEEN ? AND ? LIMIT 1`, st.sid, seq, no, st.from, st.to)
		if err != nil && !errors.Is(err, errStop) {
			return false, err
		}
		if done {
			return true, nil
		}
	}
	return false, nil
}
