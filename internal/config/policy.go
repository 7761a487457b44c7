package config

import (
	"fmt"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/rulelist"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// Policy compiles the configuration into what is done with a request; getenv tells
// the key of an endpoint, nil knows none. What flags say is set in the Config before,
// see [Config.Only] and [Config.Recent]; what must not be done is taken out of it, or
// out of the policy. The error is an [Errors].
//
// With an archive, the policy is Archived: whoever runs it keeps what
// [pare.Plan.Archive] returns in the file that the configuration names. A program that
// runs for long sets Archive to what archive.Open makes of that file, and closes it.
func (c *Config) Policy(getenv func(string) string) (*pare.Policy, error) {
	s := newSource(new(document))
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	p := c.build(s)
	if p != nil && c.Compact != nil {
		p.Compact.Summarize = c.Compact.summarizer(s, getenv)
	}
	if len(s.errors) > 0 {
		return nil, s.errors.sorted()
	}
	return p, nil
}

// build makes the policy, but for who writes summaries, and reports to s everything
// that stands in its way.
func (c *Config) build(s *source) *pare.Policy {
	s.choose("tokenizer", c.Tokenizer, tokenizers...)
	p := &pare.Policy{
		Off:           c.Enabled != nil && !*c.Enabled,
		Repair:        c.Repair.remedies(s),
		Check:         wire.CheckOptions{Strict: c.Check.Strict, Advice: c.Check.Advice},
		Archived:      c.Archive != nil,
		Counter:       Counter(c.Tokenizer),
		ProviderEdits: c.Provider.means(s),
	}
	if c.Archive != nil && c.Archive.File == "" {
		c.Archive.checkFile(s)
	}
	if c.Stop != nil {
		c.Stop.checkLimits(s)
	}
	if c.Window != nil {
		p.Window = c.Window.window(s)
	}
	if c.Compact != nil {
		p.Compact = c.Compact.compactor(s, p.Archived)
	}
	p.Rules = c.pipeline(s, c.Window != nil)
	return p
}

var tokenizers = []string{"estimate", "exact", "o200k", "cl100k"}

// Counter returns the counters that go by the name of a tokenizer, for
// [pare.Policy.Counter]; "" is estimate, and so is a name that there is not.
func Counter(tokenizer string) func(model string) (wire.Counter, error) {
	return func(model string) (wire.Counter, error) {
		e := tokens.For(model)
		switch tokenizer {
		case "o200k":
			return e.Reading(tokens.O200k()), nil
		case "cl100k":
			return e.Reading(tokens.CL100k()), nil
		case "exact":
			x, ok := tokensx.ExactFor(model)
			if !ok {
				return nil, &VocabularyError{model}
			}
			return e.Reading(x), nil
		}
		return e, nil
	}
}

// A VocabularyError is the error for a model whose tokens cannot be counted exactly. Many
// goroutines may read it.
type VocabularyError struct{ Model string }

func (e *VocabularyError) Error() string {
	if e.Model == "" {
		return "tokenizer exact: the request names no model"
	}
	return fmt.Sprintf("tokenizer exact: the vocabulary of %q is not published", e.Model)
}

// silent reports whether nothing is said of what is recent. A window has an idea of
// its own of that.
func (c *Config) silent(e rulelist.Entry) bool {
	return e.Name == "recency" && c.KeepRecent == nil && c.Standard[e.Name] == nil
}
