package truth

import "regexp"

// known lists the failures that wait for their cure, each a mechanism and not an input. The
// list must become empty: a row goes with the change that cures it. PARE_TRUTH=all reports
// them like the others.
var known = []struct {
	name  string
	class *regexp.Regexp
}{
	{"the trail ends where repair has put, moved or rewritten something, and what goes later has no path", regexp.MustCompile(`has no path$| by ""$`)},
	{"a path of the repaired history and not of the input", regexp.MustCompile(`has a path that is not there$`)},
	{"what repair has rewritten or moved goes later, or an edit loses what it does not name", regexp.MustCompile(` by "(edit|move|merge|rename|insert) `)},
	{"a tool that is defined in the history is called unknown", regexp.MustCompile(`^anthropic: tool-reference-unknown in a whole history$`)},
}
