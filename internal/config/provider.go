package config

import "github.com/pare-llm/pare"

// Provider says what is left to the provider of a model; only `pare serve` can do that, and
// only towards Anthropic. Many goroutines may read it.
type Provider struct {
	// Thinking that a change has made invalid: "strip" leaves it out of the request, and all that comes after it; "drop" asks the provider to drop it, in this and all later requests of the conversation; "cost" does what costs less. Default: cost.
	Thinking string `json:"thinking,omitempty" enum:"cost,strip,drop"`
	// Let the provider clear old results of tools, on models that bind thinking to what stands in front of it: that invalidates no thinking. Default: false.
	ClearResults bool `json:"clear_results,omitempty"`
}

func (p Provider) means(s *source) pare.ProviderEdits {
	s.choose("provider.thinking", p.Thinking, "cost", "strip", "drop")
	m := pare.ProviderEdits{ClearResults: p.ClearResults}
	if drop := p.Thinking == "drop"; drop || p.Thinking == "strip" {
		m.DropThinking = &drop
	}
	return m
}
