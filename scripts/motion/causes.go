package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// causes asks the checks of both binaries why a case may differ: which rules the new one
// finds broken in the input and the old one does not, and which in the old result and not
// in the new one.
func causes(ctx context.Context, each time.Duration, c *testCase, dir, before, after string, a, b result) string {
	rules := func(binary, body string) map[string]bool {
		found := map[string]bool{}
		if body == "" {
			return found
		}
		if err := os.RemoveAll(dir); err != nil {
			return found
		}
		if err := place(filepath.Join(dir, "in"), []byte(body)); err != nil {
			return found
		}
		out := runStep(ctx, each, step{args: []string{"check", "--json", "in"}}, dir, dir, binary)
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
	var all strings.Builder
	tell := func(what string, with, without map[string]bool) {
		for _, rule := range slices.Sorted(maps.Keys(with)) {
			if !without[rule] {
				fmt.Fprintf(&all, " %s:%s", what, rule)
			}
		}
	}
	for name, data := range c.files {
		if len(c.files) == 1 && strings.HasPrefix(name, "in.") {
			tell("found", rules(after, string(data)), rules(before, string(data)))
		}
	}
	tell("cured", rules(after, written(c, a)), rules(after, written(c, b)))
	return all.String()
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
