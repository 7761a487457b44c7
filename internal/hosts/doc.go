// Package hosts reads the lists in which programs hold a conversation while it goes on: the live list of
// pi, the messages of the AI SDK, of LangChain, of opencode, and others. They are not what is sent; a
// library makes the request of them, whoever the provider is.
//
// A shape is a row of a table: which members hold a text, a call, a result, and how a result or a message
// that is new is written. [Read] puts together a request of the Anthropic dialect that says the same, with
// the profile "pairs", which minds pairs alone, and remembers where each block is from. [List.Rewrite] looks
// up what a plan has left of the blocks and writes that into the members they came from. What was
// not decided about keeps its bytes: elements, parts, members that nobody here knows.
//
// What was written is read again and must say what was planned, else nothing is returned. An element or a
// part of a type that is not in the table stays, and is a finding: what is not known is not called clean.
package hosts
