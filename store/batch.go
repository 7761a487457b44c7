package store

import (
	"context"
	"slices"
	"strings"
	"time"
)

// insert writes entries at the end.
func (s *Store) insert(ctx context.Context, t *tx, x *Session, fresh []*row) error {
	last, err := s.unsettled(ctx, t, x)
	if err != nil {
		return err
	}
	x.tail = slices.Clip(last)
	now := s.now()
	at := time.UnixMicro(now).UTC()
	b := s.batch(ctx, t, x)
	for _, r := range fresh {
		x.Head++
		x.cum += r.weight
		r.Seq, r.cum, r.At = x.Head, x.cum, at
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
	for _, r := range fresh {
		x.tail = x.tail.add(&r.Entry, r.flags)
	}
	if x.tail.entries() >= longTail {
		if err := s.writeMarks(ctx, t, x); err != nil {
			return err
		}
	}
	_, err = t.exec(ctx, `UPDATE sessions SET noted_head = ?, cum = ?, settled = ?, dialect = ?, state = ?, updated_at = ? WHERE sid = ?`,
		x.Head, x.cum, x.settled, x.Dialect, x.state.encode(), now, x.sid)
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

	entries rows

	byID   map[openCall][]place // calls of the batch that are not answered, by id
	byName map[openCall][]place // all calls of the batch without id, by tool
	done   map[place]bool       // calls that the batch answers
}

func (s *Store) batch(ctx context.Context, t *tx, x *Session) *batch {
	return &batch{s: s, t: t, ctx: ctx, x: x,
		entries: rows{into: `INSERT INTO entries (pos, id, kind, flags, weight, cum, size, sum, codec, at, pairs, raw)`, width: 12},
		byID:    make(map[openCall][]place), byName: make(map[openCall][]place), done: make(map[place]bool)}
}

// add adds an entry that has its number.
func (b *batch) add(r *row, now int64) error {
	if err := b.pair(r); err != nil {
		return err
	}
	b.entries.add(len(r.stored), pos(b.x.sid, r.Seq), r.ID, string(r.Kind), r.flags, r.weight, r.cum, r.size, r.sum[:], r.codec, now, r.pairs(), r.stored)
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
			var recent []place
			if c.ID == "" {
				recent = b.byName[openCall{c.Tool, c.family}]
			}
			var err error
			if at, err = b.s.openCall(b.ctx, b.t, b.x, *c, recent, b.done); err != nil {
				return err
			}
		}
		if at.seq > 0 {
			b.done[at] = true
		}
		c.Seq, c.No = at.seq, at.no
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

// flush writes what was added.
func (b *batch) flush() error { return b.entries.flush(b.ctx, b.t) }

// rows are rows of one table, by their values.
type rows struct {
	into   string
	behind string // the values
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
		if _, err := t.exec(ctx, r.into+" VALUES "+one+strings.Repeat(", "+one, n-1)+r.behind, rest[:n*r.width]...); err != nil {
			return err
		}
		rest = rest[n*r.width:]
	}
	clear(r.values)
	r.values, r.bytes = r.values[:0], 0
	return nil
}

// openCall finds the call that a result answers, besides those that are done; seq is 0 if
// there is none. Recent are calls of the same name that are not in the tables yet, oldest
// first.
func (s *Store) openCall(ctx context.Context, t *tx, x *Session, c Call, recent []place, done map[place]bool) (at place, err error) {
	found := slices.Clone(recent)
	slices.Reverse(found)
	for _, st := range slices.Backward(x.stretches(1, x.Head)) {
		some, err := s.callsIn(ctx, t, x, c, st)
		if err != nil {
			return place{}, err
		}
		found = append(found, some...)
		for _, p := range found[:min(len(found), maxLook)] {
			answered := done[p]
			if !answered {
				after, err := s.bearing(ctx, t, x, markAnswer(p), p.seq, x.Head, false, 1)
				if err != nil {
					return place{}, err
				}
				answered = len(after) > 0
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
		if len(found) > 0 {
			return at, nil
		}
	}
	return place{}, nil
}

// callsIn lists the calls of a stretch that a result may answer, the newest first.
func (s *Store) callsIn(ctx context.Context, t *tx, x *Session, c Call, st stretch) (found []place, err error) {
	seqs, err := s.bearingIn(ctx, t, x, markCall(c), st, true, maxLook)
	if err != nil {
		return nil, err
	}
	all, err := s.readKnown(ctx, t, x, st.sid, seqs)
	if err != nil {
		return nil, err
	}
	for _, e := range slices.Backward(all) {
		for _, k := range slices.Backward(e.Calls) {
			if k.ID == c.ID && k.family == c.family && (c.ID != "" || k.Tool == c.Tool) {
				found = append(found, place{e.Seq, k.No})
			}
		}
	}
	return found, nil
}
