package rules

import (
	"slices"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Calls tells what the calls of one request do, as the rules see it. It is for one
// goroutine.
type Calls struct{ s *sight }

// callsOf looks at a request; the tools stand beside those of [Table], or in place of
// those of the same name.
func callsOf(r *wire.Request, tools []Tool) Calls { return Calls{Scope{Table: tools}.guard().look(r)} }

// Use returns what a call does and the file that it is about, cleaned; "" if it names
// none, or several. Of arguments that have been cleared, what is left counts.
func (c Calls) Use(call transcript.BlockID) (kind string, file string) {
	u := c.s.readUse(c.s.tool(c.s.t.Block(call).Tool), c.s.arguments(call))
	return u.kind, u.file
}

// protected reports whether no rule touches a tool, whatever the options say: it is
// one of [ProtectedTools], or has no name.
func protected(tool string) bool {
	return tool == "" || slices.ContainsFunc(protectedTools, func(glob string) bool { return matchTool(glob, tool) })
}
