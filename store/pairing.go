package store

import (
	"context"
	"slices"
)

// A pairing links the results of new rows to their calls. Calls of the same rows are found without
// the database.
type pairing struct {
	// lookUp finds the call of a result outside of the rows. Recent lists the calls of the same
	// tool in the rows, oldest first; answered are those that the rows answer. It returns the zero
	// place if there is no such call.
	lookUp func(c Call, recent []place, answered map[place]bool) (place, error)

	byID     map[callID][]place // unanswered calls of the rows
	byName   map[callID][]place // all calls of the rows without an id, by tool
	answered map[place]bool
}

func newPairing(lookUp func(c Call, recent []place, answered map[place]bool) (place, error)) *pairing {
	return &pairing{lookUp: lookUp, byID: make(map[callID][]place), byName: make(map[callID][]place), answered: make(map[place]bool)}
}

// pairingIn returns a pairing that looks up calls in the entries in force of a session.
func (s *Store) pairingIn(ctx context.Context, t *tx, session *Session) *pairing {
	return newPairing(func(c Call, recent []place, answered map[place]bool) (place, error) {
		return s.findOpenCall(ctx, t, session, c, recent, answered)
	})
}

// link records the calls of a row and sets Seq and No of its results. A result answers the last
// open call of its id. A result without an id answers the first of the trailing open calls of its
// tool.
func (p *pairing) link(r *row) error {
	for i := range r.Calls {
		c := &r.Calls[i]
		at := place{r.Seq, c.No}
		if c.ID != "" {
			k := callID{c.ID, c.family}
			p.byID[k] = append(p.byID[k], at)
		} else {
			k := callID{c.Tool, c.family}
			p.byName[k] = append(p.byName[k], at)
		}
	}
	for i := range r.Answers {
		c := &r.Answers[i]
		at, ok := p.findRecent(c)
		if !ok {
			var recent []place
			if c.ID == "" {
				recent = p.byName[callID{c.Tool, c.family}]
			}
			var err error
			if at, err = p.lookUp(*c, recent, p.answered); err != nil {
				return err
			}
		}
		if at.seq > 0 {
			p.answered[at] = true
		}
		c.Seq, c.No = at.seq, at.no
	}
	return nil
}

// maxCallsByName limits how many calls of one tool are searched for the one that a result answers.
const maxCallsByName = 64

// findRecent finds the call of a result in the rows. It reports false if entries before the rows
// may hold the call.
func (p *pairing) findRecent(c *Call) (at place, ok bool) {
	if c.ID != "" {
		k := callID{c.ID, c.family}
		open := p.byID[k]
		if len(open) == 0 {
			return at, false
		}
		p.byID[k] = open[:len(open)-1]
		return open[len(open)-1], true
	}
	all := p.byName[callID{c.Tool, c.family}]
	for i, call := range slices.Backward(all) {
		switch answered := p.answered[call]; {
		case answered && ok: // all calls after it are open
			return at, true
		case !answered:
			at, ok = call, true
		}
		if len(all)-i == maxCallsByName {
			return at, true
		}
	}
	return at, false // the open calls may begin before the rows
}

// findOpenCall finds the call in force that a result answers, but for those in answered. It returns
// the zero place if there is none. Recent are calls of the same tool that are not written yet,
// oldest first.
func (s *Store) findOpenCall(ctx context.Context, t *tx, session *Session, c Call, recent []place, answered map[place]bool) (at place, err error) {
	found := slices.Clone(recent)
	slices.Reverse(found)
	for _, st := range slices.Backward(session.ranges(1, session.Head)) {
		some, err := s.callsIn(ctx, t, session, c, st)
		if err != nil {
			return place{}, err
		}
		found = append(found, some...)
		for _, call := range found[:min(len(found), maxCallsByName)] {
			done := answered[call]
			if !done {
				results, err := s.findMarked(ctx, t, session, markAnswer(call), call.seq, session.Head, false, 1)
				if err != nil {
					return place{}, err
				}
				done = len(results) > 0
			}
			switch {
			case done && at.seq > 0: // all calls after it are open
				return at, nil
			case done:
				continue
			}
			at = call
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

// callsIn lists the calls of a range that a result may answer, newest first.
func (s *Store) callsIn(ctx context.Context, t *tx, session *Session, c Call, st entryRange) (found []place, err error) {
	seqs, err := s.findMarkedIn(ctx, t, session, markCall(c), st, true, maxCallsByName)
	if err != nil {
		return nil, err
	}
	all, err := s.readEntryInfos(ctx, t, session, st.owner, seqs)
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
