package store

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/tokens"
)

// A readLimit bounds the part of a history that is read for a window. It is larger than the window,
// so that old results can be removed instead of whole turns. Zero is no bound.
type readLimit struct {
	tokens          int64
	messages, turns int
	keep            int // messages at the end that are always read
}

// readLimitFor returns the read limit for a policy. The whole history is read without limits, for
// policies that drop from the middle or by priority, and if rules may protect old messages. A limit
// of exchanges reads everything, because it keeps all text.
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

// hasProtectingRule reports whether a rule may protect messages that are not recent.
func hasProtectingRule(p *pare.Pipeline) bool {
	return p != nil && slices.ContainsFunc(p.Rules(), func(r pare.Rule) bool { return !r.Recent })
}

// readStart returns the last entry at which reading can begin for all limits. Before is the weight
// before from.
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

// A lastEntries function lists the last n entries of its kind in a range, newest first.
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
	}, `SELECT pos FROM entries WHERE pos BETWEEN ? AND ? AND flags & 2 = 2 ORDER BY pos DESC LIMIT ?`, pos(st.owner, st.from), pos(st.owner, st.to), n)
	return seqs, err
}

// startByCount returns where the last n entries begin, moved back to the beginning of a turn.
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
		start, err := s.expandStart(ctx, t, session, seq)
		return max(start, from), err
	}
	return from, nil
}

// startByTokens moves in steps of about a quarter of the limit, so that the start stays the same
// for many requests, in every process. A larger limit never reads less: steps are powers of two, so
// the starts of larger steps are starts of smaller ones.
func (s *Store) startByTokens(ctx context.Context, t *tx, session *Session, from, before, reach int64) (int64, error) {
	if reach == 0 || session.weight-before <= reach {
		return from, nil
	}
	step := int64(1) << max(bits.Len64(uint64(reach))-3, 0)
	skip := (session.weight - before - reach) / step * step
	if skip == 0 {
		return from, nil
	}
	seq, err := s.findSeqByWeight(ctx, t, session, from, before, before+skip-1)
	if err != nil {
		return 0, err
	}
	// The entry at the boundary may be huge.
	if later := session.ranges(seq+1, session.Head); len(later) > 0 {
		seq = later[0].from
	}
	// The beginning of a turn in the previous step is preferred.
	turn, err := s.turnStartBefore(ctx, t, session, from, seq, before+skip-step)
	if err != nil || turn > 0 {
		return turn, err
	}
	start, err := s.expandStart(ctx, t, session, seq)
	return max(start, from), err
}

// findSeqByWeight returns the first entry in force that brings the weight above cum. Before is the
// weight before from. The weights of entries in force increase.
func (s *Store) findSeqByWeight(ctx context.Context, t *tx, session *Session, from, before, cum int64) (int64, error) {
	for _, st := range session.ranges(from, session.Head) {
		end, err := s.weightUpTo(ctx, t, session, st.to)
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

// searchByWeight searches a range by interpolation, and by bisection if entries differ much in
// weight. It reads the last few rows in sequence.
func (s *Store) searchByWeight(ctx context.Context, t *tx, st entryRange, before, end, cum int64) (int64, error) {
	const row, guesses = 32, 8
	lo, hi := st.from, st.to
	var past int64 // offset of the guess, so that the result is enclosed
	for try := 0; hi-lo >= row; try++ {
		mid := lo + (hi-lo)/2
		if try < guesses {
			mid = lo + int64(float64(hi-lo)*float64(cum-before)/float64(end-before)) + past
			mid = max(lo, min(mid, hi-1))
		}
		var c int64
		if err := t.row(ctx, `SELECT cum FROM entries WHERE pos = ?`, pos(st.owner, mid)).Scan(&c); err != nil {
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
	err := t.row(ctx, `SELECT pos FROM entries WHERE pos BETWEEN ? AND ? AND cum > ? ORDER BY pos LIMIT 1`, pos(st.owner, lo), pos(st.owner, hi), cum).Scan(&lo)
	return seqOf(lo), err
}

// maxTurnMessages limits the consecutive user messages of a turn that are searched.
const maxTurnMessages = 64

// turnStartBefore returns the last entry up to seq that begins a turn, or 0 if its weight is less
// than minWeight. Consecutive user messages are one turn, which a window drops as a whole.
func (s *Store) turnStartBefore(ctx context.Context, t *tx, session *Session, from, seq, minWeight int64) (int64, error) {
	last, err := s.findMarked(ctx, t, session, markTurn, from, seq, true, maxTurnMessages)
	if err != nil || len(last) == 0 {
		return 0, err
	}
	if cum, err := s.weightUpTo(ctx, t, session, last[0]); err != nil || cum < minWeight {
		return 0, err
	}
	first := last[0]
	for _, earlier := range last[1:] {
		if earlier != session.lastVisible(first-1) {
			break
		}
		first = earlier
	}
	start, err := s.expandStart(ctx, t, session, first)
	if err != nil || start != first {
		return 0, err
	}
	return start, nil
}
