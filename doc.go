// Package pare cuts LLM conversations down to size and never breaks a pair.
//
// An agent's history is a list of messages in which every tool call must be
// answered by its result, in the place where the provider looks for it. Pare reads
// such a history, repairs what the provider would refuse, lets rules vote on what to
// remove or shorten, and writes the result byte for byte as it came wherever
// nothing was decided.
//
//	body, plan, err := pare.Fix(body)               // repair
//	body, plan, err := pare.Fit(ctx, body, 100_000) // and make it fit so many tokens
//
// Everything that is done to a request is one value, a [Policy]:
//
//	standard, err := pare.Compile(rules.Standard()...)
//	policy := &pare.Policy{Rules: standard, Window: &pare.Window{ModelTokens: true}}
//	r, err := pare.Parse(body)
//	plan, err := policy.Plan(ctx, r)
//	body, err = plan.Apply()
//
// A rule of your own is a function that looks at one call and its result, see [Each].
//
// # Votes and verdicts
//
// A rule cannot remove anything. It votes: drop or protect an atom, edit a block,
// each with a reason. Atoms are what must stay or go as a whole, so a vote cannot
// name half a pair. All votes are settled at once: protection spreads to what a
// protected atom needs, drops on protected atoms fall away, the drops that stand
// spread to what needs a dropped atom. The verdict depends on the set of votes and
// not on the order of the rules; After and Before only say whose votes a rule may
// see.
//
// # Plan and apply
//
// A [Plan] is the dry run: it holds every decision, every change with its reason,
// and what could not be repaired. [Plan.Apply] returns the new bytes, the input
// itself if there is nothing to do, and an error if the provider would still
// refuse them.
//
// # Goroutines
//
// A [Policy], a [Pipeline], a [Compactor] and a [Plan] may be used by many goroutines at
// once. What a policy is made of is called by all of them: rules, counters, summarizers,
// sinks, archives must be fit for that. All other types are plain values: many may read
// one while nobody writes to it. A [Ballot] belongs to one call of a [Process].
package pare
