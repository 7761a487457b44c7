package rules

import "github.com/pare-llm/pare"

// Standard returns the rules that are right for most, with their default options:
// [Deduplication], [SupersededWrites], [ErrorPurging] and [Recency], which protects
// the last 10 messages.
func Standard() []pare.Rule {
	var all []pare.Rule
	for _, o := range []interface{ Rule() (pare.Rule, error) }{Deduplication{}, SupersededWrites{}, ErrorPurging{}, Recency{}} {
		r, _ := o.Rule() // the zero value is right
		all = append(all, r)
	}
	return all
}

// protectors are the rules that those which remove something come before. It is an
// order for people who read a list; the verdict does not depend on it.
func protectingRules() []string { return []string{"?" + recencyName, "?" + protectName} }
