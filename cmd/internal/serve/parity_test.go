package serve_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/pare-llm/pare/cmd/internal/serve"
	"github.com/pare-llm/pare/internal/engine"
)

// TestCallsOverHTTP: every call of the table that other languages share is there over HTTP, with the
// same options and the same answer to the byte.
func TestCallsOverHTTP(t *testing.T) {
	var long strings.Builder
	long.WriteString(`{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[`)
	for i := range 20 {
		fmt.Fprintf(&long, `{"role":"user","content":"question %d"},{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"bash","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"%s"}]},{"role":"assistant","content":"answer"},`, i, i, i, strings.Repeat("output ", 50))
	}
	long.WriteString(`{"role":"user","content":"go on"}]}`)
	at, _, _ := start(t, serve.Options{})
	tried := map[string]bool{}
	for _, c := range []struct {
		call    string
		options map[string]any
	}{
		{"fix", nil}, {"fix", map[string]any{"orphan_call": "drop"}}, {"prune", map[string]any{"keep_recent": 0}}, {"prune", map[string]any{"rules": []string{"deduplication"}}},
		{"fit", map[string]any{"max_tokens": 1000}}, {"trim", map[string]any{"max_turns": 3, "min_keep": 1}}, {"trim", map[string]any{"max_exchanges": 2, "max_messages": 9}},
		{"compact", map[string]any{"min_keep": 4, "max_summary": 200}}, {"compact", map[string]any{"summary": "It was about questions.", "inside": true}},
		{"check", map[string]any{"strict": true}}, {"count", map[string]any{"by_message": true}}, {"split", map[string]any{"min_keep": 4}},
		{"split", map[string]any{"min_keep": 4, "part": "tail"}}, {"pairs", nil},
	} {
		tried[c.call] = true
		for _, body := range []string{long.String(), broken} {
			options, _ := json.Marshal(c.options)
			want, failed := engine.Call(c.call, []byte(body), options, engine.Callbacks{})
			q := url.Values{}
			for name, v := range c.options {
				if list, ok := v.([]string); ok {
					v = strings.Join(list, ",")
				}
				q.Set(name, fmt.Sprint(v))
			}
			resp, got := send(t, "POST", at+"/pare/v1/"+c.call+"?"+q.Encode(), body)
			said := string(want.Body)
			switch {
			case failed != nil:
				if resp.StatusCode/100 != 4 || !strings.Contains(got, failed.Error()) {
					t.Errorf("%s %s: %s %s, want %v", c.call, options, resp.Status, got, failed)
				}
				continue
			case engine.Changes(c.call) && want.Body == nil:
				said = body
			case want.Body == nil:
				said = string(want.Report) + "\n"
			}
			if resp.StatusCode != 200 || got != said {
				t.Errorf("%s %s: %s\n%.300s\nwant\n%.300s", c.call, options, resp.Status, got, said)
			}
		}
	}
	for _, name := range engine.Calls() {
		if !tried[name] {
			t.Errorf("%s is not tried", name)
		}
	}
	if resp, got := send(t, "POST", at+"/pare/v1/fix?config=%7B%7D", broken); resp.StatusCode != 400 || !strings.Contains(got, "has no parameter") {
		t.Errorf("a configuration came over HTTP: %s %s", resp.Status, got)
	}
}
