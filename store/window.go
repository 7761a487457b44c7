package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// WindowOptions configures a window. In the zero value, the window is that of the model.
type WindowOptions struct {
	// Policy trims the messages. Nil means to repair them and to fit the window of the model. If
	// the limit is that of the model and the model is unknown, there is no limit.
	Policy *pare.Policy
	// Base replaces the base of the session: the request around the messages.
	Base []byte
	// Model replaces the model of the session.
	Model string
	// Head selects the window at an earlier head, so that a step can be repeated from the session
	// and the head. Zero means the current head.
	Head int64

	readMedia bool // read media first, because one is damaged
}

// A Window is a request body that is ready to send.
type Window struct {
	Body []byte
	// Head is the head of the session. Pass it to Append with the reply.
	Head int64
	// From is the first entry that was read, apart from pinned ones.
	From int64
	// Plan has the decisions about the messages.
	Plan *pare.Plan
}

// Window returns a request for a session: summaries, then the messages in force, repaired and
// within the limit of the policy. Calls without a result are closed with a stub, in the body only.
// If the provider requires max_tokens and neither the base nor the settings have it, the body gets
// a default. [Store.Recall] returns the originals of placeholders, unless the policy has an archive
// of its own. A failed rule is skipped; pare.Plan.Faults names it.
//
// The cost depends on the limit and not on the length of the history, because entries before the
// limit are not read. The whole history is read for transcripts and for rules that may protect old
// messages (see pare.Rule.Recent). The first entry that is read changes rarely, and then by half
// a window, so that most requests keep the provider's cache.
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
		if errors.Is(err, ErrFull) { // the window can be sent without handles
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
	if w.Body, err = s.fillMedia(ctx, w.Body); isMediumError(err) && !ask.readMedia {
		ask.readMedia = true
		return s.Window(ctx, key, ask)
	}
	return w, err
}

