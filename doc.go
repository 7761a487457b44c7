// Package pare makes LLM conversations valid and small, without ever separating a tool call from
// its result.
//
// An agent's history is a list of messages in which every tool call must be followed by its result,
// where the provider expects it. Pare reads such a history, repairs requests that the provider
// would reject, lets rules vote on the content to remove or shorten, and writes the result. Content
// that no decision touches keeps its bytes.
//
//	body, plan, err := pare.Fix(body)               // repair
//	body, plan, err := pare.Fit(ctx, body, 100_000) // repair and fit 100,000 tokens
//
// A [Policy] combines rules, a window and summaries:
//
//	standard, err := pare.Compile(rules.Standard()...)
//	policy := &pare.Policy{Rules: standard, Window: &pare.Window{ModelTokens: true}}
//	r, err := pare.Parse(body)
//	plan, err := policy.Plan(ctx, r)
//	body, err = plan.Apply()
//
// To write a rule, pass [Each] a function that looks at one call and its result.
//
// # Votes and decisions
//
// A rule cannot remove anything. It votes to drop or protect an atom or to edit a block, and gives
// a reason. An atom is content that is kept or dropped as a whole, such as a call with its results.
// All votes are settled together: protection spreads to everything that a protected atom needs,
// drops of protected atoms are void, and the remaining drops spread to everything that needs a
// dropped atom. The result does not depend on the order of the rules. After and Before only control
// whose votes a rule may see.
//
// # Plan and apply
//
// A [Plan] contains every decision, every change with its reason, and the findings that could not
// be repaired. Its method Apply returns the new body, which is the input itself if there is nothing
// to do. Apply returns an error if the provider would still reject the result.
//
// # Goroutines
//
// All types may be used by several goroutines, as long as none of them modifies a value. The
// exception is [Ballot], which belongs to one call of a [Process]. The parts of a policy (rules,
// counters, summarizers, sinks and archives) must be safe for concurrent use.
package pare
