package rules

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pare-llm/pare"
)

// Standard returns the rules that are right for most: [Deduplication],
// [SupersededWrites], [ErrorPurging], [ToolPairing] and [Recency] with the last 10
// messages protected.
func Standard() []pare.Rule {
	return []pare.Rule{
		Deduplication(DeduplicationOptions{}),
		SupersededWrites(SupersededWritesOptions{}),
		ErrorPurging(ErrorPurgingOptions{}),
		ToolPairing(PairingOptions{}),
		Recency(RecencyOptions{}),
	}
}

// Options are those of one rule. Every options type of this package has this
// method, and tags by which JSON and the like can be decoded into it.
type Options interface {
	// Rule returns the rule, or what is wrong with the options.
	Rule() (pare.Rule, error)
}

// An OptionsError says what is wrong with the options of a rule.
type OptionsError struct {
	Name string // of the rule
	Err  error
}

func (e *OptionsError) Error() string { return fmt.Sprintf("rule %s: %v", e.Name, e.Err) }

func (e *OptionsError) Unwrap() error { return e.Err }

func check(name string, err error) error {
	if err == nil {
		return nil
	}
	return &OptionsError{name, err}
}

// An Entry describes one rule of this package.
type Entry struct {
	Name     string
	Doc      string // one line
	Standard bool   // it is in Standard
	// Options returns a pointer to options of the rule's type, all zero, to decode
	// into.
	Options func() Options
}

// All lists the rules of this package, the standard ones first.
func All() []Entry {
	entry := func(r pare.Rule, standard bool, o func() Options) Entry { return Entry{r.Name, r.Doc, standard, o} }
	return []Entry{
		entry(Deduplication(DeduplicationOptions{}), true, func() Options { return new(DeduplicationOptions) }),
		entry(SupersededWrites(SupersededWritesOptions{}), true, func() Options { return new(SupersededWritesOptions) }),
		entry(ErrorPurging(ErrorPurgingOptions{}), true, func() Options { return new(ErrorPurgingOptions) }),
		entry(ToolPairing(PairingOptions{}), true, func() Options { return new(PairingOptions) }),
		entry(Recency(RecencyOptions{}), true, func() Options { return new(RecencyOptions) }),
		entry(Oversized(OversizedOptions{}), false, func() Options { return new(OversizedOptions) }),
		entry(Protect(ProtectOptions{}), false, func() Options { return new(ProtectOptions) }),
	}
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

// New makes the rule with options given as a JSON object; nil is none. Members that
// the options do not have are an error.
func (e Entry) New(options []byte) (pare.Rule, error) {
	o := e.Options()
	if len(options) > 0 {
		dec := json.NewDecoder(strings.NewReader(string(options)))
		dec.DisallowUnknownFields()
		if err := dec.Decode(o); err != nil {
			return pare.Rule{}, &OptionsError{e.Name, err}
		}
	}
	return o.Rule()
}

// Fields lists the names of the rule's options.
func (e Entry) Fields() []string {
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeOf(e.Options()).Elem()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}
