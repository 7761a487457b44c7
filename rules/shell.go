package rules

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"
)

// showsFile reports whether a command line, given as JSON, prints files or parts of them. Agents
// without tools for reading and searching do that.
func showsFile(target []byte) bool {
	for segment := range firstCommands(commandLine(target)) {
		words := strings.Fields(segment)
		for len(words) > 0 && (opensBlock[words[0]] || strings.Contains(words[0], "=")) {
			words = words[1:]
		}
		if len(words) == 0 {
			continue
		}
		program := path.Base(strings.Trim(words[0], `"'(`))
		if printsFiles[program] || program == "git" && len(words) > 1 && printsBlobs[words[1]] {
			return true
		}
	}
	return false
}

var (
	opensBlock  = map[string]bool{"do": true, "then": true, "else": true, "sudo": true, "{": true, "(": true, "!": true, "time": true}
	printsFiles = map[string]bool{"cat": true, "sed": true, "nl": true, "head": true, "tail": true, "less": true, "more": true, "bat": true, "awk": true, "rg": true, "grep": true}
	printsBlobs = map[string]bool{"show": true, "diff": true, "blame": true}
)

// firstCommands yields the first command of each pipeline, which produces the output that the
// others filter.
func firstCommands(line string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for part := range strings.FieldsFuncSeq(line, func(c rune) bool { return c == ';' || c == '\n' || c == '&' }) {
			first, _, _ := strings.Cut(part, "|")
			if !yield(first) {
				return
			}
		}
	}
}

// commandLine decodes the command of a call: a string, or a list of words whose last one is a shell
// script.
func commandLine(target []byte) string {
	target = bytes.TrimSpace(target)
	if len(target) > 0 && target[0] == '[' {
		var words []string
		if json.Unmarshal(target, &words) != nil || len(words) == 0 {
			return ""
		}
		if n := len(words); n == 3 && strings.HasPrefix(words[1], "-") && strings.HasSuffix(words[1], "c") {
			return words[2]
		}
		return strings.Join(words, " ")
	}
	return unquoteString(target)
}
