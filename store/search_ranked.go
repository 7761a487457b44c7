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

// SearchRanked searches all sessions of a scope for the entries that match a question best. Any of
// its words counts, in all its English forms; rare words count more, and of equal matches the newer
// one comes first. Scores differ between the databases. Entries are indexed by the first search
// after they were appended.
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
		found, err := s.engine.rank(ctx, t, words, scope, max(maxRanked, 4*limit))
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
	maxRanked        = 200 // entries among which newer ones are preferred
	// freshness is the part of the score that old entries lose, most of it after freshnessTime.
	freshness     = 0.2
	freshnessTime = 30 * 24 * time.Hour
)

// questionWords returns the different words of a question.
func questionWords(question string) (words []string) {
	for w := range strings.FieldsSeq(fold(question[:min(len(question), 10_000)])) {
		if len(words) < maxQuestionWords && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return words
}

// A ranked entry holds words of a question. Higher scores are better.
type ranked struct {
	pos   int64
	score float64
}

// rankHits returns hits for the entries in force, best first.
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
			continue
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

// longestMatch returns the longest of the words that the text contains.
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

// Text returns the readable text of an entry in force.
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
