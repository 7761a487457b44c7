package fullness

import (
	"math"
	"testing"

	"github.com/pare-llm/pare/tokens"
)

// even is a conversation in which every request has as many tokens more.
func even(n, first, each int) (p Pace) {
	for i := range n {
		before := 0
		if i > 0 {
			before = first + (i-1)*each
		}
		now := first + i*each
		p.Add(Step{Model: "claude-sonnet-4-5", Usage: tokens.Usage{Read: before, Written: now - before, Output: 200}, Turns: 1 + i/5})
	}
	return p
}

// TestEvenPace: what grows evenly is full when that says, costs what that costs, and is cut when it
// passes the mark, however little or much it grows.
func TestEvenPace(t *testing.T) {
	for _, each := range []int{20, 300, 5000} {
		n := 12
		p := even(n, 10_000, each)
		now := 10_000 + n*each // of the next request
		o := p.Outlook(Position{Tokens: now, Window: 200_000, Room: 168_000, Model: "claude-sonnet-4-5", CutAt: 100_000})
		want := (168_000 - now) / each
		if *o.RequestsLeft != want || *o.CutIn != (100_000-now)/each || *o.TurnsLeft != want*3/12 {
			t.Errorf("%d each: %s", each, o.Header())
		}
		sent, full := even(n+1, 10_000, each), even(n+1+want, 10_000, each)
		if got, is := *o.DollarsLeft, full.Dollars-sent.Dollars; math.Abs(got-is) > 0.001*is {
			t.Errorf("%d each: $%.4f left, they cost $%.4f", each, got, is)
		}
		if math.Abs(o.Dollars-p.Dollars) > 1e-4 || o.Requests != n || o.Turns != 3 {
			t.Errorf("%d each: so far %+v", each, o)
		}
	}
}

// TestPaceAfterCut: a request that was cut, or is another branch, is no growth.
func TestPaceAfterCut(t *testing.T) {
	p := even(10, 10_000, 1000)
	p.Add(Step{Model: "claude-sonnet-4-5", Usage: tokens.Usage{Input: 5000}, Turns: 2})
	if p.each() != 1000 {
		t.Errorf("after a cut it grows by %g", p.each())
	}
	for i := range 10 {
		p.Add(Step{Model: "claude-sonnet-4-5", Usage: tokens.Usage{Input: 6000 + 1000*i}, Turns: 2})
	}
	if p.each() != 1000 {
		t.Errorf("afterwards by %g", p.each())
	}
}

// TestPaceOfNothing: nothing is said of what nobody can know.
func TestPaceOfNothing(t *testing.T) {
	var none Pace
	one := even(1, 10_000, 1000)
	for _, p := range []Pace{none, one} {
		if o := p.Outlook(Position{Tokens: 10_000, Window: 200_000, Room: 168_000, Model: "claude-sonnet-4-5"}); o.RequestsLeft != nil || o.String() != "" || o.Header() == "" {
			t.Errorf("%s", o.Header())
		}
	}
	p := even(9, 10_000, 1000)
	if o := p.Outlook(Position{Tokens: 19_000, Window: 200_000, Room: 168_000, Model: "nobody-knows"}); o.DollarsLeft != nil || o.RequestsLeft == nil {
		t.Errorf("no price: %s", o.Header())
	}
	if o := p.Outlook(Position{Tokens: 19_000, Model: "nobody-knows"}); o.Header() != "" || o.RequestsLeft != nil {
		t.Errorf("no window: %s", o.Header())
	}
	if o := p.Outlook(Position{Tokens: 190_000, Window: 200_000, Room: 168_000, Model: "claude-sonnet-4-5"}); *o.RequestsLeft != 0 || *o.DollarsLeft != 0 {
		t.Errorf("above it: %s", o.Header())
	}
}

// TestLimits: shares, tokens, turns and dollars, and nothing else.
func TestLimits(t *testing.T) {
	o := &Outlook{Tokens: 80_000, Room: 100_000, Turns: 40, Dollars: 5}
	for text, want := range map[string]bool{
		"79%": true, "80%": false, "80 %": false, "0.5%": true, "79,999": true, "80_000": false, "39 turns": true, "40 turns": false, "40turns": false, "1 turn": true, "$4.99": true, "$5": false, "$ 4": true,
	} {
		l, ok := ParseLimit(text)
		passed, known := l.Passed(o)
		if !ok || !known || passed != want {
			t.Errorf("%q: %+v, %v, passed %v", text, l, ok, passed)
		}
	}
	for _, text := range []string{"", "%", "0%", "-3%", "nan%", "$", "$0", "$x", "turns", "0 turns", "-1 turns", "x", "80.5", "1e3", "5 dollars"} {
		if l, ok := ParseLimit(text); ok {
			t.Errorf("%q is %+v", text, l)
		}
	}
	share, _ := ParseLimit("80%")
	if _, known := share.Passed(&Outlook{Tokens: 5}); known {
		t.Error("a share of what nobody knows")
	}
}
