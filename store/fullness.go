package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// Fullness returns how full the window of a session is. The numbers come from the provider if a
// proxy has recorded the session, and from the estimator otherwise. It returns nil if the model or
// its window is unknown. If cutAbove is set, the session is compacted when it has more tokens after
// its last summary.
func (s *Store) Fullness(ctx context.Context, key Key, cutAbove int64) (o *fullness.Outlook, err error) {
	err = s.read(ctx, func(t *tx) error {
		session, err := s.live(ctx, t, key, false)
		if err != nil {
			return err
		}
		m, known := tokens.Lookup(session.Model)
		if !known || m.Window == 0 || session.Dialect == "" {
			return nil
		}
		p, err := s.loadGrowth(ctx, t, session)
		if err != nil {
			return err
		}
		last, c, err := s.newestCompaction(ctx, t, session)
		if err != nil {
			return err
		}
		var head [][]byte
		for _, m := range c.Prefix {
			head = append(head, m)
		}
		before := 0 // tokens of the base and the summary
		if r, err := session.request(head); err == nil {
			before, p.MaxOutput = r.Tokens(s.counter(session)), r.MaxOutputTokens()
		}
		at := p.position(session.Model, m)
		if at.Tokens == 0 {
			at.Tokens = before + int(session.weight-last.Weight)
		}
		if cutAbove > 0 {
			at.CutAt = before + int(cutAbove)
		}
		billed := p.Requests > 0
		if !billed {
			if p.Pace, err = s.estimateGrowth(ctx, t, session); err != nil {
				return err
			}
		}
		out := p.Outlook(at)
		if !billed {
			out.Requests, out.Turns, out.Dollars = 0, 0, 0
		}
		o = &out
		return nil
	})
	return o, err
}

// request returns messages as a request of the session.
func (s *Session) request(messages [][]byte) (*wire.Request, error) {
	body, err := s.body(nil, messages)
	if err != nil {
		return nil, err
	}
	return s.parse(body)
}

// estimateGrowth estimates the growth of the part that windows read.
func (s *Store) estimateGrowth(ctx context.Context, t *tx, session *Session) (fullness.Pace, error) {
	h, err := s.loadHistory(ctx, t, session, readLimitFor(session, (&WindowOptions{}).policy(session)))
	if err != nil {
		return fullness.Pace{}, err
	}
	r, err := session.request(h.messages)
	if err != nil {
		return fullness.Pace{}, nil // a window reports the error
	}
	p := fullness.Of(fullness.Question{Request: r, Model: session.Model, Counter: s.counter(session)}).Pace(r, len(r.Transcript().Messages()))
	return p, nil
}

// A growth is the growth of a recorded session, and the maximum length of the reply to its last
// request.
type growth struct {
	fullness.Pace
	MaxOutput int `json:"max_output,omitempty"`
}

// position returns the position in the window according to the provider. Tokens is 0 if it is
// unknown.
func (p *growth) position(model string, m tokens.Model) fullness.Position {
	return fullness.Position{Tokens: p.Size, Window: m.Window, Room: m.Input(min(p.MaxOutput, m.Output)), Model: model}
}

// fullness returns nil if the window or the number of tokens is unknown.
func (p *growth) fullness(model string) *fullness.Outlook {
	m, known := tokens.Lookup(model)
	if !known || m.Window == 0 || p.Requests == 0 {
		return nil
	}
	o := p.Outlook(p.position(model, m))
	return &o
}

// loadGrowth reads the growth of a session. It returns the zero value for sessions that no proxy
// has recorded.
func (s *Store) loadGrowth(ctx context.Context, t *tx, session *Session) (p growth, err error) {
	var text string
	err = t.row(ctx, `SELECT pace FROM remembered WHERE sid = ?`, session.sid).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return p, nil
	}
	return decodeGrowth(text), err
}

// decodeGrowth returns the zero value for text that cannot be read.
func decodeGrowth(text string) (p growth) {
	if json.Unmarshal([]byte(text), &p) != nil {
		return growth{}
	}
	return p
}
