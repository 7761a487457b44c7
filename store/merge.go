package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// Merge appends the entries in force of one session to another one of the same scope
// and dialect, all or none. Entries whose id is taken in the other session get a new
// one, made from the old; the exchanges of both stay whole, since entries are added in
// order at the end. A merge that is repeated changes nothing. It returns how many entries
// were added.
func (s *Store) Merge(ctx context.Context, from, into Key) (int, error) {
	if from == into {
		return 0, fmt.Errorf("merge: %w: a session cannot be merged into itself", errUsage)
	}
	var (
		x, y  *Session
		added int
	)
	err := s.write(ctx, func(t *tx) (err error) {
		// Locks are taken in one order, so that two merges cannot wait for each other.
		first, second := from, into
		if second.String() < first.String() {
			first, second = second, first
		}
		a, err := s.live(ctx, t, first, true)
		if err != nil {
			return err
		}
		b, err := s.live(ctx, t, second, true)
		if err != nil {
			return err
		}
		if x, y = a, b; first != from {
			x, y = b, a
		}
		if x.Dialect != "" && y.Dialect != "" && x.Dialect != y.Dialect {
			return fmt.Errorf("%w: %s is %s, %s is %s", errUsage, from, x.Dialect, into, y.Dialect)
		}
		all, err := s.entries(ctx, t, x, 1, x.Head, int(x.Head))
		if err != nil {
			return err
		}
		var list []Entry
		for _, e := range all {
			if e.Kind.control() {
				continue
			}
			id, err := s.mergedID(ctx, t, x, y, e)
			if err != nil {
				return err
			}
			if id != "" {
				list = append(list, Entry{ID: id, Kind: e.Kind, Raw: e.Raw})
			}
		}
		done, err := s.append(ctx, t, y, Anywhere, list)
		added = len(list) - done.Replayed
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("merge %s into %s: %w", from, into, err)
	}
	s.watch.wake(y.sid)
	s.emit(EventMerged, Happened{Session: into, From: &from, Head: y.Head, Entries: added})
	return added, nil
}

// mergedID is the id for an entry in another session; "" if it is there already. The
// sessions may share it, or a merge before this one has brought it.
func (s *Store) mergedID(ctx context.Context, t *tx, x, y *Session, e Entry) (string, error) {
	if x.owner(e.Seq) == y.owner(e.Seq) && e.Seq <= y.Head && y.state.visible(e.Seq) {
		return "", nil
	}
	sum := sumOf(e.Raw)
	id := e.ID
	for n := 0; ; n++ {
		seq, old, err := s.byID(ctx, t, y, id)
		switch {
		case err != nil:
			return "", err
		case seq == 0:
			return id, nil
		case string(old) == string(sum[:]) && y.state.visible(seq):
			return "", nil
		}
		id = e.ID + "~" + strconv.FormatInt(x.sid, 36)
		if n > 0 {
			id += "." + strconv.Itoa(n)
		}
	}
}

// An Export says which part of a session to hand out; the zero value is all of it.
type Export struct {
	LastTurns int // the last so many turns
	FromTurn  int // from this turn on, the first is 1
	// Kinds besides messages are handed out as well.
	All bool
}

// Export hands the entries in force to a function, oldest first. It stops at the first
// error.
func (s *Store) Export(ctx context.Context, key Key, o Export, f func(Entry) error) error {
	if o.LastTurns > 0 && o.FromTurn > 0 {
		return errors.New("export: LastTurns and FromTurn exclude each other")
	}
	var from int64 = 1
	head := int64(-1)
	for {
		var all []Entry
		err := s.read(ctx, func(t *tx) error {
			x, err := s.live(ctx, t, key, false)
			if err != nil {
				return err
			}
			if head < 0 { // what is appended from here on is not handed out
				head = x.Head
				if from, err = s.exportFrom(ctx, t, x, o); err != nil {
					return err
				}
			}
			all, err = s.entries(ctx, t, x, from, min(head, x.Head), 256)
			return err
		})
		if err != nil {
			return fmt.Errorf("export %s: %w", key, err)
		}
		for _, e := range all {
			from = e.Seq + 1
			if e.Kind.control() || e.Kind != KindMessage && !o.All {
				continue
			}
			if err := f(e); err != nil {
				return err
			}
		}
		if len(all) == 0 {
			return nil
		}
	}
}

func (s *Store) exportFrom(ctx context.Context, t *tx, x *Session, o Export) (int64, error) {
	switch {
	case o.LastTurns > 0:
		turns, err := s.turns(ctx, t, x, x.Head, o.LastTurns)
		if err != nil || len(turns) < o.LastTurns {
			return 1, err
		}
		return s.wholeFrom(ctx, t, x, turns[len(turns)-1])
	case o.FromTurn > 0:
		n := o.FromTurn
		for _, st := range x.stretches(1, x.Head) {
			var seq int64
			err := t.each(ctx, func(scan func(...any) error) error {
				n--
				if err := scan(&seq); err != nil || n > 0 {
					return err
				}
				return errStop
			}, `SELECT seq FROM entries WHERE sid = ? AND seq BETWEEN ? AND ? AND flags & 1 = 1 ORDER BY seq LIMIT ?`, st.sid, st.from, st.to, n)
			if errors.Is(err, errStop) {
				return s.wholeFrom(ctx, t, x, seq)
			}
			if err != nil {
				return 0, err
			}
		}
		return 0, fmt.Errorf("there are only %d turns", o.FromTurn-n)
	}
	return 1, nil
}
