package rules

import (
	"github.com/pare-llm/pare/internal/inside"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Internal opens what the packages of this module use of each other and users do not see:
// nobody else can import the key.
func Internal(*inside.Key) internals { return internals{} }

// internals has the functions and methods behind the door. Each does what its namesake in
// lower case says.
type internals struct{}

// Use returns a function that says what a call of a request does and which file it is about. It
// is for one goroutine.
func (internals) Use(r *wire.Request, tools []Tool) func(call transcript.BlockID) (kind, file string) {
	return usageOf(r, tools)
}

func (internals) MatchTool(glob string, name string) bool {
	return matchTool(glob, name)
}

func (internals) Protected(tool string) bool {
	return isProtectedTool(tool)
}

func (internals) Compile(s Selection) (selectFunc, error) {
	return s.compile()
}
