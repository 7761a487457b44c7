package storehttp

import (
	"fmt"

	"github.com/pare-llm/pare"
)

// Limits are the limits of one window. They replace those of the policy. Nil fields are not set.
type Limits struct {
	MaxTokens    *int `json:"max_tokens"`
	MaxMessages  *int `json:"max_messages"`
	MaxExchanges *int `json:"max_exchanges"`
	MaxTurns     *int `json:"max_turns"`
	MinKeep      *int `json:"min_keep"`
}

// Apply returns the policy with these limits, or the policy itself if no field is set. A limit other
// than MinKeep replaces all limits of the policy. A nil policy has no limits.
func (l Limits) Apply(p *pare.Policy) (*pare.Policy, error) {
	given := 0
	for _, n := range []struct {
		name  string
		value *int
		least int
	}{
		{"max_tokens", l.MaxTokens, 1}, {"max_messages", l.MaxMessages, 1}, {"max_exchanges", l.MaxExchanges, 1}, {"max_turns", l.MaxTurns, 1}, {"min_keep", l.MinKeep, 0},
	} {
		switch {
		case n.value == nil:
		case *n.value < n.least:
			return nil, fmt.Errorf("%w: %s is %d: expected a number from %d on", errBody, n.name, *n.value, n.least)
		default:
			given += 1 + n.least // min_keep alone is no limit
		}
	}
	if given == 0 {
		return p, nil
	}
	limited, w := pare.Policy{}, pare.Window{ModelTokens: true}
	if p != nil {
		limited = *p
		if p.Window != nil {
			w = *p.Window
		}
	}
	if given > 1 {
		w.Tokens, w.Messages, w.Exchanges, w.Turns, w.ModelTokens = valueOrZero(l.MaxTokens), valueOrZero(l.MaxMessages), valueOrZero(l.MaxExchanges), valueOrZero(l.MaxTurns), false
		if w.Low >= w.Tokens {
			w.Low = 0
		}
		if l.MaxTokens == nil { // marks and prices of a window of tokens, which it is not any more
			w.Low, w.LowPercent, w.Cache, w.ModelCache, w.Cold = 0, 0, nil, false, nil
		}
	}
	if l.MinKeep != nil {
		w.MinKeep = *l.MinKeep
	}
	limited.Window = &w
	return &limited, nil
}

func valueOrZero(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}
