package rules

import (
	"fmt"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Recency protects every atom that reaches into the last messages, turns or exchanges. At most one
// option may be set; without any, Recency protects the last 10 messages. Zero protects nothing. A
// number larger than the history protects everything. A Recency is safe for concurrent use.
type Recency struct {
	// How many messages at the end are protected. Default: 10, unless another unit is chosen.
	Messages *int `json:"messages,omitempty"`
	// How many turns at the end are protected; a turn begins where a person speaks. Default: not set.
	Turns *int `json:"turns,omitempty"`
	// How many calls at the end are protected, with all that stands behind the first of them. Default: not set.
	Exchanges *int `json:"exchanges,omitempty"`
}

const defaultRecentMessages = 10

// Rule returns the rule, or an [OptionErrors] for invalid options.
func (o Recency) Rule() (pare.Rule, error) {
	rule := pare.Rule{
		Name:   recencyName,
		Recent: true,
		Doc:    "protect the last messages, turns or exchanges; 10 messages by default",
		Prepare: func(r *wire.Request) (pare.Process, error) {
			t := r.Transcript()
			from, why := o.firstProtected(r)
			return func(b *pare.Ballot) {
				for id := from; int(id) < len(t.Blocks()); id++ {
					a := t.AtomOf(id)
					if blocks := t.Atoms()[a].Blocks; blocks[len(blocks)-1] == id {
						b.Protect(a, "%s", why)
					}
				}
			}, nil
		},
	}
	var wrong optionErrors
	first := ""
	for _, u := range []struct {
		name string
		n    *int
	}{{"messages", o.Messages}, {"turns", o.Turns}, {"exchanges", o.Exchanges}} {
		switch {
		case u.n == nil:
		case *u.n < 0:
			wrong.checkMinimum(u.name, *u.n, 0)
		case first != "":
			wrong.add(first, *u.n, "", "messages, turns, exchanges: choose one of them")
		default:
			first = u.name
		}
	}
	return rule, wrong.errorFor(rule)
}

const recencyName = "recency"

// firstProtected returns the first protected block and the reason. The block need not begin a
// message: a person may write after the results of the previous turn.
func (o Recency) firstProtected(r *wire.Request) (from transcript.BlockID, why string) {
	t := r.Transcript()
	ms := t.Messages()
	from = transcript.BlockID(len(t.Blocks()))
	switch {
	case o.Turns != nil:
		return startOfLastTurns(r, *o.Turns), fmt.Sprintf("in the last %d turns", *o.Turns)
	case o.Exchanges != nil:
		xs := t.Exchanges()
		for i, n := len(xs)-1, *o.Exchanges; i >= 0 && n > 0; i-- {
			if xs[i].Call != transcript.NoBlock {
				from = min(from, xs[i].Call)
				n--
			}
		}
		return from, fmt.Sprintf("in the last %d exchanges", *o.Exchanges)
	}
	n := defaultRecentMessages
	if o.Messages != nil {
		n = *o.Messages
	}
	if n > 0 && len(ms) > 0 {
		from = ms[max(0, len(ms)-n)].First
	}
	return from, fmt.Sprintf("in the last %d messages", n)
}

// startOfLastTurns returns the block at which the last n turns begin. Consecutive messages of a
// person begin one turn.
func startOfLastTurns(r *wire.Request, n int) transcript.BlockID {
	t := r.Transcript()
	ms := t.Messages()
	from := transcript.BlockID(len(t.Blocks()))
	for i := len(ms) - 1; i >= 0 && n > 0; i-- {
		speaks := firstSpokenBlock(r, ms[i])
		if from = ms[i].First; speaks == transcript.NoBlock {
			continue
		}
		if i > 0 && speaks == ms[i].First && firstSpokenBlock(r, ms[i-1]) != transcript.NoBlock {
			continue
		}
		from = speaks
		n--
	}
	if n > 0 {
		return 0
	}
	return from
}

// firstSpokenBlock returns the first block of a message that a person wrote or attached, or
// NoBlock.
func firstSpokenBlock(r *wire.Request, m transcript.Message) transcript.BlockID {
	for b := m.First; b < m.End && m.Speaks; b++ {
		if dialect.FromPerson(r, b) {
			return b
		}
	}
	return transcript.NoBlock
}
