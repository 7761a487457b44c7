package store

import (
	"context"
	"fmt"
	"slices"
)

// A Page asks for some entries of a session. Many goroutines may read it.
type Page struct {
	// After and Before are ids of entries: the page holds what stands behind the one, or
	// in front of the other, without it. At most one of them is set; none: the beginning,
	// or the end if Last is set.
	After, Before string
	Last          bool
	// Limit is how many entries a page has. It has more where an exchange would be parted
	// otherwise. Zero: 100.
	Limit int
}

// Entries is a page. Many goroutines may read it.
type Entries struct {
	Entries []Entry // oldest first
	// Next and Prev are the cursors for the pages behind and in front; empty: there is
	// nothing.
	Next, Prev string
	Head       int64
}

// Page returns a page of the entries in force, the store's own among them: reverts, undos,
// compactions. No page begins or ends inside an exchange. A cursor that names no entry in force
// is an error that wraps ErrNoCursor.
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

// markOpen marks the calls of a page that no entry in force answers, on it or behind it.
func (s *Store) markOpen(ctx context.Context, t *tx, session *Session, all []Entry) error {
	type place struct {
		seq int64
		no  int
	}
	answered := make(map[place]bool)
	calls, last := 0, int64(0)
	for _, e := range all {
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
	for _, e := range all {
		for i := range e.Calls {
			e.Calls[i].Open = !answered[place{e.Seq, e.Calls[i].No}]
		}
	}
	return nil
}

// numbers lists the numbers of the first or last entries in force of a range, in order.
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

// near is how far apart call and answer usually stand at most; others have an index
// of their own.
const nearAnswer = 64

// wholeFrom moves a boundary towards the beginning until no exchange straddles it: the
// page begins with entry seq.
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

// wholeTo moves a boundary towards the end: the page ends with entry seq.
func (s *Store) expandEnd(ctx context.Context, t *tx, session *Session, seq int64) (int64, error) {
	for {
		last, err := s.findStraddling(ctx, t, session, seq+1, func(best, answer, _ int64) int64 { return max(best, answer) })
		if err != nil || last == 0 {
			return seq, err
		}
		seq = last
	}
}

// answering reads the entries of a stretch that may answer calls in front of an entry: those
// near to it, or those that are far from their calls.
func (s *Store) resultsAfter(ctx context.Context, t *tx, session *Session, st entryRange, before int64, far bool) (all []entryInfo, err error) {
	if far {
		seqs, err := s.findMarkedIn(ctx, t, session, markFar, st, false, allEntries)
		if err != nil {
			return nil, err
		}
		return s.readEntryInfos(ctx, t, session, st.sid, seqs)
	}
	var seqs []int64
	for seq := st.from; seq <= min(st.to, before+nearAnswer); seq++ {
		seqs = append(seqs, seq)
	}
	return s.readEntryInfos(ctx, t, session, st.sid, seqs)
}

// straddle asks something of the exchanges whose call stands in front of an entry and
// whose answer is that entry or stands behind it, both in force. It reads the answers
// behind the entry that are near or far from their calls: what stands in front of it is
// not looked at, so a boundary near the end costs little in the longest history.
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
