package replay

import (
	"fmt"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Mask hides all results but the last ones at each request, as SWE-agent does.
func Mask(results int) Policy {
	return Policy{fmt.Sprintf("mask:results=%d", results), "all results but the last ones hidden, at each request", func(Setting) (Send, error) {
		return func(r *wire.Request) (*wire.Request, error) {
			return hide(r, len(r.Transcript().Exchanges())-results)
		}, nil
	}}
}

// keepAbove is the size from which on Keep hides anything: the default of Anthropic's own
// clearing of tool results.
const keepAbove = 100_000

// Keep hides all results but the last ones whenever what is sent has more than 100,000 tokens, as
// Anthropic's own clearing does where nobody says otherwise.
func Keep(results int) Policy {
	return Policy{fmt.Sprintf("keep:results=%d", results), "all results but the last ones hidden, whenever there are more than 100,000 tokens", func(s Setting) (Send, error) {
		hidden := 0
		return func(r *wire.Request) (*wire.Request, error) {
			out, err := hide(r, hidden)
			if err != nil || out.Tokens(s.Counter)+s.Beside <= keepAbove {
				return out, err
			}
			hidden = max(len(r.Transcript().Exchanges())-results, hidden)
			return hide(r, hidden)
		}, nil
	}}
}

// hide hides the results of the first exchanges.
func hide(r *wire.Request, exchanges int) (*wire.Request, error) {
	const gone = "[Old tool result content cleared]"
	var edits []wire.BlockEdit
	t := r.Transcript()
	for i, x := range t.Exchanges() {
		if i >= exchanges || x.State != transcript.Whole {
			continue
		}
		for _, b := range x.Results {
			if wirex.Editable(r, b) && t.Block(b).Body.Len() > len(gone) {
				edits = append(edits, wire.BlockEdit{Block: b, Text: gone})
			}
		}
	}
	if len(edits) == 0 {
		return r, nil
	}
	out, _, err := wirex.Rewrite(r, nil, edits)
	return out, err
}
