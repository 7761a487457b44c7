package rules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pare-llm/pare"
)

// All lists the rules of this package that vote on every request, the standard ones first;
// [Hazard] is for other moments. A new rule is a file
// and a line here; the configuration, its schema and the command line follow.
func All() []Entry {
	return []Entry{
		entry(Deduplication{}, standard),
		entry(SupersededWrites{}, standard),
		entry(ErrorPurging{}, standard),
		entry(Recency{}, standard),
		entry(Oversized{}, optional),
		entry(Protect{}, optional),
	}
}

const standard, optional = true, false

// Options are those of one rule, which they make. Their zero value is the default,
// and their tags say how JSON and the like are decoded into them: json names an
// option, enum lists what a text may be, min and max bound a number, required shows
// what must be given. Many goroutines may read it.
type Options interface {
	// Rule returns the rule. The error is an [OptionErrors].
	Rule() (pare.Rule, error)
}

// An Entry describes one rule of this package. It may be used by many goroutines.
type Entry struct {
	Name     string
	Doc      string // one line
	Standard bool   // it is in Standard
	options  reflect.Type
}

func entry(zero Options, standard bool) Entry {
	r, err := zero.Rule()
	if err != nil {
		panic(err) // the zero value is right, by contract
	}
	return Entry{r.Name, r.Doc, standard, reflect.TypeOf(zero)}
}

// Options returns a pointer to options of the rule's type, all zero, to decode into.
func (e Entry) Options() Options { return reflect.New(e.options).Interface().(Options) }

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

// Standard returns the rules that are right for most, with their default options:
// [Deduplication], [SupersededWrites], [ErrorPurging] and [Recency], which protects
// the last 10 messages.
func Standard() []pare.Rule {
	var all []pare.Rule
	for _, e := range All() {
		if e.Standard {
			r, _ := e.Options().Rule() // the zero value is right
			all = append(all, r)
		}
	}
	return all
}

// protectors are the rules that those which remove something come before. It is an
// order for people who read a list; the verdict does not depend on it.
func protectors() []string { return []string{"?" + recency, "?" + protect} }
