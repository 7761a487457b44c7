package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/ladder"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// WindowOptions says what a window is to be like. The zero value asks for the model's own window.
// Many goroutines may read it.
type WindowOptions struct {
	// Policy is what is done to the messages. Nil: they are repaired and made to fit the
	// window of the model. A limit that is left to a model that nobody knows is none.
	Policy *pare.Policy
	// Base takes the place of the session's own: the request around the messages.
	Base []byte
	// Model takes the place of the session's own.
	Model string
	// Head asks for the window as it was when the session had this head: a step that is
	// run again needs to remember the session and the head, not the messages. Zero: now.
	Head int64

	whole bool // pictures are read first: one of them is damaged
}

// A Window is a request body, ready to send. Many goroutines may read it.
type Window struct {
	Body []byte
	// Head is the head of the session at that time: give it to Append with the reply.
	Head int64
	// From is the first entry that was looked at, besides what is pinned.
	From int64
	// Plan tells what was done, and why.
	Plan *pare.Plan
}

// Window makes a request out of a session: summaries first, then the messages in
// force, repaired, within the limit of the policy, checked. Calls that nobody has
// answered are closed with a stub, in the body and nowhere else. Where the provider requires max_tokens
// and neither the base nor a setting has it, the body does. What a placeholder takes
// the place of comes back by [Store.Recall], unless the policy has an archive of its own. A
// rule that fails is left out, and [pare.Plan.Faults] names it.
//
// What it costs depends on the limit and not on the length of the history: entries that
// cannot be sent are not read. All are if they are lines of a transcript, which only as a
// whole tell what would be sent, and if the policy has rules that may
// protect what is old (see [pare.Rule.Recent]). The place where it begins to read is a function of the
// history that moves rarely, and then by half a window, so that the provider's cache
// is not lost at every request.
func (s *Store) Window(ctx context.Context, key Key, ask WindowOptions) (*Window, error) {
	x, h, r, p, err := s.gather(ctx, key, ask)
	if err != nil {
		return nil, err
	}
	plan, err := p.Plan(ctx, r)
	var unknown *pare.UnknownModelError
	if errors.As(err, &unknown) {
		p = unlimited(p)
		plan, err = p.Plan(ctx, r)
	}
	if small := new(pare.WindowTooSmall); errors.As(err, &small) && h.from > 1 {
		return nil, fmt.Errorf("window of %s: %w", key, s.least(ctx, key, ask, p, *small))
	}
	if err != nil {
		return nil, fmt.Errorf("window of %s: %w", key, err)
	}
	if ask.Policy == nil || ask.Policy.Archive == nil && !ask.Policy.Archived {
		err := s.shelve(ctx, x, h, r, plan.Archive())
		if errors.Is(err, ErrFull) { // what is there can be sent: then nothing is named
			unnamed := *p
			unnamed.Archived = false
			plan, err = unnamed.Plan(ctx, r)
		}
		if err != nil {
			return nil, fmt.Errorf("window of %s: archive what is removed: %w", key, err)
		}
	}
	w := &Window{Head: x.Head, From: h.from, Plan: plan}
	if w.Body, err = plan.Apply(); err != nil {
		return nil, fmt.Errorf("window of %s: %w", key, err)
	}
	if w.Body, err = s.fillBody(ctx, w.Body); badMedium(err) && !ask.whole {
		ask.whole = true
		return s.Window(ctx, key, ask)
	}
	return w, err
}

// gather reads what a window is made of, as a request that is not trimmed yet, and says by
// which policy it is to be.
func (s *Store) gather(ctx context.Context, key Key, ask WindowOptions) (x *Session, h history, r *wire.Request, p *pare.Policy, err error) {
	err = s.read(ctx, func(t *tx) (err error) {
		if x, err = s.live(ctx, t, key, false); err != nil {
			return err
		}
		x.whole = ask.whole
		if ask.Head > 0 {
			if err := s.rewind(ctx, t, x, ask.Head); err != nil {
				return err
			}
		}
		if ask.Model != "" {
			x.Model = ask.Model
		}
		p = ask.policy(x)
		if lines, read, err := s.transcript(ctx, t, x); err != nil || read != nil {
			if err == nil {
				h, err = resumed(x, lines, read)
				p = ask.policy(x) // the lines may name the model
			}
			return err
		}
		h, err = s.load(ctx, t, x, reachOf(x, p))
		return err
	})
	if err != nil {
		return nil, h, nil, nil, err
	}
	body, err := x.body(ask.Base, h.messages)
	if err == nil && ask.Model != "" {
		var d wire.Dialect
		if d, err = x.dialect(); err == nil {
			body, err = rename(d, body, ask.Model)
		}
	}
	if err == nil {
		body, err = x.bounded(body)
	}
	if err == nil {
		r, err = x.parse(body)
	}
	if err == nil && ask.Model != "" {
		err = takes(r, ask.Model)
	}
	if err != nil {
		return x, h, r, p, fmt.Errorf("window of %s: %w", key, err)
	}
	h.chill(r, p)
	return x, h, r, p, nil
}

