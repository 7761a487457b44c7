// Package agentlog reads the files in which coding agents keep their sessions, reports the faults
// that would break a resumed session, and repairs them in place.
//
// A unit is one JSON object of a file: a line of a JSONL file or an element of a list. A thread is
// one conversation in the order in which the agent would send it: the main chain, the chain of a
// sub-agent, or dormant messages, which the agent no longer sends because they precede a compaction
// or belong to an abandoned branch. Each thread has a [wire.Request], a request body that is
// assembled from the bytes of the units and maps every block to its line and offset.
//
// Damage is normal. The reader reports a line that is not JSON and leaves it as it is, reads two
// objects on one line as two units, and replaces a link to a missing line by the preceding line.
//
// [Log.Fix] changes only the lines that need it and keeps all other bytes. New lines have the form
// of the agent's own lines. Their ids and times depend only on their neighbors, so that the same
// file always gives the same bytes. A second Fix changes nothing.
//
// Values of this package are safe for concurrent reading unless their comment says otherwise.
package agentlog
