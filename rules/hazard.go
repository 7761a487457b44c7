package rules

import (
	"cmp"
	"math"
	"slices"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/ladder"
	"github.com/pare-llm/pare/internal/names"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Hazard clears results that will hardly be needed again: where reading them once more, should
// it come to that, is expected to cost less than sending them along with the requests to come. How
// likely a result is to be needed follows from how many names nothing newer holds, and from its
// age. What it was about stays, as a list of those names. The newest text of a file is four times
// as likely to be needed, and stays for some time whatever the odds.
//
// It is for moments at which the provider's cache has expired: see [pare.Window]. It is a value
// that many goroutines may use.
type Hazard struct {
	// How many requests are to come, as a percentage of those so far. Default: 200.
	Horizon int
	// For how many requests the newest text of a file stays. Default: 32; negative is not at all.
	Pin int
	// How many names a placeholder lists. Default: 60; negative is none.
	Names int
	// Results that are shorter are left alone. Default: 512.
	MinBytes int
	Scope
	// Beside is how many tokens each request has that the history does not show, for those who
	// know it from elsewhere.
	Beside int
}

// Rule returns the rule, or what is wrong with its options.
func (o Hazard) Rule() (pare.Rule, error) {
	guard := o.guard()
	rule := pare.Rule{
		Name:   "hazard",
		Doc:    "clear results that will hardly be needed again, and list the names in them",
		Before: protectors(),
		Recent: true,
	}
	rule.Prepare = func(r *wire.Request) (pare.Process, error) {
		s := guard.sightOf(r)
		return s.votes(rule.Name, o.MinBytes, func() []victim { return s.unlikely(o) }), nil
	}
	var wrong faults
	wrong.atLeast("horizon", o.Horizon, 0)
	wrong.atLeast("pin", o.Pin, -1)
	wrong.atLeast("names", o.Names, -1)
	wrong.atLeast("min_bytes", o.MinBytes, 0)
	wrong.scope(o.Scope)
	return rule, wrong.of(rule)
}

const (
	// A result is only cleared if this many requests have read it.
	leastAge = 2
	// bytesPerToken is what transcripts of coding agents have, JSON included.
	bytesPerToken = 3
	// One more request has a call, and what the model says with it.
	replyTokens = 100
)

// A chance is what is known of a result.
type chance struct {
	exchange int
	about    about
	age      int      // in requests
	own      []string // names that nothing newer holds, the most frequent first
	newest   bool     // it is the newest text of a file
	size     int      // bytes
	args     bool     // it is not the result but the arguments of the call
}

// hazard is the chance that what the result says is needed again. The weights were fitted to
// sessions of coding agents; docs/value.md says how well they do.
func (c *chance) hazard() float64 {
	x := -1.83 + 0.61*math.Log(float64(1+len(c.own))) - 0.48*math.Log(float64(max(c.age, 1)))
	p := 1 / (1 + math.Exp(-x))
	if c.newest {
		p *= 4
	}
	return min(p, 1)
}

// unlikely finds the results that are better read again, should they be needed, than sent along.
func (s *sight) unlikely(o Hazard) (all []victim) {
	terms, reply := tokens.CacheOf(s.r.Model()), 5.0
	if price, ok := tokens.PriceOf(s.r.Model()); ok && price.Input > 0 {
		reply = float64(price.Output) / float64(price.Input)
	}
	read, write := float64(terms.Read)/1000, float64(terms.Write)/1000
	requests := float64(ladder.Requests(s.t)) * float64(cmp.Or(o.Horizon, 200)) / 100
	context := float64(len(s.r.Raw())/bytesPerToken + o.Beside)
	for _, c := range s.chances(o) {
		if c.age < leastAge || s.guards(c.about.file) || c.newest && c.age < cmp.Or(o.Pin, 32) {
			continue
		}
		digest := names.Digest(c.own, cmp.Or(o.Names, 60), c.size/4)
		saved := float64((c.size - len(digest)) / bytesPerToken)
		again := context*read + float64(c.size/bytesPerToken)*write + replyTokens*reply
		if saved*read*requests <= c.hazard()*again {
			continue
		}
		all = append(all, victim{exchange: c.exchange, about: c.about, why: "it will hardly be needed again", names: digest, keepArgs: !c.args, keepSaid: c.args})
	}
	return all
}

// chances looks at all results, from the newest back to the oldest: a name belongs to the newest
// block that has it, so that it does not matter what has been cleared before. They are in order of
// exchanges.
func (s *sight) chances(o Hazard) (all []chance) {
	at := requestsOf(s.t)
	results, calls := make(map[transcript.BlockID]int), make(map[transcript.BlockID]int)
	for i, x := range s.exchanges {
		results[x.Results[0]], calls[x.Call] = i, i
	}
	held, shown := make(map[uint64]bool), make(map[string]bool)
	least := minOf(o.MinBytes)
	for id := len(s.t.Blocks()) - 1; id >= 0; id-- {
		b := transcript.BlockID(id)
		blk := s.t.Block(b)
		i, isResult := results[b]
		var of use
		if x := s.t.ExchangeOf(b); isResult {
			of = s.used(s.tool(s.t.Exchanges()[i].Tool), &s.t.Exchanges()[i])
		} else if j, ok := calls[b]; ok {
			i, of = j, s.written(&s.t.Exchanges()[x])
		}
		c := chance{exchange: i, size: blk.Body.Len(), about: about{of.kind, of.file}, age: at[len(at)-1] - at[blk.Message], args: !isResult}
		var own map[string]int
		if c.size >= least && (isResult || of.file != "") {
			own = make(map[string]int)
			c.newest = of.file != "" && !shown[of.file] && (!isResult || of.kind == kindRead)
		}
		if of.file != "" && (isResult && of.kind == kindRead || !isResult && of.kind == kindWrite) {
			shown[of.file] = true
		}
		s.own(b, held, own)
		if own != nil {
			c.own = names.Frequent(own)
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b chance) int { return a.exchange - b.exchange })
	return all
}

// requestsOf numbers, for each message, the request that brought it first; the last number is that
// of the request that is made now.
func requestsOf(t *transcript.Transcript) []int {
	ms := t.Messages()
	at, n := make([]int, len(ms)+1), 1
	for i := range ms {
		if ladder.Begins(ms, i) {
			n++
		}
		at[i] = n
	}
	at[len(ms)] = n
	return at
}

// own counts the names of a block that nothing newer holds, if own is not nil, and holds all of
// them.
func (s *sight) own(b transcript.BlockID, held map[uint64]bool, own map[string]int) {
	var text string
	if k := s.t.Block(b).Kind; k == transcript.Call || k == transcript.ServerCall {
		text = string(wire.Arguments(s.t, b))
	} else {
		text = s.r.Text(b)
	}
	var hold []uint64
	names.Each(text, func(name string) {
		mark := names.Hash(name)
		if held[mark] {
			return
		}
		hold = append(hold, mark)
		if own != nil {
			own[name]++
		}
	})
	for _, mark := range hold {
		held[mark] = true
	}
}
