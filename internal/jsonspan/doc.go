// Package jsonspan reads JSON where it lies: a scanner that walks raw bytes and
// hands out spans, and a splicer that writes a new document from an old one and
// a list of edits.
//
// # Terminology
//
// A span is a half-open range of byte offsets. A string's span leaves its quotes
// out, every other value's span is the whole value. Nothing is decoded unless
// asked for ([Decode]), nothing is copied, nothing is allocated per value.
//
// # Modes
//
// [Structural] checks what can move a boundary: brackets, commas, colons,
// literals, numbers and where strings end. [Strict] also checks what RFC 8259
// says about the inside of strings: escapes, control characters and UTF-8.
// Both find the same spans in a valid document.
//
// # Flaws
//
// Two things are grammatical yet dangerous: a key that stands twice in one
// object (the last one wins, as in the providers' parsers) and half of a
// surrogate pair in an escape (some parsers refuse it). They do not stop the
// scan; they are listed as [Flaw]s. [Valid] refuses them too.
//
// # Positions
//
// Errors carry a byte offset and a JSON pointer. The pointer is worked out by a
// second walk, only when there is an error to report.
package jsonspan
