package rules

import "github.com/pare-llm/pare"

// Toy drops calls of a tool that nobody needs to remember.
type Toy struct {
	// Name of the tool. Default: Sleep.
	Tool string `json:"tool,omitempty"`
}

// Rule returns the rule.
func (o Toy) Rule() (pare.Rule, error) {
	if o.Tool == "" {
		o.Tool = "Sleep"
	}
	return pare.Each("toy", "drop calls of one tool", func(x pare.Exchange) pare.Vote {
		return pare.Vote{Drop: x.Tool == o.Tool, Why: "a call of " + o.Tool}
	}), nil
}
