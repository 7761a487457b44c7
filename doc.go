// Package pare cuts LLM conversations down to size and never breaks a pair.
//
// An agent's history is a list of messages in which every tool call must be
// answered by its result, in the place where the provider looks for it. Pare reads
// such a history, mends what the provider would refuse, lets rules vote on what to
// remove or shorten, and writes the result byte for byte as it came wherever
// nothing was decided.
//
//	r, err := pare.Parse(body)
//	p, err := pare.Compile(rules.Standard()...)
//	plan, err := p.Plan(r, pare.Options{})
//	body, err = plan.Apply()
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
package pare
