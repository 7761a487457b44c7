// Package summary writes the summaries that a compaction puts in the place of what
// it removes: without a model, or by asking one.
//
//	policy := pare.Policy{Compact: &pare.Compactor{Summarize: summary.Extract(summary.ExtractOptions{})}}
//	plan, err := policy.Plan(ctx, r)
//
// # Without a model
//
// [Extract] copies what matters out of the removed part: what the user asked for, the
// files that were touched, the commands that were run, what was decided, what is open,
// and what failed. It invents nothing, quotes the user as the user, gives the same text
// for the same input, and is never longer than asked. It takes half of the room that is
// left, so that later summaries have some too.
//
// # By a model
//
// [Endpoint] sends the removed part, as [Render] writes it, to an API in the style of
// OpenAI or of Anthropic. The summary so far stands first and stays word for word;
// the model writes what is to follow it. What comes back and is no summary (a
// refusal, a call, half a text) is an error, after which the history stays as it was.
//
// # Text from a stranger
//
// What tools and users say is not trusted: control characters, escape sequences and
// invalid bytes are taken out of it, and what looks like a mark of this module does not
// look like one afterwards.
package summary
