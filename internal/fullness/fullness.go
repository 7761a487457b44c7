// Package fullness decides how many tokens a request takes, of what, and how full that makes the
// window of its model. Every command and every page asks it, so that they say the same.
package fullness

import (
	"fmt"
	"math"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/plain"
	"github.com/pare-llm/pare/internal/tally"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// Counted is what an API, or an agent, has written down about a request. Its zero value is
// nothing. Many goroutines may read it.
type Counted struct {
	Input, Output int  // tokens of the last request that was answered, and of its reply
	Messages      int  // how many messages, from the first on, are in them
	Window        int  // of the model, if the agent notes it
	Refused       bool // the provider has refused it as too long
}

// A Question is a request that is weighed.
type Question struct {
	Request *wire.Request
	Model   string // "": the one of the request
	// Messages is how many messages of Request count. Zero: all.
	Messages int
	// Counter counts what nobody has counted. Nil: the estimator of the model.
	Counter wire.Counter
	Counted Counted
}

// A Size is how much of its model's window a request takes. Many goroutines may read it.
type Size struct {
	Tokens int // of the whole request, as far as it is known
	// Recorded is how many of them the API itself has counted, for the last reply: the
	// system prompt and the tools included. The rest is estimated. 0: nothing is recorded.
	Recorded int
	// Beside is how many of them the API has counted and the file does not hold: the system
	// prompt and the tools.
	Beside int
	Window int    // 0: not known
	Source string // where the window is from
	Guess  bool   // nobody knows the model, and the window is a guess
	Reply  int    // how much of the window is kept for the reply
	// Refused: the provider has refused the request as too long.
	Refused bool

	counter wire.Counter
	spent   tally.Tally
}

// Of weighs a request.
func Of(q Question) Size {
	s := Frame(q)
	c := q.counter()
	n := q.Messages
	spent := tally.Of(q.Request, c, true)
	if n == 0 {
		n = spent.Messages
	}
	// What was counted, by our own count, and what came after it.
	counted, later := spent.Head.System+spent.Head.Tools+spent.Head.Other, 0
	for i, m := range spent.ByMessage[:n] {
		if i < q.Counted.Messages {
			counted += m.Tokens
		} else {
			later += m.Tokens
		}
	}
	s.Tokens, s.counter, s.spent = counted+later, c, spent
	if s.Recorded*believed < counted {
		s.Recorded = 0 // a gateway that counts wrong, or does not count
	}
	if s.Recorded == 0 {
		return s
	}
	if target := s.Recorded + later; spent.Head.System+spent.Head.Tools == 0 && target >= s.Tokens {
		s.Tokens, s.Beside = target, target-s.Tokens
	} else if fitted := fit(q.Request, c, n, target); fitted != nil {
		s.Tokens, s.counter = target, fitted
	} else {
		s.Recorded = 0 // it is less than the marks around the messages, and no count of them
	}
	return s
}

// believed is how many times the estimate of what was counted may be the count that is written down:
// estimates err on the high side, but never so far.
const believed = 4

func (q *Question) model() string {
	if q.Model != "" {
		return q.Model
	}
	return q.Request.Model()
}

func (q *Question) counter() wire.Counter {
	if q.Counter != nil {
		return q.Counter
	}
	m, _ := tokens.Lookup(q.model())
	return m.Estimator()
}

// Frame is what is known of the size of a request without counting it: Tokens is what the API has
// counted, the rest left out.
func Frame(q Question) Size {
	m, known := tokens.Lookup(q.model())
	k := q.Counted
	s := Size{Window: m.Window, Guess: !known, Refused: k.Refused, Recorded: k.Input + k.Output}
	s.Tokens = s.Recorded
	s.Reply = max(0, m.Window-m.Input(min(q.Request.MaxOutputTokens(), m.Output)))
	if known {
		s.Source = "published for " + q.model()
	} else {
		s.Source = "a guess: the window of " + q.model() + " is not known"
	}
	switch {
	case k.Window > 0:
		s.Window, s.Guess, s.Source = k.Window, false, "recorded in the session"
	case k.Input > s.Window && known:
		// The API has answered a request of that size: the window is a larger one, such as
		// the million tokens that some models have on request.
		s.Window, s.Source = max(1_000_000, k.Input), "the API has answered a longer request than the published window"
	}
	if dialect.Delta(q.Request) != "" {
		s.Window, s.Guess, s.Source = 0, true, "not known: the server holds the conversation"
	}
	return s
}

// Room is what the window has for a request, beside the reply; 0: the window is not known.
func (s Size) Room() int { return max(0, s.Window-s.Reply) }

// Share is how much of the room is taken; it is not known of a window that is a guess. Above 1 there
// is no room for the reply, or not for a long one.
func (s Size) Share() (share float64, known bool) {
	if s.Guess || s.Room() == 0 {
		return 0, false
	}
	return shareOf(s.Tokens, s.Room()), true
}

// shareOf is the share of the room that so many tokens take, as everything says it.
func shareOf(tokens, room int) float64 {
	return math.Round(1e6*float64(tokens)/float64(room)) / 1e6
}

// Over reports whether the request does not fit its window. A window that is a guess says nothing.
func (s Size) Over() bool { return s.Refused || s.Window > 0 && !s.Guess && s.Tokens > s.Window }

// Counter counts the parts of the request that was weighed, so that they add up to Tokens, without
// Beside.
func (s Size) Counter() wire.Counter { return s.counter }

// unseen is what the system prompt and the tools of a coding agent take, where nothing is
// recorded: about what Claude Code sends.
const unseen = 20_000

// Limits says how many tokens the messages of a session may have, so that there is room for the
// system prompt, the tools and a reply, and whether they have more. Zero: it is not known.
func (s Size) Limits() (limit int, over bool) {
	if s.Window == 0 || s.Guess {
		if !s.Refused {
			return 0, false
		}
		return s.Tokens, true
	}
	beside := unseen
	if s.Recorded > 0 {
		beside = s.Beside
	}
	room := s.Window - min(32_000, s.Window/4) // for a reply
	limit = room - min(beside, s.Window/4)
	if s.Recorded > 0 {
		return limit, s.Refused || s.Tokens > room
	}
	return limit, s.Refused || s.Tokens > limit
}

// String is the size of a session in a sentence.
func (s Size) String() string { return s.Amount() + ", " + s.Fill() }

// Amount is how many tokens a session has, and who has counted them.
func (s Size) Amount() string {
	how := "estimated, without the system prompt and the tools"
	switch {
	case s.Recorded == s.Tokens && s.Recorded > 0:
		how = "counted by the API"
	case s.Recorded > 0:
		how = plain.Grouped(s.Recorded) + " counted by the API, the rest estimated"
	}
	return fmt.Sprintf("%s tokens (%s)", plain.Grouped(s.Tokens), how)
}

// Fill is how full the window is, in words; the window alone if nobody knows.
func (s Size) Fill() string {
	window := fmt.Sprintf("window %s, %s", plain.Grouped(s.Window), s.Source)
	share, known := s.Share()
	if !known {
		return window
	}
	return fmt.Sprintf("%.1f %% of the %s available (%s; %s kept for the reply)", 100*share, plain.Grouped(s.Room()), window, plain.Grouped(s.Reply))
}

// A fitted counter makes an estimate come to what was counted: all texts by the same share, and
// what rounding leaves at the marks around the request.
type fitted struct {
	wire.Counter
	num, den, rest int
}

func (f fitted) Count(text []byte) int    { return f.Counter.Count(text) * f.num / f.den }
func (f fitted) CountJSON(raw []byte) int { return f.Counter.CountJSON(raw) * f.num / f.den }
func (f fitted) Media(mime string, data []byte, low bool) int {
	return f.Counter.Media(mime, data, low) * f.num / f.den
}
func (f fitted) Overhead(messages, tools int) int {
	return f.Counter.Overhead(messages, tools) + f.rest
}

// fit makes the first n messages of a request and what stands beside them come to target; nil: the
// marks alone are more.
func fit(r *wire.Request, c wire.Counter, n, target int) wire.Counter {
	marks := total(r, fitted{Counter: c, den: 1}, n)
	f := fitted{Counter: c, num: target - marks, den: total(r, c, n) - marks}
	if f.num <= 0 || f.den <= 0 {
		return nil
	}
	f.rest = target - total(r, f, n)
	return f
}

func total(r *wire.Request, c wire.Counter, n int) int {
	spent := tally.Of(r, c, true)
	sum := spent.Head.System + spent.Head.Tools + spent.Head.Other
	for _, m := range spent.ByMessage[:n] {
		sum += m.Tokens
	}
	return sum
}
