package agentlog

import "github.com/pare-llm/pare/internal/jsonedit"

// An object gives the members of one JSON object by name.
type object = jsonedit.Object

// What is read and written most often has a short name here.
var (
	objectAt   = jsonedit.At   // of the object at a span
	objectOf   = jsonedit.Of   // of the object that some bytes are
	textAt     = jsonedit.Text // the string at a span
	write      = jsonedit.New
	array      = jsonedit.List
	quote      = jsonedit.Quote
	setMembers = jsonedit.Set
)
