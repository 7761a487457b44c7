package rules

import (
	"cmp"
	"math"
	"slices"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/guidance"
	"github.com/pare-llm/pare/internal/names"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Hazard clears results that will hardly be needed again: reading them again is expected to cost
// less than sending them along with all requests to come. A result is the less likely to be needed
// the older it is and the fewer of its names are missing from newer messages. A placeholder lists
// these names. The newest text of a file is four times as likely to be needed, and stays for a
// number of requests in any case. Instructions, skills, plans, tasks and to-do lists stay.
//
// Hazard is meant for requests whose provider cache has expired: see [pare.Window]. A Hazard is
// safe for concurrent use.
type Hazard struct {
	// The number of requests to come, as a percentage of the requests so far. Default: 200.
	Horizon int
	// The number of requests for which the newest text of a file stays. Default: 32; negative is
	// none.
	Pin int
	// The number of names that a placeholder lists. Default: 60; negative is none.
	Names int
	// Results that are shorter are left alone. Default: 512.
	MinBytes int
	Scope
	// The number of tokens in each request that the history does not show, if the caller knows it.
	Beside int
}

// Rule returns the rule, or an [OptionErrors] for invalid options.
func (o Hazard) Rule() (pare.Rule, error) {
	guard := o.compile()
	rule := pare.Rule{
		Name:   "hazard",
		Doc:    "clear results that will hardly be needed again, and list the names in them",
		Before: protectingRules(),
		Recent: true,
	}
	replay := func(r *wire.Request) (func(b *pare.Ballot, messages int), error) {
		return guard.view(r).newHazardIndex(o).vote, nil
	}
	rule.Prepare = func(r *wire.Request) (pare.Process, error) {
		vote, err := replay(r)
		return func(b *pare.Ballot) { vote(b, len(r.Transcript().Messages())) }, err
	}
	rule = planner.WithReplay(rule, replay)
	var wrong optionErrors
	wrong.checkMinimum("horizon", o.Horizon, 0)
	wrong.checkMinimum("pin", o.Pin, -1)
	wrong.checkMinimum("names", o.Names, -1)
	wrong.checkMinimum("min_bytes", o.MinBytes, 0)
	wrong.checkScope(o.Scope)
	return rule, wrong.errorFor(rule)
}

const (
	// leastAge is the number of requests that must have read a result before it is cleared.
	leastAge = 2
	// bytesPerToken is typical of transcripts of coding agents, JSON included.
	bytesPerToken = 3
	// replyTokens is the reply of the additional request that reads a result again.
	replyTokens = 100
)

// candidate is a result, or the arguments of a call, that may be cleared.
type candidate struct {
	exchange    int
	block       transcript.BlockID
	subject     subject
	size        int                // bytes
	isArguments bool               // the block is the call
	showsFile   bool               // it contains the text of a file
	replacedBy  transcript.BlockID // the next block with a text of the file
}

// reuseOdds returns the probability that a candidate is needed again. The weights were fitted to
// sessions of coding agents; see docs/value.md.
func reuseOdds(names, age int, newest bool) float64 {
	x := -1.83 + 0.61*math.Log(float64(1+names)) - 0.48*math.Log(float64(max(age, 1)))
	p := 1 / (1 + math.Exp(-x))
	if newest {
		p *= 4
	}
	return min(p, 1)
}

// hazardIndex holds the candidates of a history in the order of exchanges, and an index of the
// names in all blocks. It can vote on every prefix of the history.
type hazardIndex struct {
	*historyView
	options    Hazard
	guidance   []guidance.Kind // by exchange
	candidates []candidate
	nameIndex  names.Index
	requests   []int // by message; see requestNumbers
	reply      float64
	terms      tokens.Cache
}

// newHazardIndex indexes a history.
func (s *historyView) newHazardIndex(o Hazard) *hazardIndex {
	x := &hazardIndex{historyView: s, options: o, guidance: guidance.OfExchanges(s.r), requests: requestNumbers(s.t), reply: 5, terms: tokens.CacheOf(s.r.Model())}
	if price, ok := tokens.PriceOf(s.r.Model()); ok && price.Input > 0 {
		x.reply = float64(price.Output) / float64(price.Input)
	}
	x.nameIndex = names.NewIndex(len(s.t.Blocks()), func(i int) string { return s.blockText(transcript.BlockID(i)) })
	x.candidates = s.findCandidates(minBytesOrDefault(o.MinBytes))
	return x
}

// findCandidates lists the results and arguments of at least minBytes bytes, in the order of
// exchanges.
func (s *historyView) findCandidates(minBytes int) (all []candidate) {
	exchanges := make(map[transcript.BlockID]int) // by call and by result
	for i, x := range s.eachExchange {
		exchanges[x.Results[0]], exchanges[x.Call] = i, i
	}
	newest := make(map[string]transcript.BlockID) // by file: the first block so far with its text
	for b := transcript.BlockID(len(s.t.Blocks()) - 1); b >= 0; b-- {
		i, found := exchanges[b]
		if !found {
			continue
		}
		x := &s.t.Exchanges()[i]
		c := candidate{exchange: i, block: b, size: s.t.Block(b).Body.Len(), isArguments: b == x.Call}
		var of callUse
		if c.isArguments {
			of = s.writtenBy(x)
		} else {
			of = s.readCall(s.lookUpTool(x.Tool), x)
		}
		c.subject = subject{of.kind, of.file}
		c.showsFile = of.file != "" && (c.isArguments || of.kind == kindRead)
		c.replacedBy = transcript.BlockID(len(s.t.Blocks()))
		if next, found := newest[of.file]; found {
			c.replacedBy = next
		}
		if of.file != "" && (!c.isArguments && of.kind == kindRead || c.isArguments && of.kind == kindWrite) {
			newest[of.file] = b
		}
		if c.size >= minBytes && (!c.isArguments || of.file != "") {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Or(a.exchange-b.exchange, int(a.block-b.block)) })
	return all
}

// vote clears the candidates among the first messages that are cheaper to read again than to keep.
func (x *hazardIndex) vote(b *pare.Ballot, messages int) {
	if messages == 0 {
		return
	}
	ballots := x.newVoter("hazard", x.options.MinBytes)
	last := &x.t.Messages()[messages-1]
	spared := x.exchangesBefore(last.End) - x.KeepLast
	for i := range x.candidates {
		c := &x.candidates[i]
		if c.exchange >= spared {
			break
		}
		isThere := x.t.Exchanges()[c.exchange].Results[0] < last.End
		if !isThere || planner.IsCut(b, c.block) || x.guidance[c.exchange] != guidance.None || x.isProtectedFile(c.subject.file) {
			continue
		}
		if digest, unlikely := x.digestIfUnlikely(c, messages); unlikely {
			ballots.vote(b, &uselessExchange{exchange: c.exchange, subject: c.subject, reason: "it will hardly be needed again", names: digest, keepArguments: !c.isArguments, keepResult: c.isArguments})
		}
	}
}

// exchangesBefore returns the number of exchanges that begin before a block.
func (x *hazardIndex) exchangesBefore(end transcript.BlockID) int {
	all := x.t.Exchanges()
	n, _ := slices.BinarySearchFunc(all, end, func(e transcript.Exchange, end transcript.BlockID) int {
		first := e.Call
		if first == transcript.NoBlock {
			first = e.Results[0]
		}
		return cmp.Compare(first, end)
	})
	return n
}

// digestIfUnlikely reports whether reading a candidate again is expected to cost less than sending
// it with the requests to come. The digest lists its names that no newer block of the first
// messages contains.
func (x *hazardIndex) digestIfUnlikely(c *candidate, messages int) (digest string, unlikely bool) {
	ms := x.t.Messages()
	last := &ms[messages-1]
	request := x.requests[messages-1]
	age := request - x.requests[x.t.Block(c.block).Message]
	newest := c.showsFile && c.replacedBy >= last.End
	if age < leastAge || newest && age < cmp.Or(x.options.Pin, 32) {
		return "", false
	}
	beside := len(x.r.Raw()) - (ms[len(ms)-1].Span.End - last.Span.End) // the head and all messages so far
	read, write := float64(x.terms.Read)/1000, float64(x.terms.Write)/1000
	again := float64(beside/bytesPerToken+x.options.Beside)*read + float64(c.size/bytesPerToken)*write + replyTokens*x.reply
	risk := reuseOdds(x.nameIndex.CountLast(int(c.block), int(last.End)), age, newest) * again
	carried := read * float64(request) * float64(cmp.Or(x.options.Horizon, 200)) / 100
	if float64(c.size/bytesPerToken)*carried <= risk {
		return "", false // it does not even pay without a list of names
	}
	own := x.nameIndex.Last(int(c.block), int(last.End), x.blockText(c.block))
	digest = names.Digest(own, cmp.Or(x.options.Names, 60), c.size/4)
	return digest, float64((c.size-len(digest))/bytesPerToken)*carried > risk
}

// requestNumbers returns, for each message, the number of the first request that contained it.
func requestNumbers(t *transcript.Transcript) []int {
	ms := t.Messages()
	at, n := make([]int, len(ms)), 1
	for i := range ms {
		if planner.StartsModelTurn(ms, i) {
			n++
		}
		at[i] = n
	}
	return at
}

// blockText returns the text of a block, or the arguments of a call.
func (s *historyView) blockText(b transcript.BlockID) string {
	if k := s.t.Block(b).Kind; k == transcript.Call || k == transcript.ServerCall {
		return string(wire.Arguments(s.t, b))
	}
	return s.r.Text(b)
}
