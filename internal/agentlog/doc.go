// Package agentlog reads the files in which coding agents keep their sessions,
// finds what would break the session when it is resumed, and repairs it in place.
//
// # Terminology
//
// A unit is one JSON object of the file: a line of a JSONL file or an element of
// a list. A thread is one conversation in the file, in the order in which the
// agent would send it: the main chain, the chain of each sub-agent, and what the
// agent no longer sends (dormant: what stands in front of a compaction, branches
// that were left). Each thread has a [wire.Request]: a body of the provider's
// dialect put together from the bytes of the units, with a map back to the line
// and the byte of each block.
//
// # Reading
//
// Bad lines are normal. A line that is no JSON is reported and left as it is; two
// objects on one line are two units; a line that breaks off does not hide the
// next. Links between units that lead nowhere are followed to the line before.
//
// # Repairing
//
// [Log.Fix] changes only what it must: a line that needs no change leaves byte for
// byte as it came. New lines are written in the shape of the agent's own, and
// everything in them (ids, times) is a function of their neighbours, so that the
// same file always gives the same bytes. A second Fix has nothing to do.
package agentlog
