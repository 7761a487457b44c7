package rules

import (
	"path"
	"slices"
	"strings"
)

// matchTool reports whether a tool's name matches a glob, whatever the case. A * may
// also stand for a slash: tool names are no paths.
func matchTool(glob, name string) bool {
	flat := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "/", ":") }
	ok, _ := path.Match(flat(glob), flat(name))
	return ok
}

// matchPath reports whether a cleaned path matches a glob. ** stands for any number
// of folders, none included. A glob that does not begin with a slash matches at any
// depth, because agents write absolute paths.
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

// matchParts goes back to the latest ** only, which is enough: what an earlier one
// could take more of, the latest can too.
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

// cleanPath is how paths are compared.
func cleanPath(p string) string {
	if p == "" {
		return ""
	}
	return path.Clean(p)
}
