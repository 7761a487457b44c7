package rules

import (
	"slices"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// usageOf returns a function that reports what a call of r does and the cleaned path of its file.
// The path is empty if the call names no file or several. If the arguments have been cleared, the
// remaining ones count. The tools extend [Table] or replace its entries of the same name.
func usageOf(r *wire.Request, tools []Tool) func(call transcript.BlockID) (kind, file string) {
	s := Scope{Table: tools}.compile().view(r)
	return func(call transcript.BlockID) (kind, file string) {
		u := s.parseArguments(s.lookUpTool(s.t.Block(call).Tool), s.arguments(call))
		return u.kind, u.file
	}
}

// isProtectedTool reports whether no rule touches a tool, whatever the options are: it is one of
// [ProtectedTools], or it has no name.
func isProtectedTool(tool string) bool {
	return tool == "" || slices.ContainsFunc(protectedTools, func(glob string) bool { return matchTool(glob, tool) })
}
