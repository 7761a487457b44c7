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

// Fullness says how full a session is, and what is left: by what the provider has counted, if it
// passed through a proxy, else by the estimate; nil: its model, or its window, is not known. A
// session with more than cutAbove tokens beyond its last summary is summarized; zero: none is.
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
		before := 0 // of the base and the summary
		if r, err := session.request(head); err == nil {
			before, p.MaxOutput = r.Tokens(s.counter(session)), r.MaxOutputTokens()
		}
		at := p.position(session.Model, m)
		if at.Tokens == 0 {
			at.Tokens = before + int(session.cum-last.Cum)
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
		if !billed { // a window may not have read all of it, and nobody knows who has sent it
			out.Requests, out.Turns, out.Dollars = 0, 0, 0
		}
		o = &out
		return nil
	})
	return o, err
}

// request puts messages into the request around them.
func (s *Session) request(messages [][]byte) (*wire.Request, error) {
	body, err := s.body(nil, messages)
	if err != nil {
		return nil, err
	}
	return s.parse(body)
}

// grown is how what a window reads of a session grew, by the estimate.
func (s *Store) estimateGrowth(ctx context.Context, t *tx, session *Session) (fullness.Pace, error) {
	h, err := s.loadHistory(ctx, t, session, readLimitFor(session, (&WindowOptions{}).policy(session)))
	if err != nil {
		return fullness.Pace{}, err
	}
	r, err := session.request(h.messages)
	if err != nil {
		return fullness.Pace{}, nil // it is said when a window is asked for
	}
	p := fullness.Of(fullness.Question{Request: r, Model: session.Model, Counter: s.counter(session)}).Pace(r, len(r.Transcript().Messages()))
	return p, nil
}

// A paced is how a session grew that a proxy has seen, and how long the reply to its last request
// may be.
type growth struct {
	fullness.Pace
	MaxOutput int `json:"max_output,omitempty"`
}

// position is where a session stands by what the provider has counted; without Tokens if it has not.
func (p *growth) position(model string, m tokens.Model) fullness.Position {
	return fullness.Position{Tokens: p.Size, Window: m.Window, Room: m.Input(min(p.MaxOutput, m.Output)), Model: model}
}

// fullness is that of a session that a proxy has seen; nil: its window is not known, or nothing was
// counted.
func (p *growth) fullness(model string) *fullness.Outlook {
	m, known := tokens.Lookup(model)
	if !known || m.Window == 0 || p.Requests == 0 {
		return nil
	}
	o := p.Outlook(p.position(model, m))
	return &o
}

// paced reads how a session grew; the zero value if no proxy has seen it.
func (s *Store) loadGrowth(ctx context.Context, t *tx, session *Session) (p growth, err error) {
	var text string
	err = t.row(ctx, `SELECT pace FROM remembered WHERE sid = ?`, session.sid).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return p, nil
	}
	return decodeGrowth(text), err
}

// readPaced reads what was written; what cannot be read is as if it had not been counted.
func decodeGrowth(text string) (p growth) {
	if json.Unmarshal([]byte(text), &p) != nil {
		return growth{}
	}
	return p
}