// chill says, in the window of a policy with rules for cold moments, before which requests of a history
// the provider's cache had expired: those whose last entry came so long after that of the request before.
// The store remembers when, so every replica says the same.
func (h *history) chill(r *wire.Request, p *pare.Policy) {
	if p.Window == nil || p.Window.ColdRules == nil || p.Window.Cold != nil || len(r.Transcript().Messages()) != len(h.seqs) {
		return
	}
	w := *p.Window
	w.Cold = []int{} // not nil: there is a clock
	life := tokensx.Life(r.Model(), r.Raw())
	var before time.Time
	for _, end := range ladder.Ends(r.Transcript()) {
		var at time.Time
		if end > 0 {
			at = h.at[h.seqs[end-1]]
		}
		if !before.IsZero() && at.Sub(before) > life {
			w.Cold = append(w.Cold, end)
		}
		before = at
	}
	p.Window = &w
}

// least makes the minimum of a window that is too small one that works: for a larger limit
// more is read, and what must stay of that may need more room.
func (s *Store) least(ctx context.Context, key Key, ask WindowOptions, p *pare.Policy, small pare.WindowTooSmall) error {
	probe := *p
	probe.Sink, probe.Compact, probe.Archive, probe.Archived = nil, nil, nil, true
	ask.Policy = &probe
	for range 16 { // far more than it takes; each step is upwards
		w := *p.Window
		switch small.Unit {
		case "tokens":
			w.Tokens = small.Minimum
		case "messages":
			w.Messages = small.Minimum
		case "turns":
			w.Turns = small.Minimum
		default:
			return &small
		}
		probe.Window = &w
		_, _, r, _, err := s.gather(ctx, key, ask)
		if err != nil {
			return err
		}
		_, err = probe.Plan(ctx, r)
		more := new(pare.WindowTooSmall)
		if !errors.As(err, &more) || more.Unit != small.Unit || more.Minimum <= small.Minimum {
			break
		}
		small.Minimum = more.Minimum
	}
	return &small
}

// policy is the one to use. What it takes out can be recalled by the name in its
// placeholder, unless the caller keeps it.
func (a *WindowOptions) policy(x *Session) *pare.Policy {
	p := pare.Policy{}
	if a.Policy != nil {
		p = *a.Policy
	} else if _, known := tokens.Lookup(x.Model); known {
		p.Window = &pare.Window{ModelTokens: true}
	}
	p.Archived = p.Archived || p.Archive == nil
	p.SkipFailedRules = true // a session is not stuck for ever because a rule is
	return &p
}

// unlimited is a policy without the limit that it leaves to a model that nobody knows.
func unlimited(of *pare.Policy) *pare.Policy {
	p, w := *of, *of.Window
	w.ModelTokens, w.Low, w.LowPercent, w.ModelCache = false, 0, 0, false
	if p.Window = &w; w.Messages == 0 && w.Exchanges == 0 && w.Turns == 0 {
		p.Window, p.Rules, p.Compact = nil, nil, nil
	}
	return &p
}

// A history is what a window is made of.
type history struct {
	messages [][]byte            // as they will be sent
	seqs     []int64             // by message: its entry; 0 for those of a summary
	at       map[int64]time.Time // by entry
	from     int64
	prior    compacted
}

// load reads what of a session can be sent.
func (s *Store) load(ctx context.Context, t *tx, x *Session, r reach) (history, error) {
	h := history{from: 1, at: make(map[int64]time.Time)}
	last, c, err := s.newestSummary(ctx, t, x)
	if err != nil {
		return h, err
	}
	compacted := last.Seq > 0
	if compacted {
		for _, m := range c.Prefix {
			h.messages, h.seqs = append(h.messages, m), append(h.seqs, 0)
		}
		h.from, h.prior = last.To+1, last
	}
	from, before := h.from, last.Cum
	if stands, err := s.standing(ctx, t, x, from); err != nil {
		return h, err
	} else if stands > 0 { // the provider does not look at what is in front of it
		from = stands
		if before, err = s.cumAt(ctx, t, x, x.last(stands-1)); err != nil {
			return h, err
		}
	}
	start, err := s.start(ctx, t, x, from, before, r)
	if err != nil {
		return h, err
	}
	if start > h.from {
		if err := s.pinned(ctx, t, x, &h, from, start, compacted); err != nil {
			return h, err
		}
	}
	h.from = start
	return h, s.messages(ctx, t, x, &h, start, x.Head)
}

