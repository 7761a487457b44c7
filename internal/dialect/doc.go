// Package dialect knows the six wire formats: it detects them, reads a request body
// into a transcript without copying it, and checks it against the rules of the
// provider it is meant for.
//
// # Terminology
//
// A dialect is a wire shape. A profile is a vendor's or a model family's rules on
// a dialect; it is derived from the model named in the request. A rule is a row
// in a table: which fault it is about, for which profiles, in which of the
// provider's own words. A finding is a rule that a request breaks, at a path.
//
// # How a dialect is told
//
// Each dialect has a grammar: what it is, and what it does in a way of its own. Shared
// code asks the grammar and never which dialect it is. A dialect's parser, check, writer
// and rules stand in four files side by side.
//
// # How a check works
//
// [Parse] walks the bytes once. What it notices on the way (an empty text, a
// missing id) it writes down as a note; who minds is decided later, because the
// model may be named behind the messages. [Request.Check] adds what only shows in
// the finished transcript (pairs, roles, turns) and asks the table which rows
// apply. Fields and block types that the dialect does not know are carried along
// and never a fault by themselves.
//
// # Positions
//
// A path is dotted and names an element as the provider would: messages.6.content.1,
// messages.2.tool_calls.0, input.3, contents.2.parts.0, or messages.0.content for content
// that is a string. The path of a bare list begins as if the list were in a body. A
// [SyntaxError] has a byte offset and a JSON pointer.
//
// # Memory
//
// The index copies no text. Ids and names are copied out of the body in chunks, so that an
// index never aliases a buffer that is used again. Lists that a hostile body could blow up
// are bounded, and time grows with the size of the body.
//
// Requests and everything they hand out may be read by many goroutines; what they
// return must not be changed.
package dialect
