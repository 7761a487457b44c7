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
// rule that fails is left out, and pare.Plan.Faults names it.
//
// What it costs depends on the limit and not on the length of the history: entries that
// cannot be sent are not read. All are if they are lines of a transcript, which only as a
// whole tell what would be sent, and if the policy has rules that may
// protect what is old (see pare.Rule.Recent). The place where it begins to read is a function of the
// history that moves rarely, and then by half a window, so that the provider's cache
// is not lost at every request.
func (s *Store) Window(ctx context.Context, key Key, ask WindowOptions) (*Window, error) {
	session, h, r, p, err := s.readWindow(ctx, key, ask)
	if err != nil {
		return nil, err
	}
	plan, err := p.Plan(ctx, r)
	var unknown *pare.UnknownModelError
	if errors.As(err, &unknown) {
		p = withoutModelLimit(p)
		plan, err = p.Plan(ctx, r)
	}
	if small := new(pare.WindowTooSmall); errors.As(err, &small) && h.from > 1 {
		return nil, fmt.Errorf("window of %s: %w", key, s.findMinimum(ctx, key, ask, p, *small))
	}
	if err != nil {
		return nil, fmt.Errorf("window of %s: %w", key, err)
	}
	if ask.Policy == nil || ask.Policy.Archive == nil && !ask.Policy.Archived {
		err := s.archiveRemoved(ctx, session, h, r, plan.Archive())
		if errors.Is(err, ErrFull) { // what is there can be sent: then nothing is named
			unnamed := *p
			unnamed.Archived = false
			plan, err = unnamed.Plan(ctx, r)
		}
		if err != nil {
			return nil, fmt.Errorf("window of %s: archive what is removed: %w", key, err)
		}
	}
	w := &Window{Head: session.Head, From: h.from, Plan: plan}
	if w.Body, err = plan.Apply(); err != nil {
		return nil, fmt.Errorf("window of %s: %w", key, err)
	}
	if w.Body, err = s.fillMedia(ctx, w.Body); isMediumError(err) && !ask.whole {
		ask.whole = true
		return s.Window(ctx, key, ask)
	}
	return w, err
}

// gather reads what a window is made of, as a request that is not trimmed yet, and says by
// which policy it is to be.
func (s *Store) readWindow(ctx context.Context, key Key, ask WindowOptions) (session *Session, h history, r *wire.Request, p *pare.Policy, err error) {
	err = s.read(ctx, func(t *tx) (err error) {
		if session, err = s.live(ctx, t, key, false); err != nil {
			return err
		}
		session.readMedia = ask.whole
		if ask.Head > 0 {
			if err := s.rewindTo(ctx, t, session, ask.Head); err != nil {
				return err
			}
		}
		if ask.Model != "" {
			session.Model = ask.Model
		}
		p = ask.policy(session)
		if lines, read, err := s.readTranscript(ctx, t, session); err != nil || read != nil {
			if err == nil {
				h, err = historyFromTranscript(session, lines, read)
				p = ask.policy(session) // the lines may name the model
			}
			return err
		}
		h, err = s.loadHistory(ctx, t, session, readLimitFor(session, p))
		return err
	})
	if err != nil {
		return nil, h, nil, nil, err
	}
	body, err := session.body(ask.Base, h.messages)
	if err == nil && ask.Model != "" {
		var d wire.Dialect
		if d, err = session.dialect(); err == nil {
			body, err = replaceModel(d, body, ask.Model)
		}
	}
	if err == nil {
		body, err = session.withOutputLimit(body)
	}
	if err == nil {
		r, err = session.parse(body)
	}
	if err == nil && ask.Model != "" {
		err = checkModelSpeaksDialect(r, ask.Model)
	}
	if err != nil {
		return session, h, r, p, fmt.Errorf("window of %s: %w", key, err)
	}
	h.setColdRequests(r, p)
	return session, h, r, p, nil
}

