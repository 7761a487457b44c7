package dialect_test

import (
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/dialect"
)

// TestSystemSaysNothing: Anthropic refuses texts of the system prompt that say nothing, as it
// refuses them in messages; what says something stays byte for byte.
func TestSystemSaysNothing(t *testing.T) {
	const rest = `"messages": [{"role":"user","content":"q"}]}`
	for _, c := range []struct{ name, system, want, rules string }{
		{"an empty string, which is no prompt", `"system":"", `, `"system":"", `, ""},
		{"an empty block", `"system":[{"type":"text","text":""}], `, ``, "empty-text"},
		{"one of several", `"system":[{"type":"text","text":"a"}, {"type":"text","text":"\n\n"}, {"type":"text","text":"b"}], `,
			`"system":[{"type":"text","text":"a"}, {"type":"text","text":"b"}], `, "empty-text"},
		{"two of several", `"system":[{"type":"text","text":""}, {"type":"text","text":"a"}, {"type":"text","text":" "}], `,
			`"system":[{"type":"text","text":"a"}], `, "empty-text empty-text"},
		{"with a cache mark", `"system":[{"type":"text","text":"a"},{"type":"text","text":"","cache_control":{"type":"ephemeral"}}], `,
			`"system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}], `, "empty-text"},
		{"with a cache mark, behind another", `"system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}},{"type":"text","text":"","cache_control":{"type":"ephemeral"}}], `,
			`"system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}], `, "empty-text"},
		{"a list without blocks", `"system":[], `, `"system":[], `, ""},
		{"null", `"system":null, `, `"system":null, `, ""},
		{"said", `"system":"a", `, `"system":"a", `, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			const head = `{"model":"claude-sonnet-4-5","max_tokens":9, `
			r, err := dialect.Parse([]byte(head+c.system+rest), dialect.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var rules []string
			for _, f := range r.Check(dialect.CheckOptions{}) {
				rules = append(rules, f.Rule)
				if !strings.HasPrefix(f.Path, "system") || !strings.HasPrefix(f.Message, "system: text content blocks must ") {
					t.Errorf("%s: %s", f.Path, f.Message)
				}
			}
			if got := strings.Join(rules, " "); got != c.rules {
				t.Errorf("found %q, not %q", got, c.rules)
			}
			fixed, err := dialect.RepairRequest(r, dialect.Repair{}, dialect.CheckOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := string(fixed.Request.Raw()); got != head+c.want+rest {
				t.Errorf("got  %s\nwant %s", got, head+c.want+rest)
			}
			if len(fixed.Left) > 0 {
				t.Errorf("left: %v", fixed.Left)
			}
		})
	}
	// Compatible servers are not known to mind.
	r, err := dialect.Parse([]byte(`{"model":"deepseek-chat","max_tokens":9,"system":[{"type":"text","text":""}],`+rest), dialect.Options{Dialect: dialect.Anthropic})
	if err != nil {
		t.Fatal(err)
	}
	if found := r.Check(dialect.CheckOptions{}); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}

// TestSystemTwice: where the member stands twice, which one counts is not ours to say, and both stay.
func TestSystemTwice(t *testing.T) {
	for _, system := range []string{
		`"system":[{"type":"text","text":"a"},{"type":"text","text":""}],"system":[]`,
		`"system":"a","system":[{"type":"text","text":""}]`,
	} {
		body := `{"model":"claude-sonnet-4-5","max_tokens":9,` + system + `,"messages":[{"role":"user","content":"q"}]}`
		r, err := dialect.Parse([]byte(body), dialect.Options{})
		if err != nil {
			t.Fatal(err)
		}
		fixed, err := dialect.RepairRequest(r, dialect.Repair{}, dialect.CheckOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(fixed.Request.Raw()); got != body || len(fixed.Left) != 2 {
			t.Errorf("got %s, left %v", got, fixed.Left)
		}
	}
}

// TestSystemBesideAnUnknownRole: a message of the system that changes tools stays what it is; where
// it stands wrong because of what follows, which nobody can repair, nothing is put in front of it.
func TestSystemBesideAnUnknownRole(t *testing.T) {
	const define = `{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"b","input_schema":{"type":"object"}}}}]}`
	defect{as: dialect.Anthropic, body: `{"model":"claude-opus-5","messages":[{"role":"user","content":"q"},` + define + `,{"role":"function","content":"?"},{"role":"assistant","content":"a"},{"role":"user","content":"n"}]}`,
		found: []string{"role-order", "unknown-role"}, left: []string{"role-order", "unknown-role"}, keeps: []string{`"q"},` + define + `,{"role":"function"`}, loses: []string{"Continue."}}.run(t)
	defect{as: dialect.Anthropic, body: `{"model":"claude-opus-5","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"},` + define + `,{"role":"assistant","content":"b"},{"role":"user","content":"n"}]}`,
		found: []string{"role-order"}, keeps: []string{`{"role":"user","content":"Continue."},` + define}}.run(t)
}
