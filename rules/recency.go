package rules

import (
	"errors"
	"fmt"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// RecencyOptions are those of [Recency]. At most one of them is set; if none is,
// the last 10 messages are protected. Zero protects nothing.
type RecencyOptions struct {
	// How many messages at the end are protected. Default: 10, unless another unit is chosen.
	Messages *int `json:"messages,omitempty"`
	// How many turns at the end are protected; a turn begins where a person speaks. Default: not set.
	Turns *int `json:"turns,omitempty"`
	// How many calls at the end are protected, with all that stands behind the first of them. Default: not set.
	Exchanges *int `json:"exchanges,omitempty"`
}

const defaultRecent = 10

func (o RecencyOptions) validate() error {
	set := 0
	for _, u := range []struct {
		name string
		n    *int
	}{{"messages", o.Messages}, {"turns", o.Turns}, {"exchanges", o.Exchanges}} {
		if u.n == nil {
			continue
		}
		if set++; *u.n < 0 {
			return fmt.Errorf("%s: %d is less than 0", u.name, *u.n)
		}
	}
	if set > 1 {
		return errors.New("messages, turns, exchanges: choose one of them")
	}
	return nil
}

// Rule returns the rule, or what is wrong with the options.
func (o RecencyOptions) Rule() (pare.Rule, error) { return Recency(o), check(recency, o.validate()) }

const recency = "recency"

// Recency protects what is new: every atom that touches one of the last messages.
// Where fewer are there, all are protected.
func Recency(o RecencyOptions) pare.Rule {
	return pare.Rule{
		Name:  recency,
		Doc:   "protect the last messages, turns or exchanges; 10 messages if nothing is said",
		After: []string{"?" + toolPairing},
		Prepare: func(r *wire.Request) (pare.Process, error) {
			if err := o.validate(); err != nil {
				return nil, err
			}
			t := r.Transcript()
			from, why := o.from(t)
			return func(b *pare.Ballot) {
				for a, atom := range t.Atoms() {
					if atom.Last >= from {
						b.Protect(transcript.AtomID(a), "%s", why)
					}
				}
			}, nil
		},
	}
}

// from returns the first message that is protected, and why it is.
func (o RecencyOptions) from(t *transcript.Transcript) (from int, why string) {
	ms := t.Messages()
	switch {
	case o.Turns != nil:
		n := *o.Turns
		from = len(ms)
		for from > 0 && n > 0 {
			if from--; ms[from].Begins {
				n--
			}
		}
		return from, fmt.Sprintf("in the last %d turns", *o.Turns)
	case o.Exchanges != nil:
		from = len(ms)
		n := *o.Exchanges
		xs := t.Exchanges()
		for i := len(xs) - 1; i >= 0 && n > 0; i-- {
			if xs[i].Call != transcript.NoBlock {
				from = min(from, t.Block(xs[i].Call).Message)
				n--
			}
		}
		return from, fmt.Sprintf("in the last %d exchanges", *o.Exchanges)
	}
	n := defaultRecent
	if o.Messages != nil {
		n = *o.Messages
	}
	return max(0, len(ms)-n), fmt.Sprintf("in the last %d messages", n)
}