// chill says, in the window of a policy with rules for cold moments, before which requests of a history
// the provider's cache had expired: those whose last entry came so long after that of the request before.
// The store remembers when, so every replica says the same.
func (h *history) setColdRequests(r *wire.Request, p *pare.Policy) {
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
func (s *Store) findMinimum(ctx context.Context, key Key, ask WindowOptions, p *pare.Policy, small pare.WindowTooSmall) error {
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
		_, _, r, _, err := s.readWindow(ctx, key, ask)
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
func (a *WindowOptions) policy(session *Session) *pare.Policy {
	p := pare.Policy{}
	if a.Policy != nil {
		p = *a.Policy
	} else if _, known := tokens.Lookup(session.Model); known {
		p.Window = &pare.Window{ModelTokens: true}
	}
	p.Archived = p.Archived || p.Archive == nil
	p.SkipFailedRules = true // a session is not stuck for ever because a rule is
	return &p
}

// unlimited is a policy without the limit that it leaves to a model that nobody knows.
func withoutModelLimit(of *pare.Policy) *pare.Policy {
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
	prior    compactionRef
}

// load reads what of a session can be sent.
func (s *Store) loadHistory(ctx context.Context, t *tx, session *Session, r readLimit) (history, error) {
	h := history{from: 1, at: make(map[int64]time.Time)}
	last, c, err := s.newestCompaction(ctx, t, session)
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
	if stands, err := s.lastProviderCompaction(ctx, t, session, from); err != nil {
		return h, err
	} else if stands > 0 { // the provider does not look at what is in front of it
		from = stands
		if before, err = s.cumAt(ctx, t, session, session.lastVisible(stands-1)); err != nil {
			return h, err
		}
	}
	start, err := s.readStart(ctx, t, session, from, before, r)
	if err != nil {
		return h, err
	}
	if start > h.from {
		if err := s.appendPinned(ctx, t, session, &h, from, start, compacted); err != nil {
			return h, err
		}
	}
	h.from = start
	return h, s.appendMessages(ctx, t, session, &h, start, session.Head)
}

// standing is the last entry, from one on, that holds the provider's own compaction; 0 if
// there is none.
func (s *Store) lastProviderCompaction(ctx context.Context, t *tx, session *Session, from int64) (seq int64, err error) {
	last, err := s.findMarked(ctx, t, session, markProviderCompaction, from, session.Head, true, 1)
	if len(last) > 0 {
		seq = last[0]
	}
	return seq, err
}

// messages appends the messages of a range.
func (s *Store) appendMessages(ctx context.Context, t *tx, session *Session, h *history, from, to int64) error {
	for _, st := range session.ranges(from, to) {
		var found []storedEntry
		err := t.each(ctx, func(scan func(...any) error) error {
			e, err := session.scan(st.sid, scan)
			found = append(found, e)
			return err
		}, `SELECT `+entryColumns+` FROM entries WHERE pos BETWEEN ? AND ? AND kind = 'message' ORDER BY pos`, pos(st.sid, st.from), pos(st.sid, st.to))
		if err != nil {
			return err
		}
		for i := range found {
			if err := session.markDamaged(&found[i], s.openWithoutMedia(ctx, t, session, &found[i])); err != nil {
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
func (s *Store) newestUserMessage(ctx context.Context, t *tx, session *Session, from, start int64) (first, last int64, err error) {
	turns, err := s.findMarked(ctx, t, session, markTurn, from, session.Head, true, 1)
	if err != nil {
		return 0, -1, err
	}
	beside, err := s.findMarked(ctx, t, session, markWithResults, max(from, slices.Max(append(turns, 0))), session.Head, true, 1)
	if err != nil {
		return 0, -1, err
	}
	switch {
	case len(beside) > 0 && beside[0] < start:
		if first, err = s.expandStart(ctx, t, session, beside[0]); err == nil {
			last, err = s.expandEnd(ctx, t, session, beside[0])
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
func (s *Store) appendPinned(ctx context.Context, t *tx, session *Session, h *history, from, start int64, task bool) error {
	stands, err := s.lastProviderCompaction(ctx, t, session, h.from)
	if err != nil {
		return err
	}
	first, last, err := s.newestUserMessage(ctx, t, session, from, start)
	if err != nil {
		return err
	}
	for _, st := range session.ranges(h.from, start-1) {
		var found []storedEntry
		seqs, err := s.findMarkedIn(ctx, t, session, markSystem, st, false, allEntries)
		if err != nil {
			return err
		}
		if !task {
			turns, err := s.findMarkedIn(ctx, t, session, markTurn, st, false, 1)
			if err != nil {
				return err
			}
			task = len(turns) > 0
			seqs = append(seqs, turns...)
		}
		for _, seq := range seqs {
			e, err := s.entry(ctx, t, session, st.sid, seq)
			if err != nil {
				return err
			}
			found = append(found, e)
		}
		all := []entryRange{{from: first, to: last}}
		if stands >= st.from && stands <= st.to {
			whole, err := s.expandEnd(ctx, t, session, stands) // calls beside it keep their answers
			if err != nil {
				return err
			}
			all = append(all, entryRange{from: stands, to: whole})
		}
		for _, part := range all {
			err := t.each(ctx, func(scan func(...any) error) error {
				e, err := session.scan(st.sid, scan)
				found = append(found, e)
				return err
			}, `SELECT `+entryColumns+` FROM entries WHERE pos BETWEEN ? AND ? AND kind = 'message'`, pos(st.sid, max(part.from, st.from)), pos(st.sid, min(part.to, st.to)))
			if err != nil {
				return err
			}
		}
		found = sortEntries(found)
		for i := range found {
			if err := session.markDamaged(&found[i], s.openWithoutMedia(ctx, t, session, &found[i])); err != nil {
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
