// Package transcript is the index over one conversation: what its messages are,
// which call each result answers, and which blocks must stay or go together.
//
// # Terminology
//
// A message is one element of the list that is sent. Neighbours that the provider
// treats as one are a turn. A block is the smallest thing a plan can touch: a
// text, a call, a result, a thinking block, an image. An exchange is one call and
// everything that answers it. A tie says that keeping one block requires keeping
// another; an atom is a set of blocks joined by mutual ties: all of it stays or
// none. A cut is a boundary that no atom straddles and at which a valid history
// may begin; it is made by the transcript only, never from an integer, so that
// half a pair has no name.
//
// # Pairing
//
// Ids repeat: some agents count from zero in every turn. So a result is matched by
// position as well as by id. It answers the first unanswered call of its id in the
// turn before it; failing that, the latest call of its id that is still open, and
// is then displaced. Where ids are missing, calls and results of one name are
// matched first in, first out. A result never answers a call that comes after it.
//
// A Transcript is immutable and may be read by many goroutines. It does not know
// any provider's wire format; package wire builds it.
package transcript
