package store

import (
	"context"

	"github.com/pare-llm/pare/tokens"
)

// A fullness is how much of the window of its model a session takes.
type fullness struct {
	// Tokens is what a request with all that is in force would have, estimated: the base, the last
	// summary and what stands behind it.
	Tokens int64   `json:"tokens"`
	Window int     `json:"window"`
	Share  float64 `json:"share"`
	// TurnsLeft is how many turns like the last ones there is room for; nil: there was none yet.
	TurnsLeft *int64 `json:"turns_left,omitempty"`
}

// paceTurns is how many turns at the end tell the pace.
const paceTurns = 10

// fullness says how full a session is; nil: its model, or its window, is not known. It goes by
// the weights of the entries, and reads none but the last summary.
func (s *Store) fullness(ctx context.Context, key Key) (f *fullness, err error) {
	err = s.read(ctx, func(t *tx) error {
		x, err := s.live(ctx, t, key, false)
		if err != nil {
			return err
		}
		m, known := tokens.Lookup(x.Model)
		if !known || m.Window == 0 || x.Dialect == "" {
			return nil
		}
		last, c, err := s.newestSummary(ctx, t, x)
		if err != nil {
			return err
		}
		var head [][]byte
		for _, m := range c.Prefix {
			head = append(head, m)
		}
		f = &fullness{Tokens: x.cum - last.Cum, Window: m.Window}
		if body, err := x.body(nil, head); err == nil {
			if r, err := x.parse(body); err == nil {
				f.Tokens += int64(r.Tokens(s.counter(x)))
			}
		}
		f.Share = float64(f.Tokens) / float64(f.Window)
		turns, err := s.bearing(ctx, t, x, markTurn, last.To+1, x.Head, true, paceTurns)
		if err != nil || len(turns) == 0 {
			return err
		}
		before, err := s.cumAt(ctx, t, x, x.last(turns[len(turns)-1]-1))
		if err != nil {
			return err
		}
		if each := (x.cum - before) / int64(len(turns)); each > 0 {
			left := max(0, int64(f.Window)-f.Tokens) / each
			f.TurnsLeft = &left
		}
		return nil
	})
	return f, err
}
