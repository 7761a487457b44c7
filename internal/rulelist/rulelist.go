// Package rulelist lists the standard rules by name, with their options, for configurations and
// the command line.
package rulelist

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/rules"
)

// All lists the rules that vote on every request, the standard ones first; [rules.Hazard] is
// for other moments. A new rule is a file in package rules and a line here; the configuration,
// its schema and the command line follow.
func All() []Entry {
	return []Entry{
		entry(rules.Deduplication{}),
		entry(rules.SupersededWrites{}),
		entry(rules.ErrorPurging{}),
		entry(rules.Recency{}),
		entry(rules.Oversized{}),
		entry(rules.Protect{}),
	}
}

// Options are those of one rule, which they make. Their zero value is the default, and their
// tags say how JSON and the like are decoded into them: json names an option, enum lists what a
// text may be, min and max bound a number, required shows what must be given.
type Options interface {
	// Rule returns the rule. The error is a [rules.OptionErrors].
	Rule() (pare.Rule, error)
}

// An Entry describes one rule.
type Entry struct {
	Name     string
	Doc      string // one line
	Standard bool   // it is in [rules.Standard]
	options  reflect.Type
}

func entry(zero Options) Entry {
	r, err := zero.Rule()
	if err != nil {
		panic(err) // the zero value is right, by contract
	}
	return Entry{r.Name, r.Doc, slices.Contains(standard(), r.Name), reflect.TypeOf(zero)}
}

// standard are the names of the standard rules.
var standard = sync.OnceValue(func() (names []string) {
	for _, r := range rules.Standard() {
		names = append(names, r.Name)
	}
	return names
})

// Options returns a pointer to options of the rule's type, all zero, to decode into.
func (e Entry) Options() Options {
	return reflect.New(e.options).Interface().(Options)
}

// New makes the rule with options given as a JSON object; nil is none. Members that
// the options do not have are an error.
func (e Entry) New(options []byte) (pare.Rule, error) {
	o := e.Options()
	if len(options) > 0 {
		dec := json.NewDecoder(bytes.NewReader(options))
		dec.DisallowUnknownFields()
		if err := dec.Decode(o); err != nil {
			return pare.Rule{}, fmt.Errorf("rule %s: %w", e.Name, err)
		}
	}
	return o.Rule()
}

// Fields lists the names of the rule's options.
func (e Entry) Fields() []string {
	var names []string
	for _, f := range reflect.VisibleFields(e.options) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// Named returns the entry of a rule, or false.
func Named(name string) (Entry, bool) {
	all := All()
	i := slices.IndexFunc(all, func(e Entry) bool { return e.Name == name })
	if i < 0 {
		return Entry{}, false
	}
	return all[i], true
}
