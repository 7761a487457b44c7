package rules

import (
	"github.com/pare-llm/pare/internal/inside"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Internal returns functions for the other packages of this module. Other modules cannot import the
// key.
func Internal(*inside.Key) internals { return internals{} }

// internals has an exported method for each shared function.
type internals struct{}

// Use returns a function that reports what a call of a request does and the file that it is about.
// It is not safe for concurrent use.
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
