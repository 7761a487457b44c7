package main

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// findCauses checks with both binaries why a case may differ. For the input: clean if neither
// finds anything, broken if both do, and found:RULE for rules that only the new one finds. For
// the results: same if the bytes are equal, otherwise sound if neither check finds anything in
// the new one, and cured:RULE for rules that the new check finds only in the old result.
func findCauses(ctx context.Context, each time.Duration, c *testCase, dir, before, after string, a, b result) string {
	check := []string{"check", "--json", "in"}
	for _, s := range c.steps {
		if slices.Contains(s.args, "--strict") {
			check = []string{"check", "--json", "--strict", "in"}
		}
	}
	rules := func(binary, body string) map[string]bool {
		found := map[string]bool{}
		if os.RemoveAll(dir) != nil || place(filepath.Join(dir, "in"), []byte(body)) != nil {
			return found
		}
		out := runStep(ctx, each, step{args: check}, dir, dir, binary)
		if out.status != "0" && out.status != "1" {
			found["unreadable"] = true
		}
		for line := range strings.Lines(out.stdout) {
			var one struct{ Findings []struct{ Rule string } }
			if json.Unmarshal([]byte(line), &one) != nil {
				continue
			}
			for _, f := range one.Findings {
				found[f.Rule] = true
			}
		}
		return found
	}
	var all []string
	tell := func(what string, with, without map[string]bool) {
		for _, rule := range slices.Sorted(maps.Keys(with)) {
			if !without[rule] {
				all = append(all, what+":"+rule)
			}
		}
	}
	for name, data := range c.files {
		if len(c.files) > 1 || !strings.HasPrefix(name, "in.") {
			break
		}
		was, is := rules(before, string(data)), rules(after, string(data))
		all = append(all, map[bool]string{true: "clean", false: "broken"}[len(was)+len(is) == 0])
		tell("found", is, was)
	}
	old, new := written(c, a), written(c, b)
	switch {
	case old == new:
		all = append(all, "same")
	case new != "" && len(rules(before, new))+len(rules(after, new)) == 0:
		all = append(all, "sound")
		fallthrough
	default:
		if old != "" {
			tell("cured", rules(after, old), rules(after, new))
		}
	}
	return " " + strings.Join(all, " ")
}

// written is the transcript that a run wrote, or "".
func written(c *testCase, r result) string {
	if out, ok := r.files["out.json"]; ok {
		return out
	}
	last := len(c.steps) - 1
	if out := r.steps[last].stdout; strings.HasPrefix(out, "{") && !slices.Contains(c.steps[last].args, "--json") {
		return out
	}
	for name := range c.files {
		return r.files[name] // replaced in place
	}
	return ""
}
