package rules

import (
	"slices"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// usage looks at a request and tells what a call of it does and the file that it is about,
// cleaned; "" if it names none, or several. Of arguments that have been cleared, what is left
// counts. The tools stand beside those of [Table], or in place of those of the same name.
func usageOf(r *wire.Request, tools []Tool) func(call transcript.BlockID) (kind, file string) {
	s := Scope{Table: tools}.compile().view(r)
	return func(call transcript.BlockID) (kind, file string) {
		u := s.parseArguments(s.lookUpTool(s.t.Block(call).Tool), s.arguments(call))
		return u.kind, u.file
	}
}

// protected reports whether no rule touches a tool, whatever the options say: it is
// one of [ProtectedTools], or has no name.
func isProtectedTool(tool string) bool {
	return tool == "" || slices.ContainsFunc(protectedTools, func(glob string) bool { return matchTool(glob, tool) })
}
