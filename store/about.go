package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// About looks through all sessions of a scope for the entries that are most about a question, the
// best first: any of its words counts, in any form that English gives it, rare ones count more,
// and of two that are as good the newer one comes first. What the databases make of that differs
// in its figures.
//
// The words of an entry are indexed when somebody searches, and not when it is appended.
func (s *Store) About(ctx context.Context, scope, question string, limit int) ([]Hit, error) {
	words := questionWords(question)
	if limit <= 0 {
		limit = 10
	}
	sessions, err := s.sessions(ctx, `scope = ? AND deleted_at IS NULL ORDER BY updated_at DESC, sid DESC`, scope)
	if err != nil || len(words) == 0 || len(sessions) == 0 {
		return nil, err
	}
	if err := s.catchUp(ctx, sessions); err != nil {
		return nil, err
	}
	var hits []Hit
	err = s.read(ctx, func(t *tx) error {
		found, err := s.eng.rank(ctx, t, words, scope, max(mostRanked, 4*limit))
		if err != nil {
			return err
		}
		hits, err = s.freshest(ctx, t, sessions, found, words, limit)
		return err
	})
	return hits, err
}

const (
	mostWords  = 24  // of a question
	mostRanked = 200 // entries of which the newest are found
	// freshness is how much a new entry counts beside an old one that says the same, and
	// freshLife how long it takes until most of that is gone.
	freshness = 0.2
	freshLife = 30 * 24 * time.Hour
)

// questionWords are the words of a question, each once.
func questionWords(question string) (words []string) {
	for w := range strings.FieldsSeq(fold(question[:min(len(question), 10_000)])) {
		if len(words) < mostWords && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return words
}

// A ranked entry is one that has words of a question.
type ranked struct {
	pos   int64
	score float64 // the larger the better
}

// freshest makes hits of entries that are in force, the best first.
func (s *Store) freshest(ctx context.Context, t *tx, sessions []*Session, found []ranked, words []string, limit int) ([]Hit, error) {
	holders := holdersOf(sessions)
	type hit struct {
		x     *Session
		e     scanned
		score float64
	}
	var all []hit
	now := s.now()
	for _, f := range found {
		sid, seq := f.pos>>seqBits, seqOf(f.pos)
		var x *Session
		for x = range holders.of(sid, seq) {
			break
		}
		if x == nil {
			continue // it was reverted, or deleted
		}
		e, err := s.entry(ctx, t, x, sid, seq)
		if err != nil {
			return nil, err
		}
		if e.Kind == KindReply {
			last, err := s.lastMessage(ctx, t, x)
			if err != nil {
				return nil, err
			}
			if seq < last {
				continue
			}
		}
		age := float64(max(now-e.At.UnixMicro(), 0)) / float64(freshLife.Microseconds())
		all = append(all, hit{x, e, f.score * (1 - freshness + freshness*math.Exp(-age))})
	}
	slices.SortStableFunc(all, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), b.e.At.Compare(a.e.At), cmp.Compare(b.e.Seq, a.e.Seq))
	})
	var hits []Hit
	for _, h := range all[:min(limit, len(all))] {
		if err := h.x.orMark(&h.e, s.openLazily(ctx, t, h.x, &h.e)); err != nil {
			return nil, err
		}
		text := textOf(h.x, h.e.Raw)
		hits = append(hits, Hit{Key: h.x.Key, Seq: h.e.Seq, ID: h.e.ID, Snippet: snippet(text, longestIn(text, words)), Score: h.score, Also: holders.beside(h.x, h.x.owner(h.e.Seq), h.e.Seq)})
	}
	return hits, nil
}

// longestIn is the longest of some words that a text has.
func longestIn(text string, words []string) phrase {
	folded := " " + fold(text) + " "
	best := ""
	for _, w := range words {
		if len(w) > len(best) && strings.Contains(folded, " "+w+" ") {
			best = w
		}
	}
	return phrase{best, best}
}

// Text is everything that can be read in an entry in force.
func (s *Store) Text(ctx context.Context, key Key, id string) (text string, err error) {
	err = s.read(ctx, func(t *tx) error {
		x, err := s.live(ctx, t, key, false)
		if err != nil {
			return err
		}
		seq, _, err := s.byID(ctx, t, x, id)
		if err == nil && (seq == 0 || !x.state.visible(seq)) {
			err = fmt.Errorf("text of %s: %w: %q", key, ErrNoCursor, id)
		}
		if err != nil {
			return err
		}
		e, err := s.entry(ctx, t, x, x.owner(seq), seq)
		if err == nil {
			err = x.orMark(&e, s.openLazily(ctx, t, x, &e))
		}
		text = textOf(x, e.Raw)
		return err
	})
	return text, err
}
