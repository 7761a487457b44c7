package store

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/tokens"
)

// A reach is how much of a history is worth reading for a window: more than can be sent,
// so that old results can be cleared in the place of whole turns. Zero is no bound.
type readLimit struct {
	tokens          int64
	messages, turns int
	keep            int // messages at the end that are read in any case
}

// reachOf is that of a policy. One without limits sends everything, and one that lets
// go of the middle, or of what ranks lowest, has to see everything. A limit of exchanges
// lets go of calls and results alone: what was said is sent, all of it. What rules protect
// is sent, too, however old it is.
func readLimitFor(session *Session, p *pare.Policy) (r readLimit) {
	w := p.Window
	if p.Off || w == nil || w.MiddleOut || w.Priority != nil || hasProtectingRule(p.Rules) || hasProtectingRule(w.Rules) {
		return r
	}
	limit := w.Tokens
	if limit == 0 && w.ModelTokens {
		if m, known := tokens.Lookup(session.Model); known {
			limit = m.Window
		}
	}
	return readLimit{tokens: 2 * int64(limit), messages: 2 * w.Messages, turns: w.Turns, keep: w.MinKeep}
}

// protects reports whether rules may protect anything but what is recent.
func hasProtectingRule(p *pare.Pipeline) bool {
	return p != nil && slices.ContainsFunc(p.Rules(), func(r pare.Rule) bool { return !r.Recent })
}

// start is where reading begins, from an entry on, in front of which lies a weight: the
// last place that every limit allows.
func (s *Store) readStart(ctx context.Context, t *tx, session *Session, from, before int64, r readLimit) (int64, error) {
	start := from
	for _, bound := range []func() (int64, error){
		func() (int64, error) { return s.startByTokens(ctx, t, session, from, before, r.tokens) },
		func() (int64, error) { return s.startByCount(ctx, t, session, from, r.messages, s.lastMessagesIn) },
		func() (int64, error) { return s.startByCount(ctx, t, session, from, r.turns, s.lastTurnsIn) },
	} {
		at, err := bound()
		if err != nil {
			return 0, err
		}
		start = max(start, at)
	}
	if r.keep == 0 || start == from {
		return start, nil
	}
	keep, err := s.startByCount(ctx, t, session, from, r.keep, s.lastMessagesIn)
	return min(start, keep), err
}

// A lister lists the last n entries of a stretch that it is for, the newest first.
type lastEntries func(ctx context.Context, t *tx, session *Session, st entryRange, n int) ([]int64, error)

func (s *Store) lastTurnsIn(ctx context.Context, t *tx, session *Session, st entryRange, n int) ([]int64, error) {
	return s.findMarkedIn(ctx, t, session, markTurn, st, true, n)
}

func (s *Store) lastMessagesIn(ctx context.Context, t *tx, session *Session, st entryRange, n int) (seqs []int64, err error) {
	err = t.each(ctx, func(scan func(...any) error) error {
		var at int64
		err := scan(&at)
		seqs = append(seqs, seqOf(at))
		return err
	}, `SELECT pos FROM entries WHERE pos BETWEEN ? AND ? AND flags & 2 = 2 ORDER BY pos DESC LIMIT ?`, pos(st.sid, st.from), pos(st.sid, st.to), n)
	return seqs, err
}

// startByCount is where the last n entries of a lister begin, moved to the beginning of a
// turn. It costs as much as there are entries in these n.
func (s *Store) startByCount(ctx context.Context, t *tx, session *Session, from int64, n int, last lastEntries) (int64, error) {
	if n == 0 {
		return from, nil
	}
	list := session.ranges(from, session.Head)
	for i := len(list) - 1; i >= 0; i-- {
		some, err := last(ctx, t, session, list[i], n)
		if err != nil {
			return 0, err
		}
		if n -= len(some); n > 0 {
			continue
		}
		seq := some[len(some)-1]
		turns, err := s.lastTurns(ctx, t, session, seq, 1)
		if err != nil {
			return 0, err
		}
		if len(turns) > 0 && turns[0] >= from {
			seq = turns[0]
		}
		whole, err := s.expandStart(ctx, t, session, seq)
		return max(whole, from), err
	}
	return from, nil
}

