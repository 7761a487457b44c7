package agentlog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/wire"
)

// hostile are shapes that would blow up a careless reader; each is a file of about
// n units.
var hostile = map[string]func(n int) string{
	"calls without results": func(n int) string {
		return chain(n, func(i int) string {
			if i%2 == 0 {
				return `"type":"user","message":{"role":"user","content":"hi"}`
			}
			return fmt.Sprintf(`"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"n","input":{}}]}`, i)
		})
	},
	"results without calls": func(n int) string {
		return chain(n, func(i int) string {
			return fmt.Sprintf(`"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"x"}]}`, i)
		})
	},
	"one message on many lines": func(n int) string {
		var b strings.Builder
		for i := range n / 4 { // the mends of package wire look at all calls of a turn for each
			fmt.Fprintf(&b, `{"parentUuid":"u","uuid":"u%d","sessionId":"s","type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"n","input":{}}]}}`+"\n", i, i)
		}
		return b.String()
	},
	"everything on one line": func(n int) string {
		return strings.ReplaceAll(chain(n, func(int) string { return `"type":"user","message":{"role":"user","content":"hi"}` }), "\n", "")
	},
	"empty texts": func(n int) string {
		return chain(n, func(i int) string {
			return `"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":""}]}`
		})
	},
	"nobody's children": func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `{"parentUuid":"gone","uuid":"u%d","sessionId":"s","type":"user","message":{"role":"user","content":"hi"}}`+"\n", i)
		}
		return b.String()
	},
	"broken lines": func(n int) string {
		return chain(4, func(int) string { return `"type":"user","message":{"role":"user","content":"hi"}` }) + strings.Repeat(`{"type":{"type":{"type":{"type":`+"\n", n)
	},
	"one broken line": func(n int) string {
		return chain(4, func(int) string { return `"type":"user","message":{"role":"user","content":"hi"}` }) + strings.Repeat(`{"type":[`, n)
	},
	"calls in one chat message": func(n int) string {
		var b strings.Builder
		b.WriteString(`{"sessionId":"s","projectHash":"p","messages":[{"type":"gemini","content":"","toolCalls":[`)
		for i := range n {
			fmt.Fprintf(&b, `{"id":"c%d","name":"f","args":{}},`, i)
		}
		return strings.TrimSuffix(b.String(), ",") + "]}]}"
	},
	"outputs again and again": func(n int) string {
		line := `{"timestamp":"t","type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"x"}}` + "\n"
		return `{"timestamp":"t","type":"response_item","payload":{"type":"function_call","name":"f","arguments":"{}","call_id":"c"}}` + "\n" + strings.Repeat(line, n)
	},
	"calls in one pi message": func(n int) string {
		var b strings.Builder
		b.WriteString(`{"type":"session","id":"s","cwd":"/"}` + "\n" + `{"type":"message","id":"a","timestamp":"t","message":{"role":"assistant","content":[`)
		for i := range n {
			fmt.Fprintf(&b, `{"type":"toolCall","id":"c%d","name":"f","arguments":{}},`, i)
		}
		return strings.TrimSuffix(b.String(), ",") + "]}}"
	},
}

func chain(n int, say func(int) string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"parentUuid":"u%d","uuid":"u%d","sessionId":"s","timestamp":"2026-01-01T00:00:00.%03dZ",%s}`+"\n", i-1, i, i%1000, say(i))
	}
	return b.String()
}

// TestLinear reads, checks and mends hostile files: that takes time by their size.
func TestLinear(t *testing.T) {
	for name, make := range hostile {
		trial.Linear(t, name, 4000, func(n int) func() {
			raw := []byte(make(n))
			return func() {
				l, err := Read("x", raw, Options{})
				if err != nil {
					t.Fatal(err)
				}
				l.Check(wire.CheckOptions{})
				if _, err := l.Fix(Options{}); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
