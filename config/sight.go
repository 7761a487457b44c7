package config

import (
	"path"
	"slices"
	"strings"

	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A sight tells what expressions ask about an exchange. It judges as package rules
// does, which keeps its own judgement to itself; this file is the only place to
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

// failures are how results begin that report a failure, in lower case.
var failures = []string{
	"error:", "error executing", "error calling", "error running", "error reading", "error writing", "[error", "<error", "<tool_use_error", "tool error",
	"traceback (most recent call last)", "exception:", "fatal:", "failed:", "failed to ", "command failed", "execution failed", "command timed out", `{"error":`,
	"panic:", "enoent", "eacces",
}

// exits are how results report an exit code at the beginning of a line.
var exits = []string{"exit code: ", "exit code ", "exit status ", "exit status: ", "exited with code ", "process exited with code ", "command exited with code "}

// failed reports whether a result tells of a failure: by its mark where the dialect
// has one, by how it begins elsewhere.
func (s *sight) failed(result transcript.BlockID) bool {
	if s.t.Block(result).Failed {
		return true
	}
	if s.r.Dialect == wire.Anthropic || s.r.Dialect == wire.Bedrock {
		return false
	}
	says := s.r.Text(result)
	head := strings.ToLower(strings.TrimSpace(says[:min(len(says), 240)]))
	begins := func(p string) bool { return strings.HasPrefix(head, p) }
	if slices.ContainsFunc(failures, begins) {
		return true
	}
	for line := range strings.Lines(head) {
		for _, p := range exits {
			if code, ok := strings.CutPrefix(line, p); ok && code != "" && strings.ContainsRune("-123456789", rune(code[0])) {
				return true
			}
		}
	}
	return false
}

// people are in results that hold what a person said, in lower case.
var people = []string{
	"the user said", "user feedback", "<feedback>", "<user_message>", "user doesn't want", "user does not want", "rejected by the user", "denied by the user",
	"user rejected", "user denied", "user has rejected", "user declined", "user cancelled", "user canceled", "user responded", "user's answer", "user answered",
}

// personSpeaks reports whether a result holds words of a person, which no rule may
// lose. Such results are short and say so early or late.
func personSpeaks(says string) bool {
	const look = 1000
	if len(says) > 2*look {
		says = says[:look] + "\n" + says[len(says)-look:]
	}
	says = strings.ToLower(says)
	return slices.ContainsFunc(people, func(words string) bool { return strings.Contains(says, words) })
}

// steers reports whether a tool holds plans, tasks, skills or answers of a person,
// by which the rest of the work is steered.
func steers(tool string) bool {
	flat := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "/", ":") }
	return tool == "" || slices.ContainsFunc(rules.ProtectedTools(), func(glob string) bool {
		ok, _ := path.Match(flat(glob), flat(tool))
		return ok
	})
}
