// Package wording has every text that Pare puts into a conversation. They are nobody's words:
// what is planned later tells them from what a person says.
package wording

// Mark is how everything begins that takes the place of something.
const Mark = "[pare: "

// Stub is the result of a call that nobody answered. It claims neither success nor that
// anybody cancelled anything.
const Stub = "The outcome of this call is unknown: no result was recorded."

// LeftOut stands where a window has left something out.
const LeftOut = Mark + "earlier messages are left out here to fit the window]"

// The lines around a summary.
const (
	SummaryBegin = Mark + "summary of the conversation up to here]"
	SummaryEnd   = Mark + "end of the summary]"
)

// Turns that a provider asks for.
const (
	GoOn       = "Continue."
	Beginning  = "(The beginning of this conversation is not included.)"
	Empty      = "(This conversation has no content.)"
	Understood = "Understood." // the assistant's, and so is the next one
	Pause      = "."
)

// A result without its call becomes a quotation. Quoted ends the line over it, QuotedEnd is the
// line under it where something is joined to it, and QuotedWith says in front of Quoted how many
// parts behind it belong to it.
const (
	Quoted     = "; quoted, not written by the user]"
	QuotedEnd  = "[end of the quotation]"
	QuotedWith = ", with attachments: "
)

// Recall names the command that prints the archived text with this handle. An agent with a shell
// can run it.
func Recall(handle string) string { return "pare recall " + handle + " prints it" }
