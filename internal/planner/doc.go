// Package planner plans changes to requests. A plan is a list of steps, and each step is a rewrite
// of the request that the previous step returned.
//
// Every plan begins with a repair. Then rules vote on the atoms and blocks of the request, and the
// votes are settled into decisions. A window takes further steps until the request fits, and a
// compaction replaces the head of the history by a summary. The last step repairs the new neighbors
// that removal has created, and drops thinking that a change has made invalid. Prune, Trim, Compact
// and TrimWithSummaries are the four combinations of these steps.
//
// The result is checked against the provider's rules and the promises of the engine. Receipts,
// events and archive items are derived from the steps.
package planner