// standing is the last entry, from one on, that holds the provider's own compaction; 0 if
// there is none.
func (s *Store) standing(ctx context.Context, t *tx, x *Session, from int64) (seq int64, err error) {
	last, err := s.bearing(ctx, t, x, markStands, from, x.Head, true, 1)
	if len(last) > 0 {
		seq = last[0]
	}
	return seq, err
}

// messages appends the messages of a range.
func (s *Store) messages(ctx context.Context, t *tx, x *Session, h *history, from, to int64) error {
	for _, st := range x.stretches(from, to) {
		var found []scanned
		err := t.each(ctx, func(scan func(...any) error) error {
			e, err := x.scan(st.sid, scan)
			found = append(found, e)
			return err
		}, `SELECT `+entryColumns+` FROM entries WHERE pos BETWEEN ? AND ? AND kind = 'message' ORDER BY pos`, pos(st.sid, st.from), pos(st.sid, st.to))
		if err != nil {
			return err
		}
		for i := range found {
			if err := x.orMark(&found[i], s.openLazily(ctx, t, x, &found[i])); err != nil {
				return err
			}
			if found[i].Gone && i > 0 && found[i-1].Gone {
				continue // one mark for all of them
			}
			h.messages, h.seqs = append(h.messages, found[i].Raw), append(h.seqs, found[i].Seq)
			h.at[found[i].Seq] = found[i].At
		}
	}
	return nil
}

// newest is where a person spoke last, from an entry on, if that is in front of a start; beside
// results it is the exchanges, too, that they belong to. Otherwise it is a range of nothing.
func (s *Store) newest(ctx context.Context, t *tx, x *Session, from, start int64) (first, last int64, err error) {
	turns, err := s.bearing(ctx, t, x, markTurn, from, x.Head, true, 1)
	if err != nil {
		return 0, -1, err
	}
	beside, err := s.bearing(ctx, t, x, markBeside, max(from, slices.Max(append(turns, 0))), x.Head, true, 1)
	if err != nil {
		return 0, -1, err
	}
	switch {
	case len(beside) > 0 && beside[0] < start:
		if first, err = s.wholeFrom(ctx, t, x, beside[0]); err == nil {
			last, err = s.wholeTo(ctx, t, x, beside[0])
		}
		return max(first, from), min(last, start-1), err
	case len(beside) == 0 && len(turns) > 0 && turns[0] < start:
		return turns[0], turns[0], nil
	}
	return 0, -1, nil
}

// pinned appends what stays between the last summary and a start: what the system said,
// what the provider's compaction says, the task, unless the summary has it, and what a person
// said last, if the start is behind it: in a long run of tool use.
func (s *Store) pinned(ctx context.Context, t *tx, x *Session, h *history, from, start int64, task bool) error {
	stands, err := s.standing(ctx, t, x, h.from)
	if err != nil {
		return err
	}
	first, last, err := s.newest(ctx, t, x, from, start)
	if err != nil {
		return err
	}
	for _, st := range x.stretches(h.from, start-1) {
		var found []scanned
		seqs, err := s.bearingIn(ctx, t, x, markSystem, st, false, noLimit)
		if err != nil {
			return err
		}
		if !task {
			turns, err := s.bearingIn(ctx, t, x, markTurn, st, false, 1)
			if err != nil {
				return err
			}
			task = len(turns) > 0
			seqs = append(seqs, turns...)
		}
		for _, seq := range seqs {
			e, err := s.entry(ctx, t, x, st.sid, seq)
			if err != nil {
				return err
			}
			found = append(found, e)
		}
		all := []stretch{{from: first, to: last}}
		if stands >= st.from && stands <= st.to {
			whole, err := s.wholeTo(ctx, t, x, stands) // calls beside it keep their answers
			if err != nil {
				return err
			}
			all = append(all, stretch{from: stands, to: whole})
		}
		for _, part := range all {
			err := t.each(ctx, func(scan func(...any) error) error {
				e, err := x.scan(st.sid, scan)
				found = append(found, e)
				return err
			}, `SELECT `+entryColumns+` FROM entries WHERE pos BETWEEN ? AND ? AND kind = 'message'`, pos(st.sid, max(part.from, st.from)), pos(st.sid, min(part.to, st.to)))
			if err != nil {
				return err
			}
		}
		found = inOrder(found)
		for i := range found {
			if err := x.orMark(&found[i], s.openLazily(ctx, t, x, &found[i])); err != nil {
				return err
			}
			if found[i].Gone && i > 0 && found[i-1].Gone {
				continue // one mark for all of them
			}
			h.messages, h.seqs = append(h.messages, found[i].Raw), append(h.seqs, found[i].Seq)
		}
	}
	return nil
}
