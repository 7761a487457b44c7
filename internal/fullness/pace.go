package fullness

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Step is a request of a conversation that was answered: as the provider has counted it or,
// where nobody has, as it is estimated. Many goroutines may read it.
type Step struct {
	Model   string
	Usage   tokens.Usage
	Turns   int     // of the person, up to this request
	Dollars float64 // that it was billed; 0: the list price of its usage
}

// size is how many tokens the request had.
func (s Step) size() int { return s.Usage.Input + s.Usage.Read + s.Usage.Written }

// A Pace is how a conversation grows, and what that costs: its requests so far, in a few sums. The
// zero value is of one that has not begun. It is a value.
type Pace struct {
	Requests int `json:"requests"`
	Turns    int `json:"turns"` // of the person, up to the last request
	Begun    int `json:"begun"` // those that began with one of these requests
	Size     int `json:"size"`  // tokens of the last request
	Output   int `json:"output"`
	// Grew is how often a request was longer than the one before it, Growth by how many tokens in
	// all, and Squares the squares of that.
	Grew    int     `json:"grew"`
	Growth  float64 `json:"growth"`
	Squares float64 `json:"squares"`
	// Dollars is what was billed, Held what it would have been if the cache had always held.
	Dollars float64 `json:"dollars"`
	Held    float64 `json:"held"`
}

// cutBelow is the share of the request before it below which a request was cut, or is another
// branch: what comes then says nothing of the growth.
const cutBelow = 0.8

// Add takes in the next request.
func (p *Pace) Add(s Step) {
	now := s.size()
	if now <= 0 {
		return
	}
	more := now - p.Size
	if p.Requests > 0 && float64(now) >= cutBelow*float64(p.Size) {
		p.Grew++
		p.Growth += float64(more)
		p.Squares += float64(more) * float64(more)
	}
	if p.Requests == 0 || s.Turns > p.Turns {
		p.Begun++
	}
	if t := termsOf(s.Model); t.known {
		before := min(p.Size, now)
		p.Held += t.price.Cost(t.cache, tokens.Usage{Read: before, Written: now - before, Output: s.Usage.Output})
		if s.Dollars == 0 {
			s.Dollars = t.price.Cost(t.cache, s.Usage)
		}
	}
	p.Dollars += s.Dollars
	p.Requests, p.Turns, p.Size, p.Output = p.Requests+1, s.Turns, now, p.Output+s.Usage.Output
}

// A conversation that has hardly begun is expected to grow as others do: by usual tokens a request,
// give or take as many. How much that counts beside its own requests depends on how even those are.
// Both are round numbers that were chosen on recorded sessions of two agents, which read much at
// first, in bursts; docs/serve.md has the errors, of other sessions, too.
const usual, give = 1000.0, 1000.0

// each is by how many tokens a request is expected to be longer than the one before it.
func (p *Pace) each() float64 {
	if p.Grew == 0 {
		return 0
	}
	n := float64(p.Grew)
	mean := p.Growth / n
	doubt := max(p.Squares/n-mean*mean, 0) / (give * give)
	return (p.Growth + doubt*usual) / (n + doubt)
}

// until is after how many more requests a conversation that has size tokens now has limit. It is
// not known of one that does not grow.
func (p *Pace) until(size, limit int) (requests int, known bool) {
	each := p.each()
	if p.Grew < leastGrew || each < 1 {
		return 0, false
	}
	return int(float64(max(0, limit-size)) / each), true
}

// leastGrew is how often a conversation must have grown before anything is said of what comes.
const leastGrew = 2

// cost is what so many more requests will be billed.
func (p *Pace) cost(model string, size, requests int) (dollars float64, known bool) {
	t := termsOf(model)
	if !t.known || p.Held <= 0 {
		return 0, false
	}
	n, each := float64(requests), p.each()
	held := t.price.Cost(t.cache, tokens.Usage{
		Read: int(n*float64(size) + each*n*(n-1)/2), Written: int(each * n), Output: int(n * float64(p.Output) / float64(p.Requests)),
	})
	return held * p.Dollars / p.Held, true // so much dearer as it was, for caches that had expired
}

// terms are what a model costs.
type terms struct {
	price tokens.Price
	cache tokens.Cache
	known bool
}

var (
	priced     sync.Map // by model: its terms
	seenModels atomic.Int32
)

// termsOf looks a model up, with a memory. Names come from clients, so not all of them are kept.
func termsOf(model string) terms {
	if t, ok := priced.Load(model); ok {
		return t.(terms)
	}
	var t terms
	t.price, t.known = tokens.PriceOf(model)
	t.cache = tokens.CacheOf(model)
	if seenModels.Add(1) < 1000 {
		priced.Store(model, t)
	}
	return t
}

// Pace is how the first n messages of the request that was weighed grew, as nobody has counted it:
// by the estimate, and with a cache that has always held.
func (s Size) Pace(r *wire.Request, n int) (p Pace) {
	size := s.spent.Head.System + s.spent.Head.Tools + s.spent.Head.Other + s.Beside
	ms, turns := r.Transcript().Messages(), 0
	var steps []Step
	for i, m := range ms[:min(n, len(s.spent.ByMessage))] {
		if m.Begins && (i == 0 || !ms[i-1].Begins) {
			turns++
		}
		if planner.StartsModelTurn(ms, i) {
			before := 0
			if k := len(steps); k > 0 {
				before = steps[k-1].size()
			}
			steps = append(steps, Step{Model: r.Model(), Usage: tokens.Usage{Read: before, Written: size - before}, Turns: turns})
		}
		if m.Role == transcript.Assistant && len(steps) > 0 {
			steps[len(steps)-1].Usage.Output += s.spent.ByMessage[i].Tokens
		}
		size += s.spent.ByMessage[i].Tokens
	}
	for _, step := range steps {
		p.Add(step)
	}
	p.Turns = turns
	return p
}

// round is a number of dollars as it is told: to a hundredth of a cent.
func round(dollars float64) float64 { return math.Round(dollars*1e4) / 1e4 }
