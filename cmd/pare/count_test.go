package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pare-llm/pare/cmd/internal/screen"
)

func TestCountAddsUp(t *testing.T) {
	for name, z := range zoo(t) {
		for _, tokenizer := range []string{"estimate", "o200k"} {
			status, out, errs := program(strings.NewReader(z.body()), "count", "--json", "--by-message", "--as", z.Dialect, "--tokenizer", tokenizer)
			if status != statusClean {
				continue // unreadable
			}
			var n countJSON
			if err := json.Unmarshal([]byte(out), &n); err != nil || errs != "" {
				t.Fatalf("%s: %v: %s%s", name, err, out, errs)
			}
			head, k, r := n.Head.System+n.Head.Tools+n.Head.Other, n.Kinds, n.Roles
			kinds := k.Text + k.Thinking + k.Calls + k.Results + k.Media + k.Other
			roles := r.System + r.User + r.Assistant + r.Tool + r.Other
			each := 0
			for _, m := range n.ByMessage {
				each += m.Tokens
			}
			if n.Tokens != head+kinds+n.Marks || n.Tokens != head+roles || n.Tokens != head+each || n.Head.Other < 0 || len(n.ByMessage) != n.Messages {
				t.Errorf("%s: %s", name, out)
			}
		}
	}
}

func TestBarShowsEighths(t *testing.T) {
	for share, want := range map[float64]string{0: "    ", 0.5: "██  ", 1: "████", 2: "████", 0.03: "▏   ", 0.3: "█▎  "} {
		if got := screen.Bar(share, 4); got != want {
			t.Errorf("screen.Bar(%v) = %q, want %q", share, got, want)
		}
	}
}
