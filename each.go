package pare

import (
	"cmp"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/ladder"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// An Exchange is what a rule made by [Each] sees of one call and its result. It is a value
// that many goroutines may read.
type Exchange struct {
	Tool      string
	Arguments []byte             // as JSON; a tool that takes plain text has that text
	Result    string             // what the tool answered, as plain text
	Outcome   transcript.Outcome // whether it succeeded, failed, or nobody can tell
	Age       int                // how often the user has spoken since
	Last      bool               // no later call is to the same tool

	x transcript.Exchange
}

// Argument returns one argument as text: a string as it is, anything else as JSON. It
// is "" if there is no argument of that name.
func (x Exchange) Argument(name string) string {
	text, _ := jsonspan.FindText(x.Arguments, name)
	return text
}

// A Vote is what a rule wants to happen to an exchange. The zero value has no opinion.
// Protect wins over Drop, and Drop wins over Replace. It is a value that many goroutines
// may use.
type Vote struct {
	Protect bool   // keep every byte of it, whatever other rules say
	Drop    bool   // remove the call and its result
	Replace string // put this text in place of the result; "" leaves the result alone
	Why     string // the reason, for the plan and its receipts; "" is the rule's doc
}

// Each makes a rule out of a function that looks at one exchange at a time:
//
//	old := pare.Each("old-searches", "drop old searches", func(x pare.Exchange) pare.Vote {
//		return pare.Vote{Drop: x.Tool == "Grep" && x.Age > 3}
//	})
//
// The function sees every exchange that is complete, oldest first. It does not see calls
// that may still be running, nor those of tools that the provider runs itself. A result
// that quotes the user, such as a refused permission, is neither dropped nor replaced,
// and a result that came in several parts is not replaced. Many goroutines may call the
// function at once.
//
// A rule that has to compare exchanges, or to look at other parts of a history, is a
// [Rule] with a Prepare of its own.
func Each(name, doc string, vote func(Exchange) Vote) Rule {
	return Rule{Name: name, Doc: doc, Prepare: func(r *wire.Request) (Process, error) {
		return func(b *Ballot) {
			for _, x := range complete(r) {
				b.vote(x, vote(x), doc)
			}
		}, nil
	}}
}

// complete lists the exchanges of a request that are over and that the client's own
// tools have answered.
func complete(r *wire.Request) (all []Exchange) {
	t := r.Transcript()
	open := make([]bool, len(t.Atoms()))
	last := make(map[string]int) // by tool
	for i, x := range t.Exchanges() {
		last[x.Tool] = i
		if x.Call != transcript.NoBlock && x.State != transcript.Whole {
			open[t.AtomOf(x.Call)] = true
		}
	}
	since := ladder.TurnsSince(t)
	for i, x := range t.Exchanges() {
		if x.State != transcript.Whole || x.Server || open[t.AtomOf(x.Call)] {
			continue
		}
		all = append(all, Exchange{
			Tool: x.Tool, Arguments: wire.Arguments(t, x.Call), Result: resultText(r, x), Outcome: outcomeOf(r, x),
			Age: since[t.Block(x.Call).Message], Last: last[x.Tool] == i, x: x,
		})
	}
	return all
}

// resultText is what all parts of a result say.
func resultText(r *wire.Request, x transcript.Exchange) string {
	parts := make([]string, len(x.Results))
	for i, b := range x.Results {
		parts[i] = r.Text(b)
	}
	return strings.Join(parts, "\n")
}

// outcomeOf judges a result by its parts: one that failed decides.
func outcomeOf(r *wire.Request, x transcript.Exchange) (o transcript.Outcome) {
	for _, b := range x.Results {
		o = max(o, r.Outcome(b))
	}
	return o
}

// vote casts what a function said about an exchange.
func (b *Ballot) vote(x Exchange, v Vote, doc string) {
	atom, why := b.t.AtomOf(x.x.Call), cmp.Or(v.Why, doc)
	switch {
	case v.Protect:
		b.Protect(atom, "%s", why)
	case wirex.PersonSpeaks([]byte(x.Result)):
	case v.Drop:
		b.Drop(atom, "%s", why)
	case v.Replace != "" && v.Replace != x.Result && len(x.x.Results) == 1:
		b.Edit(x.x.Results[0], v.Replace, "%s", why)
	}
}
