package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/hosts"
	"github.com/pare-llm/pare/internal/suggest"
	"github.com/pare-llm/pare/wire"
)

// options are what a call is told. Their names are those of the flags of the command line.
type options struct {
	// How the body is read.
	As      string `json:"as"`
	Profile string `json:"profile"`
	Model   string `json:"model"`
	// What counts as broken, and how it is repaired.
	Strict       *bool  `json:"strict"`
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
	// How long all summaries together may be.
	MaxSummary *int `json:"max_summary"`
	// Everything that a pare.toml can say, as JSON; not in WebAssembly.
	Config json.RawMessage `json:"config"`

	reading wire.Options
	host    string // the shape of a host that the body is in
}

func parseOptions(of row, raw []byte) (*options, error) {
	o := &options{}
	if len(bytes.TrimSpace(raw)) > 0 {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(o); err != nil {
			return nil, unknownMember(err, of.name, of.known())
		}
		if err := of.accepts(raw); err != nil {
			return nil, err
		}
	}
	o.reading = wire.Options{Profile: o.Profile, Model: o.Model}
	if hosts.Known(o.As) {
		o.host = strings.ToLower(o.As)
	} else if o.As != "" {
		var err error
		if o.reading.Dialect, err = wire.ParseDialect(o.As); err != nil {
			return nil, misuse("as: %v; the shapes of hosts are %s", err, strings.Join(hosts.Names(), ", "))
		}
	}
	return o, o.valid()
}

// accepts is an error for an option that the call does not have: a limit that it does not heed would be none.
func (r row) accepts(raw []byte) error {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return misuse("the options are no JSON object: %v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(r.known(), name) {
			return misuse("%s has no option %q%s", r.name, name, hint(suggest.Sentence(name, r.known())))
		}
	}
	return nil
}

// kindOf is how an option is written: "text", "switch", "number" or "list".
func kindOf(name string) string {
	t := reflect.TypeFor[options]()
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Tag.Get("json") != name {
			continue
		}
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		switch of.Kind() {
		case reflect.Bool:
			return "switch"
		case reflect.Int:
			return "number"
		case reflect.Slice:
			return "list"
		}
	}
	return "text"
}

// least are the smallest values of numbers.
var least = map[string]int{"max_tokens": 1, "max_messages": 1, "max_exchanges": 1, "max_turns": 1, "max_summary": 1}

// valid says which value cannot be.
func (o *options) valid() error {
	for _, n := range []struct {
		name  string
		value *int
	}{
		{"max_tokens", o.MaxTokens}, {"max_messages", o.MaxMessages}, {"max_exchanges", o.MaxExchanges}, {"max_turns", o.MaxTurns},
		{"min_keep", o.MinKeep}, {"keep_recent", o.KeepRecent}, {"max_summary", o.MaxSummary},
	} {
		if n.value != nil && *n.value < least[n.name] {
			return misuse("%s is %d: expected a number from %d on", n.name, *n.value, least[n.name])
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

// policy is what a call does that changes the body.
func (o *options) policy(on *Settings, of row, cb *caller) (*pare.Policy, error) {
	p, ruled, err := o.configured(on, of.name)
	if err != nil {
		return nil, err
	}
	p.Model = o.Model
	if o.Strict != nil { // decides over the file, as the flag does
		p.Check.Strict = *o.Strict
	}
	p.Counter = cb.counter(p.Counter)
	o.remedies(p)
	if err := cb.vote(p, ruled); err != nil {
		return nil, err
	}
	if of.name == "compact" {
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

// author says who writes the summary: the options, the caller, or else who the policy says.
func (o *options) author(p *pare.Policy, cb *caller) {
	c := p.Compact
	c.MinKeep, c.Inside, c.MaxTokens = or(o.MinKeep, c.MinKeep), c.Inside || o.Inside, or(o.MaxSummary, c.MaxTokens)
	switch {
	case o.Summary != "":
		c.Summarize = func(context.Context, pare.Removed) (pare.Summary, error) {
			return pare.Summary{Text: o.Summary, Pinned: true}, nil
		}
	case cb.Summarize != nil:
		c.Summarize = cb.summarizer()
	}
}
