package agentlog

import "github.com/pare-llm/pare/internal/jsonedit"

// An object provides the members of a JSON object by name.
type object = jsonedit.Object

// Short names for the most frequent operations.
var (
	objectAt   = jsonedit.At   // the object at a span
	objectOf   = jsonedit.Of   // the object that the bytes consist of
	textAt     = jsonedit.Text // the string at a span
	write      = jsonedit.New
	array      = jsonedit.List
	quote      = jsonedit.Quote
	setMembers = jsonedit.Set
)
