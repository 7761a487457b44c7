package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
)

// checkHead returns a *ConflictError if entries were appended that the writer has to see first.
func (s *Store) checkHead(ctx context.Context, t *tx, session *Session, head Head, fresh []*row) error {
	if head.mode == anyHead || head.seq == session.Head {
		return nil
	}
	if head.seq > session.Head || head.seq < 0 {
		return &ConflictError{Key: session.Key, Expected: head.seq, Head: session.Head, Reason: "no entry has that number yet"}
	}
	missed, err := s.entries(ctx, t, session, head.seq+1, session.Head, 1000)
	if err != nil {
		return err
	}
	c := &ConflictError{Key: session.Key, Expected: head.seq, Head: session.Head, Missed: missed, Reason: "entries were appended meanwhile"}
	if head.mode == exactHead {
		return c
	}
	if int64(len(missed)) < session.Head-head.seq { // some are hidden, or there are too many
		c.Reason = "the session was reverted meanwhile, or too much was appended to compare"
		return c
	}
	if reason := findConflict(missed, fresh); reason != "" {
		c.Reason = reason
		return c
	}
	return nil
}

// findConflict returns why missed and new entries conflict, or "". They conflict if they touch the
// same exchange, or if a new entry would separate an open call from its result.
func findConflict(missed []Entry, fresh []*row) string {
	theirs := make(map[string]bool)
	open := make(map[place]Call)
	name := func(c Call) string {
		if c.ID == "" {
			return "name:" + c.Tool
		}
		return "id:" + c.ID
	}
	for _, e := range missed {
		if e.Kind == KindRevert || e.Kind == KindUndo { // compactions separate nothing
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
		if r.flags&flagHasContent == 0 {
			continue // results and entries that are not messages separate nothing
		}
		if len(open) > 0 {
			c := open[slices.MinFunc(slices.Collect(maps.Keys(open)), comparePlaces)]
			return fmt.Sprintf("%s was made meanwhile and is not answered yet: this would stand between the two", c)
		}
	}
	return ""
}

func comparePlaces(a, b place) int { return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.no, b.no)) }
