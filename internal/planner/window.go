package planner

import (
	"errors"
	"fmt"

	"github.com/pare-llm/pare/internal/ladder"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Window says what a history must fit. A limit of zero is none; one at least must
// be given. Many goroutines may use one that nobody changes; they call Priority and Cache.
type Window struct {
	Tokens    int // of the whole request: head, tools and marks included
	Messages  int
	Exchanges int
	Turns     int // messages in which a person speaks begin them
	// ModelTokens makes Tokens, if that is zero, what the window of the model has room for
	// beside the reply that the request asks for.
	ModelTokens bool

	// MinKeep is how many messages at the end stay as they are, every byte of them and
	// of what they need. Zero: none but what is pinned.
	MinKeep int
	// Unpin lets go of pins. Zero: what the system says, the first message of the user and
	// the newest turn stay.
	Unpin Pin
	// MiddleOut lets the exchanges and turns in the middle go first, so that the beginning and
	// the end stay longest. Otherwise the oldest do.
	MiddleOut bool
	// Priority ranks atoms: the lowest goes first, of equals the oldest. Nil: by age.
	Priority func(*wire.Request, transcript.AtomID) int
	// Recent is how many of the last exchanges keep their results until they go
	// themselves, after all older ones. Zero: 8.
	Recent int
	// Rules vote on the first rung; nil: there are none. What they protect is pinned.
	Rules *Pipeline
	// Low turns the window of tokens into a stable one: when a history that grows has
	// passed Tokens, it is trimmed to Low, and then left alone until it passes Tokens
	// again, so that consecutive requests begin with the same bytes. What was decided at
	// earlier requests is found again in the history itself; nothing has to be
	// remembered. Zero: each request is trimmed as if it were the only one.
	Low int
	// LowPercent is Low, if that is zero, as a share of Tokens.
	LowPercent int
	// Cache are the prices by which a stable window is also trimmed before it must be,
	// when that pays within a quarter of the requests that there were so far. Nil: it is
	// trimmed only when it must be.
	Cache CachePricing
	// ModelCache makes Cache, if that is nil, the terms of the model's provider.
	ModelCache bool
	// Cold lists the requests before which the provider's cache had expired, each by the number of
	// messages that it had. At those requests a stable window trims to three quarters of Low, and,
	// with Cache, also when it need not, because everything is written to the cache again anyway;
	// at other requests it then waits until it must. A cold request decides by its own messages, so
	// later requests repeat its cuts and add none to them. Nil: the clock is not known.
	Cold []int
	// ColdRules vote at the requests in Cold, and first of all where a stable window must be trimmed,
	// on the history as it was; what they want is done whether it must be or not, and stays done.
	// What Rules protect they leave alone.
	// With Cache they are also asked at other moments, now and then, and what they want is done if
	// it pays within a quarter of the requests so far. They are for a stable window. Nil: there are
	// none.
	ColdRules *Pipeline
	// AllowTiny lets a window be smaller than the smallest exchange of the history.
	AllowTiny bool
	// Unmarked leaves out the mark that stands where exchanges or turns were dropped first, so
	// that the model knows that something is missing. The mark counts; where a summary stands
	// in the place of what was dropped there is none.
	Unmarked bool
	// Archive names, in each placeholder, the item under which [Plan.Archive] returns what
	// stood there.
	Archive bool
}

// A Pin is something that stays although it is old.
type Pin uint8

const (
	// PinSystem: messages of the system.
	PinSystem Pin = 1 << iota
	// PinTask: the first message in which a person speaks.
	PinTask
	// PinNewest: the last message in which a person speaks, and the last turn.
	PinNewest
)

// What a limit counts.
const (
	unitTokens    = "tokens"
	unitMessages  = "messages"
	unitExchanges = "exchanges"
	unitTurns     = "turns"
)

// WindowTooSmall is the error for a window that what must be kept does not fit.
// Minimum is exact: with it as the limit the same call succeeds, with one less it
// fails. Many goroutines may read it.
type WindowTooSmall struct {
	Unit    string // "tokens", "messages", "exchanges" or "turns"
	Limit   int
	Minimum int
}

func (e *WindowTooSmall) Error() string {
	return fmt.Sprintf("window too small: what must be kept needs %d %s, the limit is %d", e.Minimum, e.Unit, e.Limit)
}

// limits lists the limits in the order they are met: what is counted in messages
// first, because tokens may then need nothing more.
func (w *Window) limits() []ladder.Limit {
	var all []ladder.Limit
	for _, l := range []ladder.Limit{{Unit: ladder.Turns, Most: w.Turns}, {Unit: ladder.Exchanges, Most: w.Exchanges}, {Unit: ladder.Messages, Most: w.Messages}, {Unit: ladder.Tokens, Most: w.Tokens}} {
		if l.Most != 0 {
			all = append(all, l)
		}
	}
	return all
}

// valid says what is wrong with a window.
func (w *Window) validate(o Options) error {
	for _, f := range []struct {
		name string
		n    int
	}{
		{"Tokens", w.Tokens}, {"Messages", w.Messages}, {"Exchanges", w.Exchanges}, {"Turns", w.Turns},
		{"MinKeep", w.MinKeep}, {"Recent", w.Recent}, {"Low", w.Low}, {"LowPercent", w.LowPercent},
	} {
		if f.n < 0 {
			return fmt.Errorf("window: %s is %d: it must not be less than 0", f.name, f.n)
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

func (w *Window) recent() int {
	if w.Recent == 0 {
		return 8
	}
	return w.Recent
}

// CachePricing are what a provider's cache costs; tokens.CacheOf(model) are some. Many
// goroutines may read it.
type CachePricing interface {
	// PaysAfter is the number of further requests after which it pays to take removed
	// tokens out in front of kept ones, which have to be written to the cache again.
	PaysAfter(removed, kept int) int
}

// An UnknownModelError is the error for a window that is to be a model's own. Many
// goroutines may read it.
type UnknownModelError struct{ Model string }

func (e *UnknownModelError) Error() string {
	if e.Model == "" {
		return "no limit is given, and the request names no model"
	}
	return fmt.Sprintf("no limit is given, and the window of the model %q is not known", e.Model)
}

// of is the window for a request to a model: what it leaves to the model is filled in.
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
