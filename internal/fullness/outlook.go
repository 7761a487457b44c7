package fullness

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// An Outlook is how full the window of a conversation is, and what is left of it at this pace. It is
// what the header of a reply, events, the store, pages and commands say. Many goroutines may read it.
type Outlook struct {
	Tokens int `json:"tokens"`
	Window int `json:"window"`
	// Room is what the window has for a request, beside the reply, and Share how much of it is taken.
	Room  int     `json:"room"`
	Share float64 `json:"share"`
	// Turns of the person and requests so far, and dollars that they were billed.
	Turns    int     `json:"turns,omitempty"`
	Requests int     `json:"requests,omitempty"`
	Dollars  float64 `json:"dollars,omitempty"`
	// How many more there is room for if the conversation goes on as it did, and what those
	// requests will cost; nil: nobody knows.
	TurnsLeft    *int     `json:"turns_left,omitempty"`
	RequestsLeft *int     `json:"requests_left,omitempty"`
	DollarsLeft  *float64 `json:"dollars_left,omitempty"`
	// CutAt is above how many tokens the conversation will be cut or summarized, and CutIn after
	// how many more requests that is to be expected; 0 and nil: never, or nobody knows.
	CutAt int  `json:"cut_at,omitempty"`
	CutIn *int `json:"cut_in,omitempty"`
}

// A Position is where a conversation stands.
type Position struct {
	Tokens, Window, Room int
	Model                string
	CutAt                int // 0: it is not cut
}

// Position is where a conversation stands whose next request has this size.
func (s Size) Position(model string) Position {
	if s.Guess {
		return Position{Tokens: s.Tokens, Model: model} // a window that is a guess says nothing
	}
	return Position{Tokens: s.Tokens, Window: s.Window, Room: s.Room(), Model: model}
}

// Outlook says what is to be expected of a conversation with this pace.
func (p Pace) Outlook(at Position) Outlook {
	o := Outlook{Tokens: at.Tokens, Window: at.Window, Room: at.Room, CutAt: at.CutAt, Turns: p.Turns, Requests: p.Requests, Dollars: round(p.Dollars)}
	if at.Room <= 0 {
		return o
	}
	o.Share = shareOf(at.Tokens, at.Room)
	left, known := p.until(at.Tokens, at.Room)
	if !known {
		return o
	}
	o.RequestsLeft = &left
	if p.Begun > 0 {
		turns := left * p.Begun / p.Requests
		o.TurnsLeft = &turns
	}
	if dollars, known := p.cost(at.Model, at.Tokens, left); known {
		dollars = round(dollars)
		o.DollarsLeft = &dollars
	}
	if at.CutAt > 0 {
		in, _ := p.until(at.Tokens, at.CutAt)
		o.CutIn = &in
	}
	return o
}

// Header is an outlook as a dictionary of structured fields (RFC 9651); "": there is none.
func (o *Outlook) Header() string {
	if o == nil || o.Window == 0 {
		return ""
	}
	b := fmt.Appendf(nil, "tokens=%d, window=%d, room=%d, share=%.3f", o.Tokens, o.Window, o.Room, o.Share)
	for _, n := range []struct {
		name string
		n    *int
	}{{"requests-left", o.RequestsLeft}, {"turns-left", o.TurnsLeft}} {
		if n.n != nil {
			b = fmt.Appendf(b, ", %s=%d", n.name, *n.n)
		}
	}
	if o.Dollars > 0 {
		b = fmt.Appendf(b, ", dollars=%.3f", o.Dollars)
	}
	if o.DollarsLeft != nil {
		b = fmt.Appendf(b, ", dollars-left=%.3f", *o.DollarsLeft)
	}
	if o.CutAt > 0 {
		b = fmt.Appendf(b, ", cut-at=%d", o.CutAt)
	}
	if o.CutIn != nil {
		b = fmt.Appendf(b, ", cut-in=%d", *o.CutIn)
	}
	return string(b)
}

// String is what is left, in words; "": nobody knows.
func (o *Outlook) String() string {
	if o == nil || o.RequestsLeft == nil {
		return ""
	}
	say := func(n int, one string) string {
		if n != 1 {
			one += "s"
		}
		return strconv.Itoa(n) + " " + one
	}
	if o.Share >= 1 {
		return "no room is left for another request and its reply"
	}
	text := "at this pace about " + say(*o.RequestsLeft, "request")
	if o.TurnsLeft != nil && *o.TurnsLeft > 0 {
		text += " (" + say(*o.TurnsLeft, "turn") + ")"
	}
	if o.DollarsLeft != nil {
		text += fmt.Sprintf(" and $%.2f", *o.DollarsLeft)
	}
	text += " left"
	if o.CutIn != nil {
		text += fmt.Sprintf(", and %s until the next cut", say(*o.CutIn, "request"))
	}
	return text
}

// A Limit is how far a conversation may go: a share of the room in its window, or a number of
// tokens, of the person's turns, or of dollars. It is a value.
type Limit struct {
	Said    string // as it was written
	Share   float64
	Tokens  int
	Turns   int
	Dollars float64
}

// ParseLimit reads a limit: 80%, 150000, "40 turns" or $5. It is false for anything else.
func ParseLimit(text string) (l Limit, ok bool) {
	l.Said = text
	plain := strings.NewReplacer(",", "", "_", "").Replace(strings.TrimSpace(text))
	number := func(text string) float64 {
		x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return 0
		}
		return x
	}
	whole := func(text string) int {
		n, _ := strconv.Atoi(strings.TrimSpace(text))
		return n
	}
	switch {
	case strings.HasSuffix(plain, "%"):
		l.Share = number(strings.TrimSuffix(plain, "%")) / 100
	case strings.HasPrefix(plain, "$"):
		l.Dollars = number(plain[1:])
	case strings.HasSuffix(plain, "turns"):
		l.Turns = whole(strings.TrimSuffix(plain, "turns"))
	case strings.HasSuffix(plain, "turn"):
		l.Turns = whole(strings.TrimSuffix(plain, "turn"))
	default:
		l.Tokens = whole(plain)
	}
	return l, l.Share > 0 || l.Tokens > 0 || l.Turns > 0 || l.Dollars > 0
}

// Passed reports whether a conversation is above the limit. It is not known for a share of a window
// that nobody knows, nor for dollars where no price is.
func (l Limit) Passed(o *Outlook) (passed, known bool) {
	switch {
	case l.Share > 0:
		return float64(o.Tokens) > l.Share*float64(o.Room), o.Room > 0
	case l.Dollars > 0:
		return o.Dollars > l.Dollars, o.Dollars > 0 || o.Requests == 0
	case l.Turns > 0:
		return o.Turns > l.Turns, true
	}
	return o.Tokens > l.Tokens, true
}
