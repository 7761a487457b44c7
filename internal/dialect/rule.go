package dialect

import (
	"cmp"
	"slices"
	"strings"
)

// What happens to a request that breaks a rule.
const (
	severityRefused     = "refused"         // the provider answers 400
	severityPortability = "refused by some" // by some models, vendors or versions; only a strict check reports it
	severityDegrades    = "degrades"        // accepted, but it costs quality or money: advice
)

// A Rule is one row of a provider's rules. Adding a rule is adding a row, and a test.
// Many goroutines may read it.
type Rule struct {
	ID       string // provider/name, as in the catalogue of provider rules
	Slug     string // what a finding calls it; shared by the providers
	Severity string // "refused", "refused by some" or, where it only costs quality or money, "degrades"
	Doc      string // one line: when it is broken
	Says     string // the provider's own sentence, {ids} {path} {i} {arg} to be filled in; "" if it is not published
	Repair   string // how it is repaired
	Source   string // where the sentence or the behaviour was seen

	dialect Dialect
	on      fault
	// only limits the row to some profiles; nil is all of the dialect's. A strict
	// check ignores it, unless keep says that the row contradicts another vendor's.
	only func(*Profile) bool
	keep bool
	// when limits the row to some requests, also in a strict check; nil is all of the profile's.
	when func(*Request) bool
}

// active reports whether the row applies under p and o.
func (r *Rule) active(p *Profile, o CheckOptions) bool {
	if p.Name == pairsOnly && !aboutPairs[r.Slug] {
		return false
	}
	if o.Strict && !r.keep {
		return r.Severity != severityDegrades || o.Advice
	}
	if r.only != nil && !r.only(p) {
		return false
	}
	switch r.Severity {
	case severityPortability:
		return o.Strict
	case severityDegrades:
		return o.Advice
	}
	return true
}

// aboutPairs are the findings about calls and their results.
var aboutPairs = map[string]bool{
	"orphan-call": true, "orphan-result": true, "displaced-result": true, "duplicate-result": true, "duplicate-call-id": true,
}

// Rules returns all rules, sorted by id.
func Rules() []Rule {
	all := slices.Clone(table)
	slices.SortFunc(all, func(a, b Rule) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Find returns the rules of a slug or of a catalogue id.
func Find(name string) []Rule {
	var found []Rule
	for _, r := range Rules() {
		if r.Slug == name || r.ID == name {
			found = append(found, r)
		}
	}
	return found
}

// Provider returns the vendor part of the rule's id.
func (r *Rule) Provider() string {
	p, _, _ := strings.Cut(r.ID, "/")
	return p
}

// byFault[d][f] are the rows that dialect d has on fault f.
var byFault = func() (ix [dialects][faults][]*Rule) {
	for i := range table {
		r := &table[i]
		ix[r.dialect][r.on] = append(ix[r.dialect][r.on], r)
	}
	return ix
}()

// RuleSlugs describes, for each slug, what the finding means on any provider.
func RuleSlugs() map[string]string { return slugs }
