package replay

import (
	"fmt"
	"slices"

	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Walk is the requests that led to a history. Many goroutines may use it.
type Walk struct {
	whole  *wire.Request
	ends   []int           // by request: how many messages it has
	faults map[int]outcome // by request: what is wrong with it as it is
	every  int
	o      wire.Options
}

// An outcome is the rules that a request breaks, each once, in order.
type outcome []string

// NewWalk finds the requests of a history, which should have been repaired: what is
// wrong with it is wrong with the requests, too. It looks at the history once.
func NewWalk(r *wire.Request) *Walk { return newWalk(r, nil, 1) }

// newWalk takes one request of every so many: the last of them, so that the last of all is taken.
// An agent that runs the first calls of a reply while the model goes on writes down their results
// in the middle of it: nothing was sent there.
func newWalk(r *wire.Request, rec *Recording, every int) *Walk {
	w := &Walk{whole: r, every: every, o: wire.Options{Dialect: r.Dialect, Profile: r.Profile.Name, Model: r.Model()}}
	all, reply := r.Transcript().Messages(), ""
	for i := range all {
		if planner.StartsModelTurn(all, i) {
			if now := rec.reply(i); now == "" || now != reply {
				w.ends = append(w.ends, i)
			}
		}
		if now := rec.reply(i); now != "" {
			reply = now
		}
	}
	if n := len(all); n > 0 && all[n-1].Role != transcript.Assistant {
		w.ends = append(w.ends, n)
	}
	if n := len(w.ends); every > 1 && n > 0 {
		var some []int
		for i := (n - 1) % every; i < n; i += every {
			some = append(some, w.ends[i])
		}
		w.ends = some
	}
	w.judge()
	return w
}

// judge finds what the provider would say to each request as it is, without reading
// any of them: what it says to the whole, as far as that is there, and to calls
// whose results are not there yet.
func (w *Walk) judge() {
	w.faults = make(map[int]outcome)
	found := w.whole.Check(wire.CheckOptions{})
	// Flaws inside of strings would have to be found again in each request.
	w.o.Structural = len(found) == 0
	for _, f := range found {
		from, _ := slices.BinarySearch(w.ends, f.Index+1)
		for k := from; k < len(w.ends); k++ { // bounded by findings × requests, of a repaired history none
			w.faults[k] = w.faults[k].and(f.Rule)
		}
	}
	t := w.whole.Transcript()
	for _, x := range t.Exchanges() {
		if x.Server || x.Call == transcript.NoBlock || len(x.Results) == 0 {
			continue
		}
		from, _ := slices.BinarySearch(w.ends, t.Block(x.Call).Message+1)
		for k := from; k < len(w.ends) && w.ends[k] <= t.Block(x.Results[0]).Message; k++ {
			w.faults[k] = w.faults[k].and("orphan-call")
		}
	}
}

func (o outcome) and(rule string) outcome {
	if slices.Contains(o, rule) {
		return o
	}
	return append(o, rule)
}

// Len is the number of requests.
func (w *Walk) Len() int { return len(w.ends) }

// Messages is how many messages a request has.
func (w *Walk) Messages(k int) int { return w.ends[k] }

// Body returns the bytes of a request: those of the history up to its last message,
// and what stands behind the list.
func (w *Walk) Body(k int) []byte {
	raw, all := w.whole.Raw(), w.whole.Transcript().Messages()
	return slices.Concat(raw[:all[w.ends[k]-1].Span.End], raw[all[len(all)-1].Span.End:])
}

// Request reads a request, which takes time in proportion to its length.
func (w *Walk) Request(k int) (*wire.Request, error) {
	r, err := wire.Parse(w.Body(k), w.o)
	if err != nil {
		return nil, fmt.Errorf("request %d of %d: %w", k+1, len(w.ends), err)
	}
	return r, nil
}

// reply is the model's turn that follows a request, in the messages from up to end: those of the
// assistant. Results may stand in between.
func (w *Walk) reply(k int) (from, end int) {
	all := w.whole.Transcript().Messages()
	from, next := w.ends[k], len(all)
	if k+1 < len(w.ends) && w.every == 1 {
		next = w.ends[k+1]
	}
	for end = from; end < len(all) && all[end].Turn == all[from].Turn; end++ {
	}
	for i := end; i < next && w.every == 1; i++ {
		if all[i].Role == transcript.Assistant {
			end = i + 1
		}
	}
	return from, end
}
