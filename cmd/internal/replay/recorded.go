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
	Output  int
	Model   string // that answered; "": not known
	Reply   string // its name, as the provider has it; "": not known
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

// cold lists the requests before which a cache with this life had expired, by how many messages they had.
// A request that takes its time is answered late, so it is the pause since the request before,
// which is when the cache was used last.
func (r *Recording) cold(w *Walk, life time.Duration) (all []int) {
	all = []int{} // not nil: there is a clock
	for k := 1; k < w.Len(); k++ {
		before, now := r.at(w, k-1), r.at(w, k)
		if !before.IsZero() && !now.IsZero() && now.Sub(before) > life {
			all = append(all, w.ends[k])
		}
	}
	return all
}

// reply is the name of the reply that message i is of; "": not known.
func (r *Recording) reply(i int) string {
	if r == nil || i >= len(r.Bills) {
		return ""
	}
	return r.Bills[i].Reply
}

// bill is that of request k; the zero Bill is not known.
func (r *Recording) bill(w *Walk, k int) Bill {
	if i := w.ends[k]; r != nil && i < len(r.Bills) {
		return r.Bills[i]
	}
	return Bill{}
}

// beside is what requests had beside what the file shows of them, in tokens: the prompts of the
// system, tools, memory files. The first request that was billed tells it best, as it has the
// fewest messages whose tokens are estimated.
func (r *Recording) beside(w *Walk, sent func(k int) int) int {
	for k := range w.Len() {
		if n := r.bill(w, k).sent(); n > 0 {
			return max(n-sent(k), 0)
		}
	}
	return 0
}

// A Break is a request of the recording that read less than half of the one before it from the
// provider's cache. Many goroutines may read it.
type Break struct {
	Request int     `json:"request"` // counted from 1
	Cause   string  `json:"cause"`   // pause, model or prefix
	Pause   float64 `json:"pause"`   // since the request before, in seconds
	Read    int     `json:"read"`    // tokens; what stands behind them was written again
	Again   int     `json:"again"`   // tokens of the request before that were not read
	Money   float64 `json:"money"`   // that reading them would have saved; zero: no list price
}

// Why a cache was not read.
const (
	ByPause  = "pause"  // the last request was longer ago than the cache lives
	ByModel  = "model"  // another model was asked, which has a cache of its own
	ByPrefix = "prefix" // neither: the client has changed what stands in front, or the provider has forgotten it
)

// leastBroken is the least context of which a lost cache is told.
const leastBroken = 20_000

// breaks finds the requests of which a cache that lives so long would not have been read: by the
// bills if it is the one that was used, else also by the clock.
func (r *Recording) breaks(w *Walk, life time.Duration) (all []Break) {
	if r == nil {
		return nil
	}
	used := r.life()
	for k := 1; k < w.Len(); k++ {
		before, now := r.bill(w, k-1), r.bill(w, k)
		known := before.sent() > 0 && now.sent() > 0
		lost := known && now.Read < before.sent()/2
		b := Break{Request: k + 1, Cause: ByPrefix}
		if from, to := r.at(w, k-1), r.at(w, k); !from.IsZero() && !to.IsZero() {
			b.Pause = to.Sub(from).Seconds()
		}
		late := b.Pause > life.Seconds() && life > 0
		switch {
		case known && before.Model != now.Model:
			b.Cause = ByModel
		case b.Pause > min(used, life).Seconds() && used > 0, late:
			b.Cause = ByPause
		}
		switch {
		case known && used == life && !lost, !known && !late:
			continue
		case !late && (!lost || b.Cause == ByPause): // with a longer life it would have been read
			continue
		}
		if lost {
			b.Read = now.Read
		}
		if b.Again = max(before.sent()-b.Read, 0); !known || before.sent() >= leastBroken || late {
			all = append(all, b)
		}
	}
	return all
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
