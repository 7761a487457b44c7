package config

import (
	"path"
	"slices"
	"strings"

	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A sight tells what expressions ask about an exchange. It looks at arguments as
// package rules does, which keeps its own eyes to itself; this file is the only place to
// change when it does not.
type sight struct {
	r     *wire.Request
	t     *transcript.Transcript
	tools map[string]Tool // by name in lower case
}

func newSight(r *wire.Request, tools []Tool) *sight {
	s := &sight{r, r.Transcript(), make(map[string]Tool)}
	for _, t := range append(rules.Table(), tools...) {
		s.tools[strings.ToLower(t.Name)] = t
	}
	return s
}

func (s *sight) tool(call transcript.BlockID) Tool {
	return s.tools[strings.ToLower(s.t.Block(call).Tool)]
}

// kind returns what a call does.
func (s *sight) kind(call transcript.BlockID) string {
	t := s.tool(call)
	if t.Command != "" {
		command, _ := wire.Argument(s.t, call, t.Command)
		if k, ok := t.Commands[command]; ok {
			return string(k)
		}
	}
	if t.Kind == "" {
		return string(rules.KindOther)
	}
	return string(t.Kind)
}

// pathNames are the usual names of the argument that names a file, in the order in
// which they are tried.
var pathNames = []string{
	"file_path", "filePath", "path", "absolute_path", "target_file", "notebook_path", "notebookPath", "relative_path",
	"relative_workspace_path", "filename", "file_name", "fileName", "file",
}

// path returns the file that a call is about, cleaned, or "".
func (s *sight) path(call transcript.BlockID) string {
	t := s.tool(call)
	if t.Patch != "" {
		return s.patched(call, t.Patch)
	}
	names := pathNames
	if t.Path != "" {
		names = []string{t.Path}
	}
	for _, name := range names {
		if v, ok := wire.Argument(s.t, call, name); ok && v != "" {
			return path.Clean(v)
		}
	}
	return ""
}

// patched returns the file that a patch in Codex' format touches, if it is one.
func (s *sight) patched(call transcript.BlockID, name string) string {
	patch, ok := wire.Argument(s.t, call, name)
	if !ok {
		if patch, ok = wire.Argument(s.t, call, "patch"); !ok {
			patch = string(wire.Arguments(s.t, call))
		}
	}
	var files []string
	for line := range strings.Lines(patch) {
		for _, head := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if file, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), head); ok {
				files = append(files, strings.TrimSpace(file))
			}
		}
	}
	if len(files) != 1 {
		return ""
	}
	return path.Clean(files[0])
}

// failed reports whether a result tells of a failure.
func (s *sight) failed(result transcript.BlockID) bool {
	return s.r.Outcome(result) == transcript.OutcomeFailed
}

// steers reports whether a tool holds plans, tasks, skills or answers of a person,
// by which the rest of the work is steered.
func steers(tool string) bool {
	return tool == "" || slices.ContainsFunc(rules.ProtectedTools(), func(glob string) bool { return rules.MatchTool(glob, tool) })
}
