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

// SearchRanked looks through all sessions of a scope for the entries that are most about a question, the
// best first: any of its words counts, in any form that English gives it, rare ones count more,
// and of two that are as good the newer one comes first. What the databases make of that differs
// in its figures.
//
// The words of an entry are indexed when somebody searches, and not when it is appended.
func (s *Store) SearchRanked(ctx context.Context, scope, question string, limit int) ([]Hit, error) {
	words := questionWords(question)
	if limit <= 0 {
		limit = 10
	}
	sessions, err := s.sessions(ctx, `scope = ? AND deleted_at IS NULL ORDER BY updated_at DESC, sid DESC`, scope)
	if err != nil || len(words) == 0 || len(sessions) == 0 {
		return nil, err
	}
	if err := s.updateIndex(ctx, sessions); err != nil {
		return nil, err
	}
	var hits []Hit
	err = s.read(ctx, func(t *tx) error {
		found, err := s.eng.rank(ctx, t, words, scope, max(maxRanked, 4*limit))
		if err != nil {
			return err
		}
		hits, err = s.rankHits(ctx, t, sessions, found, words, limit)
		return err
	})
	return hits, err
}

const (
	maxQuestionWords = 24  // of a question
	maxRanked        = 200 // entries of which the newest are found
	// freshness is how much a new entry counts beside an old one that says the same, and
	// freshLife how long it takes until most of that is gone.
	freshness     = 0.2
	freshnessTime = 30 * 24 * time.Hour
)

// questionWords are the words of a question, each once.
func questionWords(question string) (words []string) {
	for w := range strings.FieldsSeq(fold(question[:min(len(question), 10_000)])) {
		if len(words) < maxQuestionWords && !slices.Contains(words, w) {
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
func (s *Store) rankHits(ctx context.Context, t *tx, sessions []*Session, found []ranked, words []string, limit int) ([]Hit, error) {
	holders := groupByOwner(sessions)
	type hit struct {
		x     *Session
		e     storedEntry
		score float64
	}
	var all []hit
	now := s.now()
	for _, f := range found {
		sid, seq := f.pos>>seqBits, seqOf(f.pos)
		var session *Session
		for session = range holders.holding(sid, seq) {
			break
		}
		if session == nil {
			continue // it was reverted, or deleted
		}
		e, err := s.entry(ctx, t, session, sid, seq)
		if err != nil {
			return nil, err
		}
		if e.Kind == KindReply {
			last, err := s.lastMessage(ctx, t, session)
			if err != nil {
				return nil, err
			}
			if seq < last {
				continue
			}
		}
		age := float64(max(now-e.At.UnixMicro(), 0)) / float64(freshnessTime.Microseconds())
		all = append(all, hit{session, e, f.score * (1 - freshness + freshness*math.Exp(-age))})
	}
	slices.SortStableFunc(all, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), b.e.At.Compare(a.e.At), cmp.Compare(b.e.Seq, a.e.Seq))
	})
	var hits []Hit
	for _, h := range all[:min(limit, len(all))] {
		if err := h.x.markDamaged(&h.e, s.openWithoutMedia(ctx, t, h.x, &h.e)); err != nil {
			return nil, err
		}
		text := textOf(h.x, h.e.Raw)
		hits = append(hits, Hit{Key: h.x.Key, Seq: h.e.Seq, ID: h.e.ID, Snippet: snippet(text, longestMatch(text, words)), Score: h.score, Also: holders.others(h.x, h.x.owner(h.e.Seq), h.e.Seq)})
	}
	return hits, nil
}

// longestIn is the longest of some words that a text has.
func longestMatch(text string, words []string) phrase {
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
		session, err := s.live(ctx, t, key, false)
		if err != nil {
			return err
		}
		seq, _, err := s.findByID(ctx, t, session, id)
		if err == nil && (seq == 0 || !session.state.visible(seq)) {
			err = fmt.Errorf("text of %s: %w: %q", key, ErrNoCursor, id)
		}
		if err != nil {
			return err
		}
		e, err := s.entry(ctx, t, session, session.owner(seq), seq)
		if err == nil {
			err = session.markDamaged(&e, s.openWithoutMedia(ctx, t, session, &e))
		}
		text = textOf(session, e.Raw)
		return err
	})
	return text, err
}
