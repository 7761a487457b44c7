package pare

import (
	"cmp"
	"strings"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// An Exchange is a call with its result, as a rule made by [Each] sees it.
type Exchange struct {
	Tool      string
	Arguments []byte             // JSON, or plain text for tools that take plain text
	Result    string             // the result as plain text
	Outcome   transcript.Outcome // whether the tool succeeded, failed, or left it open
	Age       int                // how often the user has spoken since
	Last      bool               // no later call is to the same tool

	exchange transcript.Exchange
}

// Argument returns an argument as text: the content of a string, and the JSON of any other value.
// It returns "" if there is no argument of that name.
func (x Exchange) Argument(name string) string {
	text, _ := jsonspan.FindText(x.Arguments, name)
	return text
}

// A Vote is the opinion of a rule on an exchange. The zero value is no opinion. Protect wins over
// Drop, and Drop wins over Replace.
type Vote struct {
	Protect bool   // keep every byte of the exchange, whatever other rules vote for
	Drop    bool   // remove the call and its result
	Replace string // replace the result by this text; "" keeps the result
	Why     string // the reason, for receipts; "" is the rule's doc
}

// Each returns a rule that calls a function for every exchange:
//
//	old := pare.Each("old-searches", "drop old searches", func(x pare.Exchange) pare.Vote {
//		return pare.Vote{Drop: x.Tool == "Grep" && x.Age > 3}
//	})
//
// The function sees every complete exchange, oldest first. It does not see calls that may still be
// running, or calls of tools that the provider runs. A result that quotes the user, such as a
// refused permission, is neither dropped nor replaced. A result in several parts is not replaced.
// The function must be safe for concurrent use.
//
// A rule that compares exchanges, or looks at other parts of a history, needs a [Rule] with its own
// Prepare.
func Each(name, doc string, vote func(Exchange) Vote) Rule {
	return Rule{Name: name, Doc: doc, Prepare: func(r *wire.Request) (Process, error) {
		return func(b *Ballot) {
			for _, x := range completeExchanges(r) {
				castVote(b, r.Transcript().AtomOf(x.exchange.Call), x, vote(x), doc)
			}
		}, nil
	}}
}

// completeExchanges returns the exchanges of a request that have ended, without those of the
// provider's tools.
func completeExchanges(r *wire.Request) (exchanges []Exchange) {
	t := r.Transcript()
	isOpen := make([]bool, len(t.Atoms()))
	lastOfTool := make(map[string]int)
	for i, x := range t.Exchanges() {
		lastOfTool[x.Tool] = i
		if x.Call != transcript.NoBlock && x.State != transcript.Whole {
			isOpen[t.AtomOf(x.Call)] = true
		}
	}
	since := planner.TurnsSince(t)
	for i, x := range t.Exchanges() {
		if x.State != transcript.Whole || x.Server || isOpen[t.AtomOf(x.Call)] {
			continue
		}
		exchanges = append(exchanges, Exchange{
			Tool:      x.Tool,
			Arguments: wire.Arguments(t, x.Call),
			Result:    resultText(r, x),
			Outcome:   resultOutcome(r, x),
			Age:       since[t.Block(x.Call).Message],
			Last:      lastOfTool[x.Tool] == i,
			exchange:  x,
		})
	}
	return exchanges
}

// resultText returns the text of all parts of a result.
func resultText(r *wire.Request, x transcript.Exchange) string {
	parts := make([]string, len(x.Results))
	for i, b := range x.Results {
		parts[i] = r.Text(b)
	}
	return strings.Join(parts, "\n")
}

// resultOutcome returns the outcome of a result. If one part has failed, the result has failed.
func resultOutcome(r *wire.Request, x transcript.Exchange) (o transcript.Outcome) {
	for _, b := range x.Results {
		o = max(o, r.Outcome(b))
	}
	return o
}

// castVote casts the vote of a function on an exchange.
func castVote(b *Ballot, atom transcript.AtomID, x Exchange, v Vote, doc string) {
	reason := cmp.Or(v.Why, doc)
	results := x.exchange.Results
	switch {
	case v.Protect:
		b.Protect(atom, "%s", reason)
	case dialect.PersonSpeaks([]byte(x.Result)):
	case v.Drop:
		b.Drop(atom, "%s", reason)
	case v.Replace != "" && v.Replace != x.Result && len(results) == 1:
		b.Edit(results[0], v.Replace, "%s", reason)
	}
}
