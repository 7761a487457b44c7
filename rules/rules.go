package rules

import "github.com/pare-llm/pare"

// Standard returns the rules that suit most histories, with their default options: [Deduplication],
// [SupersededWrites], [ErrorPurging] and [Recency], which protects the last 10 messages.
func Standard() []pare.Rule {
	var all []pare.Rule
	for _, o := range []interface{ Rule() (pare.Rule, error) }{Deduplication{}, SupersededWrites{}, ErrorPurging{}, Recency{}} {
		r, _ := o.Rule() // the default options are valid
		all = append(all, r)
	}
	return all
}

// protectingRules names the rules that every removing rule precedes in a list. The verdict does not
// depend on this order.
func protectingRules() []string { return []string{"?" + recencyName, "?" + protectName} }
