package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/wire"
)

// options are what a call is told. Their names are those of the flags of the command line.
type options struct {
	// How the body is read.
	As      string `json:"as"`
	Profile string `json:"profile"`
	Model   string `json:"model"`
	// What counts as broken, and how it is repaired.
	Strict       bool   `json:"strict"`
	Advice       bool   `json:"advice"`
	OrphanCall   string `json:"orphan_call"`
	OrphanResult string `json:"orphan_result"`
	// How tokens are counted.
	Tokenizer string `json:"tokenizer"`
	ByMessage bool   `json:"by_message"`
	// What a request must fit; without any of them, the window of its model.
	MaxTokens    *int `json:"max_tokens"`
	MaxMessages  *int `json:"max_messages"`
	MaxExchanges *int `json:"max_exchanges"`
	MaxTurns     *int `json:"max_turns"`
	MinKeep      *int `json:"min_keep"`
	// Which rules remove what is useless.
	Rules      []string `json:"rules"`
	KeepRecent *int     `json:"keep_recent"`
	// Where a history is cut, which part of it comes back, and what stands for the other.
	Inside  bool   `json:"inside"`
	Part    string `json:"part"`
	Summary string `json:"summary"`
	// Everything that a pare.toml can say, as JSON; not in WebAssembly.
	Config json.RawMessage `json:"config"`

	reading wire.Options
}

func parseOptions(raw []byte) (*options, error) {
	o := &options{}
	if len(bytes.TrimSpace(raw)) > 0 {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(o); err != nil {
			return nil, unknownMember(err, optionNames())
		}
	}
	o.reading = wire.Options{Profile: o.Profile, Model: o.Model}
	if o.As != "" {
		var err error
		if o.reading.Dialect, err = wire.ParseDialect(o.As); err != nil {
			return nil, misuse("as: %v", err)
		}
	}
	return o, o.valid()
}

func optionNames() (names []string) {
	t := reflect.TypeFor[options]()
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("json"); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// valid says which value cannot be.
func (o *options) valid() error {
	for _, n := range []struct {
		name  string
		value *int
		least int
	}{
		{"max_tokens", o.MaxTokens, 1}, {"max_messages", o.MaxMessages, 1}, {"max_exchanges", o.MaxExchanges, 1}, {"max_turns", o.MaxTurns, 1},
		{"min_keep", o.MinKeep, 0}, {"keep_recent", o.KeepRecent, 0},
	} {
		if n.value != nil && *n.value < n.least {
			return misuse("%s is %d: expected a number from %d on", n.name, *n.value, n.least)
		}
	}
	for _, c := range []struct{ name, value, choices string }{
		{"orphan_call", o.OrphanCall, "stub or drop"}, {"orphan_result", o.OrphanResult, "text or drop"}, {"part", o.Part, "head or tail"},
		{"tokenizer", o.Tokenizer, "estimate, exact, o200k or cl100k"},
	} {
		if c.value != "" && !strings.Contains(" "+strings.ReplaceAll(c.choices, ",", "")+" ", " "+c.value+" ") {
			return misuse("%s is %q: expected %s", c.name, c.value, c.choices)
		}
	}
	return nil
}

// policy is what fix, fit or compact do.
func (o *options) policy(name string, cb *caller) (*pare.Policy, error) {
	p, ruled, err := o.configured(name)
	if err != nil {
		return nil, err
	}
	p.Model = o.Model
	p.Check.Strict = p.Check.Strict || o.Strict
	p.Counter = cb.counter(p.Counter)
	o.remedies(p)
	if err := cb.vote(p, ruled); err != nil {
		return nil, err
	}
	if name == "compact" {
		o.author(p, cb)
	}
	return p, nil
}

// limited reports whether a limit is given.
func (o *options) limited() bool {
	return o.MaxTokens != nil || o.MaxMessages != nil || o.MaxExchanges != nil || o.MaxTurns != nil
}

// remedies sets how pairs that are not whole are repaired.
func (o *options) remedies(p *pare.Policy) {
	for _, of := range []struct {
		value  string
		remedy *wire.Remedy
	}{{o.OrphanCall, &p.Repair.OrphanCall}, {o.OrphanResult, &p.Repair.OrphanResult}} {
		switch of.value {
		case "":
		case "drop":
			*of.remedy = wire.RemedyDrop
		default:
			*of.remedy = wire.RemedyKeep
		}
	}
}

// author says who writes the summary: the options, the caller, or nobody but lines that are copied out.
func (o *options) author(p *pare.Policy, cb *caller) {
	c := p.Compact
	c.MinKeep, c.Inside = or(o.MinKeep, c.MinKeep), c.Inside || o.Inside
	switch {
	case o.Summary != "":
		c.Summarize = func(context.Context, pare.Removed) (pare.Summary, error) {
			return pare.Summary{Text: o.Summary, Pinned: true}, nil
		}
	case cb.Summarize != nil:
		c.Summarize = cb.summarizer()
	case len(o.Config) == 0:
		c.Summarize = extract()
	}
}
