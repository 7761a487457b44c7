package replay

import (
	"time"

	"github.com/pare-llm/pare/tokens"
)

// A Recording is what a session file tells of its requests beside their text. Many goroutines
// may read it.
type Recording struct {
	Times []time.Time // by message: when it was written down; zero: not known
	Bills []Bill      // by message: of the request that the model answered with it; zero: not known
}

// A Bill is what the provider has counted of a request. Many goroutines may read it.
type Bill struct {
	Input   int // neither read from a cache nor written to one
	Read    int
	Written int // to a cache, whatever its life
	Hour    int // of that, to one that lives for an hour
}

// sent is what the request had.
func (b Bill) sent() int { return b.Input + b.Read + b.Written }

// life is how long the cache lived that was used; zero: nothing tells.
func (r *Recording) life() (life time.Duration) {
	if r == nil {
		return 0
	}
	for _, b := range r.Bills {
		switch {
		case b.Hour > 0:
			return time.Hour
		case b.Written > 0:
			life = 5 * time.Minute
		}
	}
	return life
}

// at is when request k was sent: when the last message of it was written down.
func (r *Recording) at(w *Walk, k int) time.Time {
	if i := w.ends[k] - 1; r != nil && i < len(r.Times) {
		return r.Times[i]
	}
	return time.Time{}
}

// cold lists the requests before which a cache that lives so long had expired, counted from 1.
// A request that takes its time is answered late, so it is the pause since the request before,
// which is when the cache was used last.
func (r *Recording) cold(w *Walk, life time.Duration) (all []int) {
	all = []int{} // not nil: there is a clock
	for k := 1; k < w.Len(); k++ {
		before, now := r.at(w, k-1), r.at(w, k)
		if !before.IsZero() && !now.IsZero() && now.Sub(before) > life {
			all = append(all, k+1)
		}
	}
	return all
}

// beside is what requests had beside what the file shows of them, in tokens: the prompts of the
// system, tools, memory files. The first request that was billed tells it best, as it has the
// fewest messages whose tokens are estimated.
func (r *Recording) beside(w *Walk, sent func(k int) int) int {
	if r == nil {
		return 0
	}
	for k := range w.Len() {
		if i := w.ends[k]; i < len(r.Bills) && r.Bills[i].sent() > 0 {
			return max(r.Bills[i].sent()-sent(k), 0)
		}
	}
	return 0
}

// ofLife are the terms of a cache if it is one that lives so long: for an hour Anthropic asks
// twice the price of input where it asks 1.25 times as much for five minutes. Others do not ask
// for writing.
func ofLife(c tokens.Cache, life time.Duration) tokens.Cache {
	if life >= time.Hour && c.Life < time.Hour && c.Write > 1000 {
		c.Write = c.Write * 8 / 5
	}
	if life > 0 {
		c.Life = life
	}
	return c
}
