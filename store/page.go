package store

import (
	"context"
	"fmt"
	"slices"
)

// A Page selects entries of a session.
type Page struct {
	// After and Before are ids of entries that exclude each other. The page contains the entries
	// after or before that entry. Without them, it contains the first entries, or the last ones if
	// Last is set.
	After, Before string
	Last          bool
	// Limit is the number of entries. The page has more where it would split an exchange. Zero
	// means 100.
	Limit int
}

// Entries is a page of entries.
type Entries struct {
	Entries []Entry // oldest first
	// Next and Prev are the cursors of the pages after and before. They are empty if there are
	// none.
	Next, Prev string
	Head       int64
}

// Page returns a page of the entries in force, including reverts, undos and compactions. No page
// splits an exchange. The error wraps ErrNoCursor if a cursor is not an entry in force.
func (s *Store) Page(ctx context.Context, key Key, p Page) (page Entries, err error) {
	if p.After != "" && p.Before != "" {
		return page, fmt.Errorf("page: %w: After and Before exclude each other", ErrUsage)
	}
	if p.Limit <= 0 {
		p.Limit = 100
	}
	err = s.read(ctx, func(t *tx) error {
		session, err := s.live(ctx, t, key, false)
		if err != nil {
			return err
		}
		page, err = s.page(ctx, t, session, p)
		return err
	})
	return page, err
}

func (s *Store) page(ctx context.Context, t *tx, session *Session, p Page) (Entries, error) {
	page := Entries{Head: session.Head}
	from, to := int64(1), session.Head
	backwards := p.Last
	for _, c := range []string{p.After, p.Before} {
		if c == "" {
			continue
		}
		seq, _, err := s.findByID(ctx, t, session, c)
		if err != nil {
			return page, err
		}
		if seq == 0 || !session.state.visible(seq) {
			return page, fmt.Errorf("page of %s: %w: %q", session.Key, ErrNoCursor, c)
		}
		if c == p.After {
			from = seq + 1
		} else {
			to, backwards = seq-1, true
		}
	}
	seqs := session.visibleSeqs(from, to, p.Limit, backwards)
	if len(seqs) == 0 {
		return page, nil
	}
	var err error
	first, last := seqs[0], seqs[len(seqs)-1]
	if backwards {
		if first, err = s.expandStart(ctx, t, session, first); err != nil {
			return page, err
		}
		first = max(first, from)
	} else {
		if last, err = s.expandEnd(ctx, t, session, last); err != nil {
			return page, err
		}
		last = min(last, to)
	}
	if page.Entries, err = s.entries(ctx, t, session, first, last, int(last-first)+1); err != nil {
		return page, err
	}
	if err := s.markOpen(ctx, t, session, page.Entries); err != nil {
		return page, err
	}
	if session.lastVisible(first-1) > 0 {
		page.Prev = page.Entries[0].ID
	}
	if len(session.ranges(last+1, session.Head)) > 0 {
		page.Next = page.Entries[len(page.Entries)-1].ID
	}
	return page, nil
}

// markOpen sets Open for calls without a result in force. It modifies the entries.
func (s *Store) markOpen(ctx context.Context, t *tx, session *Session, entries []Entry) error {
	type place struct {
		seq int64
		no  int
	}
	answered := make(map[place]bool)
	calls, last := 0, int64(0)
	for _, e := range entries {
		calls, last = calls+len(e.Calls), e.Seq
		for _, c := range e.Answers {
			answered[place{c.Seq, c.No}] = true
		}
	}
	if calls == 0 {
		return nil
	}
	for _, st := range session.ranges(last+1, session.Head) {
		for _, far := range []bool{false, true} {
			behind, err := s.resultsAfter(ctx, t, session, st, last+1, far)
			if err != nil {
				return err
			}
			for _, e := range behind {
				for _, c := range e.Answers {
					answered[place{c.Seq, c.No}] = true
				}
			}
		}
	}
	for _, e := range entries {
		for i := range e.Calls {
			e.Calls[i].Open = !answered[place{e.Seq, e.Calls[i].No}]
		}
	}
	return nil
}

// visibleSeqs lists the numbers of the first or last entries in force of a range, in order.
func (s *Session) visibleSeqs(from, to int64, limit int, backwards bool) (seqs []int64) {
	all := s.ranges(from, to)
	if backwards {
		slices.Reverse(all)
	}
	for _, st := range all {
		for seq := range st.to - st.from + 1 {
			if len(seqs) == limit {
				break
			}
			if backwards {
				seqs = append(seqs, st.to-seq)
			} else {
				seqs = append(seqs, st.from+seq)
			}
		}
	}
	if backwards {
		slices.Reverse(seqs)
	}
	return seqs
}

// nearAnswer is the usual maximum distance of a result from its call. Results farther away have a
// mark.
const nearAnswer = 64

// expandStart moves the beginning of a page backward until it splits no exchange.
func (s *Store) expandStart(ctx context.Context, t *tx, session *Session, seq int64) (int64, error) {
	for {
		first, err := s.findStraddling(ctx, t, session, seq, func(best, _, call int64) int64 {
			if best == 0 {
				return call
			}
			return min(best, call)
		})
		if err != nil || first == 0 {
			return seq, err
		}
		seq = first
	}
}

// expandEnd moves the end of a page forward until it splits no exchange.
func (s *Store) expandEnd(ctx context.Context, t *tx, session *Session, seq int64) (int64, error) {
	for {
		last, err := s.findStraddling(ctx, t, session, seq+1, func(best, answer, _ int64) int64 { return max(best, answer) })
		if err != nil || last == 0 {
			return seq, err
		}
		seq = last
	}
}

// resultsAfter reads the entries of a range that may answer calls before an entry: the nearest
// ones, or with far those with the mark of a distant call.
func (s *Store) resultsAfter(ctx context.Context, t *tx, session *Session, st entryRange, before int64, far bool) (all []entryInfo, err error) {
	if far {
		seqs, err := s.findMarkedIn(ctx, t, session, markFar, st, false, allEntries)
		if err != nil {
			return nil, err
		}
		return s.readEntryInfos(ctx, t, session, st.owner, seqs)
	}
	var seqs []int64
	for seq := st.from; seq <= min(st.to, before+nearAnswer); seq++ {
		seqs = append(seqs, seq)
	}
	return s.readEntryInfos(ctx, t, session, st.owner, seqs)
}

// findStraddling combines the exchanges in force whose call is before an entry and whose result is
// not. It reads only the results after the entry, so that its cost does not depend on the length of
// the history.
func (s *Store) findStraddling(ctx context.Context, t *tx, session *Session, before int64, better func(best, answer, call int64) int64) (best int64, err error) {
	for _, st := range session.ranges(before, session.Head) {
		for _, far := range []bool{false, true} {
			all, err := s.resultsAfter(ctx, t, session, st, before, far)
			if err != nil {
				return 0, err
			}
			for _, e := range all {
				for _, c := range e.Answers {
					if c.Seq > 0 && c.Seq < before && session.state.visible(c.Seq) {
						best = better(best, e.Seq, c.Seq)
					}
				}
			}
		}
	}
	return best, nil
}
