package rules

import (
	"cmp"
	"math"
	"slices"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/guidance"
	"github.com/pare-llm/pare/internal/ladder"
	"github.com/pare-llm/pare/internal/names"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Hazard clears results that will hardly be needed again: where reading them once more, should
// it come to that, is expected to cost less than sending them along with the requests to come. How
// likely a result is to be needed follows from how many names nothing newer holds, and from its
// age. What it was about stays, as a list of those names. The newest text of a file is four times
// as likely to be needed, and stays for some time whatever the odds. Instructions, skills, plans, tasks
// and to-do lists stay.
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
	// A result is only cleared if this many requests have read it.
	leastAge = 2
	// bytesPerToken is what transcripts of coding agents have, JSON included.
	bytesPerToken = 3
	// One more request has a call, and what the model says with it.
	replyTokens = 100
)

// A candidate is a result, or the arguments of a call, that may be cleared.
type candidate struct {
	exchange    int
	block       transcript.BlockID
	subject     subject
	size        int                // bytes
	isArguments bool               // it is the arguments of the call
	showsFile   bool               // it has the text of a file
	replacedBy  transcript.BlockID // the next block that has a text of the file
}

// hazard is the chance that a candidate is needed again. The weights were fitted to sessions of coding
// agents; docs/value.md has the figures.
func reuseOdds(names, age int, newest bool) float64 {
	x := -1.83 + 0.61*math.Log(float64(1+names)) - 0.48*math.Log(float64(max(age, 1)))
	p := 1 / (1 + math.Exp(-x))
	if newest {
		p *= 4
	}
	return min(p, 1)
}

// Results are the candidates of a history in the order of exchanges, with an index of the names in all
// of its blocks. They answer for every beginning of the history.
type hazardIndex struct {
	*historyView
	options    Hazard
	guidance   []guidance.Kind // by exchange
	candidates []candidate
	nameIndex  names.Index
	requests   []int // by message, as requestsOf numbers them
	reply      float64
	terms      tokens.Cache
}

// resultsOf reads a history.
func (s *historyView) newHazardIndex(o Hazard) *hazardIndex {
	x := &hazardIndex{historyView: s, options: o, guidance: guidance.OfExchanges(s.r), requests: requestNumbers(s.t), reply: 5, terms: tokens.CacheOf(s.r.Model())}
	if price, ok := tokens.PriceOf(s.r.Model()); ok && price.Input > 0 {
		x.reply = float64(price.Output) / float64(price.Input)
	}
	x.nameIndex = names.NewIndex(len(s.t.Blocks()), func(i int) string { return s.blockText(transcript.BlockID(i)) })
	x.candidates = s.findCandidates(minBytesOrDefault(o.MinBytes))
	return x
}

// candidates lists what is at least so many bytes long, in the order of exchanges.
func (s *historyView) findCandidates(least int) (all []candidate) {
	exchanges := make(map[transcript.BlockID]int) // by call and by result
	for i, x := range s.eachExchange {
		exchanges[x.Results[0]], exchanges[x.Call] = i, i
	}
	newest := make(map[string]transcript.BlockID) // by file: the first block so far that has its text
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
		if c.size >= least && (!c.isArguments || of.file != "") {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Or(a.exchange-b.exchange, int(a.block-b.block)) })
	return all
}

// vote clears what is better read again, should it be needed, than sent along, of the first messages
// of the history.
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

// exchangesBefore is how many exchanges have a call before a block.
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

// unlikely reports whether it is expected to cost less to read a candidate again than to send it with
// the requests to come, and lists the names in it that no newer block of the first messages has.
func (x *hazardIndex) digestIfUnlikely(c *candidate, messages int) (digest string, unlikely bool) {
	ms := x.t.Messages()
	last := &ms[messages-1]
	request := x.requests[messages-1]
	age := request - x.requests[x.t.Block(c.block).Message]
	newest := c.showsFile && c.replacedBy >= last.End
	if age < leastAge || newest && age < cmp.Or(x.options.Pin, 32) {
		return "", false
	}
	beside := len(x.r.Raw()) - (ms[len(ms)-1].Span.End - last.Span.End) // the head, and all messages that were there
	read, write := float64(x.terms.Read)/1000, float64(x.terms.Write)/1000
	again := float64(beside/bytesPerToken+x.options.Beside)*read + float64(c.size/bytesPerToken)*write + replyTokens*x.reply
	risk := reuseOdds(x.nameIndex.CountLast(int(c.block), int(last.End)), age, newest) * again
	carried := read * float64(request) * float64(cmp.Or(x.options.Horizon, 200)) / 100
	if float64(c.size/bytesPerToken)*carried <= risk {
		return "", false // even without a list of names
	}
	own := x.nameIndex.Last(int(c.block), int(last.End), x.blockText(c.block))
	digest = names.Digest(own, cmp.Or(x.options.Names, 60), c.size/4)
	return digest, float64((c.size-len(digest))/bytesPerToken)*carried > risk
}

// requestsOf numbers, for each message, the request that brought it first.
func requestNumbers(t *transcript.Transcript) []int {
	ms := t.Messages()
	at, n := make([]int, len(ms)), 1
	for i := range ms {
		if ladder.Begins(ms, i) {
			n++
		}
		at[i] = n
	}
	return at
}

// blockText is the text of a block; of a call, its arguments.
func (s *historyView) blockText(b transcript.BlockID) string {
	if k := s.t.Block(b).Kind; k == transcript.Call || k == transcript.ServerCall {
		return string(wire.Arguments(s.t, b))
	}
	return s.r.Text(b)
}
