package rules

import (
	"path"
	"slices"
	"strings"
)

// matchTool reports whether a tool's name matches a glob, ignoring case. A * also matches a slash,
// because tool names are not paths.
func matchTool(glob, name string) bool {
	flat := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "/", ":") }
	ok, _ := path.Match(flat(glob), flat(name))
	return ok
}

// matchPath reports whether a cleaned path matches a glob. ** matches any number of folders,
// including none. A glob without a leading slash matches at any depth, because agents write
// absolute paths.
func matchPath(glob, name string) bool {
	if rest, ok := strings.CutPrefix(glob, "./"); ok {
		glob = rest
	}
	if !strings.HasPrefix(glob, "/") {
		glob = "**/" + glob
	} else if !strings.HasPrefix(name, "/") {
		return false
	}
	return matchParts(strings.Split(strings.Trim(glob, "/"), "/"), strings.Split(strings.Trim(name, "/"), "/"))
}

// matchParts backtracks only to the latest **: the latest can match everything that an earlier one
// could.
func matchParts(globs, parts []string) bool {
	g, p := 0, 0
	back, from := -1, 0
	for p < len(parts) {
		if g < len(globs) && globs[g] == "**" {
			back, from = g, p
			g++
			continue
		}
		if g < len(globs) {
			if ok, _ := path.Match(globs[g], parts[p]); ok {
				g++
				p++
				continue
			}
		}
		if back < 0 {
			return false
		}
		from++
		g, p = back+1, from
	}
	return !slices.ContainsFunc(globs[g:], func(s string) bool { return s != "**" })
}

// cleanPath returns the form in which paths are compared.
func cleanPath(p string) string {
	if p == "" {
		return ""
	}
	return path.Clean(p)
}