// readWindow reads the history for a window and returns it as an untrimmed request, with the policy
// for it.
func (s *Store) readWindow(ctx context.Context, key Key, ask WindowOptions) (session *Session, h history, r *wire.Request, p *pare.Policy, err error) {
	err = s.read(ctx, func(t *tx) (err error) {
		if session, err = s.live(ctx, t, key, false); err != nil {
			return err
		}
		session.readMedia = ask.readMedia
		if ask.Head > 0 {
			if err := s.rewindTo(ctx, t, session, ask.Head); err != nil {
				return err
			}
		}
		if ask.Model != "" {
			session.Model = ask.Model
		}
		p = ask.policy(session) // the lines may name the model
		if lines, read, err := s.readTranscript(ctx, t, session); err != nil || read != nil {
			if err == nil {
				h, err = historyFromTranscript(session, lines, read)
				p = ask.policy(session)
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

// setColdRequests sets the requests of a history before which the provider's cache had expired, for
// policies with rules for cold requests. It uses the times of entries, so that all replicas agree.
// It modifies the policy.
func (h *history) setColdRequests(r *wire.Request, p *pare.Policy) {
	if p.Window == nil || p.Window.ColdRules == nil || p.Window.Cold != nil || len(r.Transcript().Messages()) != len(h.seqs) {
		return
	}
	w := *p.Window
	w.Cold = []int{} // not nil: the times are known
	life := tokensx.Life(r.Model(), r.Raw())
	var before time.Time
	for _, end := range planner.RequestEnds(r.Transcript()) {
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

// findMinimum returns the error of a window that is too small with a minimum that works: a larger
// limit reads more messages, which may need more room.
func (s *Store) findMinimum(ctx context.Context, key Key, ask WindowOptions, p *pare.Policy, small pare.WindowTooSmall) error {
	probe := *p
	probe.Sink, probe.Compact, probe.Archive, probe.Archived = nil, nil, nil, true
	ask.Policy = &probe
	for range 16 { // each step increases the minimum; few are needed
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

// policy returns the policy for a session. It archives removed parts, unless the caller does, and
// skips failed rules, so that a rule cannot block a session.
func (a *WindowOptions) policy(session *Session) *pare.Policy {
	p := pare.Policy{}
	if a.Policy != nil {
		p = *a.Policy
	} else if _, known := tokens.Lookup(session.Model); known {
		p.Window = &pare.Window{ModelTokens: true}
	}
	p.Archived = p.Archived || p.Archive == nil
	p.SkipFailedRules = true
	return &p
}

// withoutModelLimit returns the policy without the limit of an unknown model.
func withoutModelLimit(base *pare.Policy) *pare.Policy {
	p, w := *base, *base.Window
	w.ModelTokens, w.Low, w.LowPercent, w.ModelCache = false, 0, 0, false
	if p.Window = &w; w.Messages == 0 && w.Exchanges == 0 && w.Turns == 0 {
		p.Window, p.Rules, p.Compact = nil, nil, nil
	}
	return &p
}

// A history is the part of a session that a window uses.
type history struct {
	messages [][]byte
	seqs     []int64             // by message: its entry; 0 for a summary
	at       map[int64]time.Time // by entry
	from     int64
	prior    compactionRef
}

// loadHistory reads the part of a session that can be sent.
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
	from, before := h.from, last.Weight
	if compaction, err := s.lastProviderCompaction(ctx, t, session, from); err != nil {
		return h, err
	} else if compaction > 0 { // the provider ignores everything before it
		from = compaction
		if before, err = s.weightUpTo(ctx, t, session, session.lastVisible(compaction-1)); err != nil {
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

// lastProviderCompaction returns the last entry from a number on with the provider's own
// compaction, or 0.
func (s *Store) lastProviderCompaction(ctx context.Context, t *tx, session *Session, from int64) (seq int64, err error) {
	last, err := s.findMarked(ctx, t, session, markProviderCompaction, from, session.Head, true, 1)
	if len(last) > 0 {
		seq = last[0]
	}
	return seq, err
}

// appendMessages appends the messages of a range to a history.
func (s *Store) appendMessages(ctx context.Context, t *tx, session *Session, h *history, from, to int64) error {
	for _, st := range session.ranges(from, to) {
		var found []storedEntry
		err := t.each(ctx, func(scan func(...any) error) error {
			e, err := session.scan(st.owner, scan)
			found = append(found, e)
			return err
		}, `SELECT `+entryColumns+` FROM entries WHERE pos BETWEEN ? AND ? AND kind = 'message' ORDER BY pos`, pos(st.owner, st.from), pos(st.owner, st.to))
		if err != nil {
			return err
		}
		for i := range found {
			if err := session.markDamaged(&found[i], s.openWithoutMedia(ctx, t, session, &found[i])); err != nil {
				return err
			}
			if found[i].Gone && i > 0 && found[i-1].Gone {
				continue
			}
			h.messages, h.seqs = append(h.messages, found[i].Raw), append(h.seqs, found[i].Seq)
			h.at[found[i].Seq] = found[i].At
		}
	}
	return nil
}

// newestUserMessage returns the range of the last words of the user if they are before start,
// including the exchanges of results in the same message. Otherwise it returns an empty range.
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

// appendPinned appends messages between the last summary and start that are always sent: system
// messages, the provider's compaction, the task unless a summary includes it, and the last words of
// the user.
func (s *Store) appendPinned(ctx context.Context, t *tx, session *Session, h *history, from, start int64, task bool) error {
	compaction, err := s.lastProviderCompaction(ctx, t, session, h.from)
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
			e, err := s.entry(ctx, t, session, st.owner, seq)
			if err != nil {
				return err
			}
			found = append(found, e)
		}
		all := []entryRange{{from: first, to: last}}
		if compaction >= st.from && compaction <= st.to {
			end, err := s.expandEnd(ctx, t, session, compaction) // calls next to it keep their results
			if err != nil {
				return err
			}
			all = append(all, entryRange{from: compaction, to: end})
		}
		for _, part := range all {
			err := t.each(ctx, func(scan func(...any) error) error {
				e, err := session.scan(st.owner, scan)
				found = append(found, e)
				return err
			}, `SELECT `+entryColumns+` FROM entries WHERE pos BETWEEN ? AND ? AND kind = 'message'`, pos(st.owner, max(part.from, st.from)), pos(st.owner, min(part.to, st.to)))
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
				continue
			}
			h.messages, h.seqs = append(h.messages, found[i].Raw), append(h.seqs, found[i].Seq)
		}
	}
	return nil
}
