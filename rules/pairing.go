package rules

import (
	"fmt"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// PairingOptions are those of [ToolPairing]; the zero value is the default.
type PairingOptions struct {
	// A call that nobody answered: "stub" answers that the outcome is unknown, "drop" removes the call. Default: stub.
	OrphanCall string `json:"orphan_call,omitempty" enum:"stub,drop"`
	// A result without a call: "text" keeps it as quoted text, "drop" removes it. Default: text.
	OrphanResult string `json:"orphan_result,omitempty" enum:"text,drop"`
	// Leave calls at the end open, because they may still be running: right for a store, wrong for a request. Default: false.
	KeepOpen bool `json:"keep_open,omitempty"`
	// What a stub says; {tool} and {id} stand for those of the call. Default: that the outcome is unknown.
	Stub string `json:"stub,omitempty"`
}

// Policy returns how to mend, for [pare.Options].
func (o PairingOptions) Policy() (wire.Policy, error) {
	p := wire.Policy{Open: o.KeepOpen}
	switch o.OrphanCall {
	case "", "stub":
	case "drop":
		p.OrphanCall = wire.Drop
	default:
		return wire.Policy{}, fmt.Errorf("orphan_call: %q is no remedy; write stub or drop", o.OrphanCall)
	}
	switch o.OrphanResult {
	case "", "text":
	case "drop":
		p.OrphanResult = wire.Drop
	default:
		return wire.Policy{}, fmt.Errorf("orphan_result: %q is no remedy; write text or drop", o.OrphanResult)
	}
	if o.Stub != "" {
		p.Stub = func(x transcript.Exchange) string {
			return strings.NewReplacer("{tool}", x.Tool, "{id}", x.CallID).Replace(o.Stub)
		}
	}
	return p, nil
}

// Rule returns the rule, or what is wrong with the options.
func (o PairingOptions) Rule() (pare.Rule, error) {
	_, err := o.Policy()
	return ToolPairing(o), check(toolPairing, err)
}

const toolPairing = "tool-pairing"

// ToolPairing votes for nothing: that a call and its results share one fate is the
// engine's business and needs no rule. It stands in a pipeline so that others can
// come before or after it, and its options are those of the repair, which
// [PairingOptions.Policy] returns.
func ToolPairing(o PairingOptions) pare.Rule {
	return pare.Rule{
		Name: toolPairing,
		Doc:  "choose how halves of pairs are mended; whole pairs stay whole in any case",
		Prepare: func(*wire.Request) (pare.Process, error) {
			_, err := o.Policy()
			return nil, err
		},
	}
}
