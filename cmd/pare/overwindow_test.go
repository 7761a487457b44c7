package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare/wire"
)

// A request that is longer than the window of its model is a finding, in all dialects that name
// the model; of an unknown model nothing is said.
func TestOverWindowRequest(t *testing.T) {
	long := strings.Repeat("several words of a log. ", 400_000)
	for _, c := range []struct {
		body string
		over bool
	}{
		{`{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":%q}]}`, true},
		{`{"model":"gpt-5","messages":[{"role":"user","content":%q}]}`, true},
		{`{"model":"gpt-5","input":[{"role":"user","content":%q}]}`, true},
		{`{"model":"nobody-knows","messages":[{"role":"user","content":%q}]}`, false},
	} {
		for text, over := range map[string]bool{long: c.over, "short": false} {
			req, err := wire.Parse([]byte(fmt.Sprintf(c.body, text)), wire.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, got := overWindow(req); got != over {
				t.Errorf("%.60s with %d bytes: %v", c.body, len(text), got)
			}
		}
	}
}
