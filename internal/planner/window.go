package planner

import (
	"errors"
	"fmt"

	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Window limits the size of a request. A limit of zero is no limit; at least one must be set.
type Window struct {
	Tokens    int // of the whole request, including tools and the system prompt
	Messages  int
	Exchanges int
	Turns     int // a turn begins with a message in which the user speaks
	// ModelTokens sets Tokens, if it is zero, to the room that the window of the model has besides the
	// reply that the request asks for.
	ModelTokens bool

	// MinKeep is the number of messages at the end of which every byte stays. Zero: only pinned
	// content stays.
	MinKeep int
	// Unpin removes pins. Zero: the system's messages, the task and the newest turn are pinned.
	Unpin Pin
	// MiddleOut removes exchanges and turns in the middle first. Otherwise the oldest ones go first.
	MiddleOut bool
	// Priority ranks atoms. The lowest rank goes first; of equal ranks, the oldest. Nil: by age.
	Priority func(*wire.Request, transcript.AtomID) int
	// Recent is the number of last exchanges whose results are not cleared. They are dropped after all
	// older exchanges. Zero: 8.
	Recent int
	// Rules vote in the first step of the window. Content that they protect is pinned. Nil: no rules.
	Rules *Pipeline
	// Low makes the window of tokens stable. A growing history is trimmed to Low when it passes
	// Tokens, and then stays unchanged until it passes Tokens again, so that consecutive requests
	// begin with the same bytes. Earlier trims are derived from the history itself. Zero: each request
	// is trimmed separately.
	Low int
	// LowPercent sets Low, if it is zero, to a percentage of Tokens.
	LowPercent int
	// Cache has prices by which a stable window also trims before it must, if that pays within a
	// quarter of the number of requests so far. Nil: it trims only when it must.
	Cache CachePricing
	// ModelCache sets Cache, if it is nil, to the prices of the model.
	ModelCache bool
	// Cold lists the requests before which the provider's cache had expired, by their number of
	// messages. At these requests, a stable window trims to three quarters of Low, and with Cache also
	// when it need not, because everything is written to the cache again anyway. At other requests it
	// then waits until it must. Nil: unknown.
	Cold []int
	// ColdRules vote at the requests in Cold and, before all other steps, when a stable window must be
	// trimmed. Their decisions are carried out in any case and stay. With Cache, they also vote at
	// some other requests, and their decisions are carried out if that pays within a quarter of the
	// number of requests so far. They do not change content that Rules protect. Nil: no rules.
	ColdRules *Pipeline
	// AllowTiny allows a window that is smaller than the smallest exchange of the history.
	AllowTiny bool
	// Unmarked leaves out the mark that replaces dropped exchanges and turns. The mark counts toward
	// the limits. A summary replaces the mark.
	Unmarked bool
	// Archive names, in each placeholder, the item under which Plan.Archive returns the original
	// content.
	Archive bool
}

// A Pin is content that stays although it is old.
type Pin uint8

const (
	// PinSystem pins messages of the system.
	PinSystem Pin = 1 << iota
	// PinTask pins the first message in which the user speaks.
	PinTask
	// PinNewest pins the last message in which the user speaks, and the last turn.
	PinNewest
)

// A unit is the unit of a limit.
type unit string

const (
	unitTokens    unit = "tokens"
	unitMessages  unit = "messages"
	unitExchanges unit = "exchanges"
	unitTurns     unit = "turns"
)

// A limit is the largest number of a unit that a history may have.
type limit struct {
	unit unit
	most int
}

// A WindowTooSmall is the error for a window that the content which must stay does not fit. Minimum
// is exact: with it as the limit the same call succeeds, and with one less it fails.
type WindowTooSmall struct {
	Unit    string // "tokens", "messages", "exchanges" or "turns"
	Limit   int
	Minimum int
}

func newWindowTooSmall(l limit, minimum int) *WindowTooSmall {
	return &WindowTooSmall{string(l.unit), l.most, minimum}
}

func (e *WindowTooSmall) Error() string {
	return fmt.Sprintf("window too small: what must be kept needs %d %s, the limit is %d", e.Minimum, e.Unit, e.Limit)
}

// limits returns the limits that are set, in the order in which they are met. Tokens come last,
// because meeting the other limits may be enough.
func (w *Window) limits() (limits []limit) {
	for _, l := range []limit{
		{unitTurns, w.Turns}, {unitExchanges, w.Exchanges}, {unitMessages, w.Messages}, {unitTokens, w.Tokens},
	} {
		if l.most != 0 {
			limits = append(limits, l)
		}
	}
	return limits
}

// recent returns the number of last exchanges whose results are not cleared.
func (w *Window) recent() int {
	if w.Recent == 0 {
		return 8
	}
	return w.Recent
}

// validate returns an error if fields of a window are invalid or contradict each other.
func (w *Window) validate(o Options) error {
	for _, field := range []struct {
		name  string
		value int
	}{
		{"Tokens", w.Tokens}, {"Messages", w.Messages}, {"Exchanges", w.Exchanges}, {"Turns", w.Turns},
		{"MinKeep", w.MinKeep}, {"Recent", w.Recent}, {"Low", w.Low}, {"LowPercent", w.LowPercent},
	} {
		if field.value < 0 {
			return fmt.Errorf("window: %s is %d: it must not be less than 0", field.name, field.value)
		}
	}
	switch {
	case len(w.limits()) == 0:
		return errors.New("window: no limit: give one of Tokens, Messages, Exchanges, Turns")
	case w.Tokens > 0 && o.Counter == nil:
		return errors.New("window: a limit of tokens needs Options.Counter; tokens.For(model) is one")
	case w.MiddleOut && w.Priority != nil:
		return errors.New("window: MiddleOut and Priority are two orders; set one of them")
	case w.LowPercent > 99:
		return fmt.Errorf("window: LowPercent is %d: it must be less than 100", w.LowPercent)
	case w.Low+w.LowPercent > 0 && w.Tokens == 0:
		return errors.New("window: Low is a mark of Tokens, which has no limit")
	case w.Low >= w.Tokens && w.Low > 0:
		return fmt.Errorf("window: Low is %d: it must be less than Tokens, %d", w.Low, w.Tokens)
	case w.Low > 0 && (w.MiddleOut || w.Priority != nil):
		return errors.New("window: a stable window is trimmed from the oldest on, without MiddleOut and Priority")
	}
	return nil
}

// CachePricing says when removing cached content pays; tokens.CacheOf(model) returns one.
type CachePricing interface {
	// PaysAfter returns the number of further requests after which it pays to remove some tokens
	// before other tokens, which have to be written to the cache again.
	PaysAfter(removed, kept int) int
}

// An UnknownModelError is the error for a window that depends on an unknown model.
type UnknownModelError struct{ Model string }

func (e *UnknownModelError) Error() string {
	if e.Model == "" {
		return "no limit is given, and the request names no model"
	}
	return fmt.Sprintf("no limit is given, and the window of the model %q is not known", e.Model)
}

// ForModel returns the window for a request to a model, with the values that depend on the model.
func (w Window) ForModel(model string, r *wire.Request) (Window, error) {
	if w.ModelTokens && w.Tokens == 0 {
		m, known := tokens.Lookup(model)
		if !known {
			return w, &UnknownModelError{model}
		}
		w.Tokens = m.Input(min(r.MaxOutputTokens(), m.Output))
	}
	if w.LowPercent > 0 && w.Low == 0 && w.Tokens > 0 {
		w.Low = min(max(int(int64(w.Tokens)*int64(w.LowPercent)/100), 1), w.Tokens-1)
	}
	if w.ModelCache && w.Cache == nil {
		w.Cache = tokens.CacheOf(model)
	}
	return w, nil
}