// startByTokens goes by the weight of the entries and moves in steps of about a quarter of what
// may be read, so it stays where it is for many requests, in every process.
//
// More may be read with a larger reach, never less: a step is a power of two, so the places of
// larger steps are places of smaller ones, and both the place and the turn are looked for in front
// of where the reach ends.
func (s *Store) startByTokens(ctx context.Context, t *tx, session *Session, from, before, reach int64) (int64, error) {
	if reach == 0 || session.cum-before <= reach {
		return from, nil
	}
	step := int64(1) << max(bits.Len64(uint64(reach))-3, 0)
	skip := (session.cum - before - reach) / step * step
	if skip == 0 {
		return from, nil
	}
	seq, err := s.findSeqByWeight(ctx, t, session, from, before, before+skip-1)
	if err != nil {
		return 0, err
	}
	if behind := session.ranges(seq+1, session.Head); len(behind) > 0 {
		seq = behind[0].from // what straddles the place may be huge
	}
	// A turn is the best beginning, if there is one in the step before.
	turn, err := s.turnStartBefore(ctx, t, session, from, seq, before+skip-step)
	if err != nil || turn > 0 {
		return turn, err
	}
	whole, err := s.expandStart(ctx, t, session, seq)
	return max(whole, from), err
}

// seqAt is the first entry in force that a weight is reached with, from one on in front of
// which lies a weight. The weights of the entries in force rise, so it can be searched for.
func (s *Store) findSeqByWeight(ctx context.Context, t *tx, session *Session, from, before, cum int64) (int64, error) {
	for _, st := range session.ranges(from, session.Head) {
		end, err := s.cumAt(ctx, t, session, st.to)
		if err != nil {
			return 0, err
		}
		if end > cum {
			return s.searchByWeight(ctx, t, st, before, end, cum)
		}
		before = end
	}
	return session.Head, nil
}

// seqWithin searches a stretch in front of which lies a weight, and which ends with another
// one. Entries weigh about the same in the long run, so that a few guesses are enough
// however many there are; where they do not, it halves. The last few are read in a row.
func (s *Store) searchByWeight(ctx context.Context, t *tx, st entryRange, before, end, cum int64) (int64, error) {
	const row, guesses = 32, 8
	lo, hi := st.from, st.to
	var past int64 // by how much to guess past what is likely, so that it lies between two guesses
	for try := 0; hi-lo >= row; try++ {
		mid := lo + (hi-lo)/2
		if try < guesses {
			mid = lo + int64(float64(hi-lo)*float64(cum-before)/float64(end-before)) + past
			mid = max(lo, min(mid, hi-1))
		}
		var c int64
		if err := t.row(ctx, `SELECT cum FROM entries WHERE pos = ?`, pos(st.sid, mid)).Scan(&c); err != nil {
			return 0, err
		}
		if c > cum {
			hi, end = mid, c
		} else {
			lo, before = mid+1, c
		}
		past = int64(math.Sqrt(float64(hi - lo)))
		if c > cum {
			past = -past
		}
	}
	err := t.row(ctx, `SELECT pos FROM entries WHERE pos BETWEEN ? AND ? AND cum > ? ORDER BY pos LIMIT 1`, pos(st.sid, lo), pos(st.sid, hi), cum).Scan(&lo)
	return seqOf(lo), err
}

// mostInTurn bounds how many messages that a person says one after the other are looked for.
const maxTurnMessages = 64

// lastTurn is the last entry, from one on up to seq, with which a person begins a turn, if it is
// behind a weight; 0 otherwise. Messages in a row are one turn, which a window drops as a whole.
func (s *Store) turnStartBefore(ctx context.Context, t *tx, session *Session, from, seq, behind int64) (int64, error) {
	last, err := s.findMarked(ctx, t, session, markTurn, from, seq, true, maxTurnMessages)
	if err != nil || len(last) == 0 {
		return 0, err
	}
	if cum, err := s.cumAt(ctx, t, session, last[0]); err != nil || cum < behind {
		return 0, err
	}
	first := last[0]
	for _, earlier := range last[1:] {
		if earlier != session.lastVisible(first-1) {
			break
		}
		first = earlier
	}
	whole, err := s.expandStart(ctx, t, session, first)
	if err != nil || whole != first {
		return 0, err // an exchange that is still running straddles it
	}
	return whole, nil
}
