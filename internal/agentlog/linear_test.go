package agentlog

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/wire"
)

// hostile are inputs that are expensive for a careless reader. Each returns a file with about n
// units.
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
		for i := range n / 4 { // the repairs of package wire examine all calls of a turn for each call
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

// hostileLinks are hostile inputs with many links between units.
var hostileLinks = map[string]func(n int) string{
	"kept by a compaction": func(n int) string {
		var uuids []string
		lines := chain(n, func(i int) string {
			uuids = append(uuids, fmt.Sprintf(`"u%d"`, i))
			if i%2 == 0 {
				return `"type":"user","message":{"role":"user","content":"hi"}`
			}
			return fmt.Sprintf(`"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"n","input":{}}]}`, i)
		})
		return lines + `{"parentUuid":null,"uuid":"b","sessionId":"s","timestamp":"2026-01-02T00:00:00Z","type":"system","subtype":"compact_boundary","compactMetadata":{"preservedSegment":{"headUuid":"u0","tailUuid":` + uuids[n-1] +
			`},"preservedMessages":{"uuids":[` + strings.Join(uuids, ",") + `]}}}` + "\n" + `{"parentUuid":"b","uuid":"s","sessionId":"s","timestamp":"2026-01-02T00:00:01Z","type":"user","message":{"role":"user","content":"sum"}}` + "\n"
	},
	"strays": func(n int) string {
		lines := chain(n, func(i int) string { return `"type":"user","message":{"role":"user","content":"hi"}` })
		for i := range n / 2 {
			lines += fmt.Sprintf(`{"parentUuid":"elsewhere","uuid":"x%d","sessionId":"other%d","timestamp":"2026-02-01T00:00:00Z","type":"user","message":{"role":"user","content":"hi"}}`+"\n", i, i)
		}
		return lines
	},
	"compactions of pi": func(n int) string {
		var b strings.Builder
		b.WriteString(`{"type":"session","id":"s","cwd":"/"}` + "\n")
		for i := range n / 2 {
			fmt.Fprintf(&b, `{"type":"message","timestamp":"t","message":{"role":"assistant","content":[{"type":"toolCall","id":"c%d","name":"f","arguments":{}}]}}`+"\n"+`{"type":"compaction","summary":"x","firstKeptEntryIndex":1}`+"\n", i)
		}
		return b.String()
	},
	"results of pi, and branches": func(n int) string {
		var b strings.Builder
		b.WriteString(`{"type":"session","version":3,"id":"s","cwd":"/"}` + "\n" + `{"type":"message","id":"r0","parentId":null,"timestamp":"t","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"f","arguments":{}}]}}` + "\n")
		for i := range n / 2 {
			fmt.Fprintf(&b, `{"type":"message","id":"x%d","parentId":"r%d","timestamp":"t","message":{"role":"user","content":"hi"}}`+"\n", i, i)
			fmt.Fprintf(&b, `{"type":"message","id":"r%d","parentId":"r%d","timestamp":"t","message":{"role":"toolResult","toolCallId":"c","content":[{"type":"text","text":"x"}]}}`+"\n", i+1, i)
		}
		return b.String()
	},
	"responses in a chat": func(n int) string {
		var b strings.Builder
		b.WriteString(`{"sessionId":"s","projectHash":"p"}` + "\n" + `{"id":"m","type":"gemini","content":[{"functionCall":{"id":"c","name":"f","args":{}}}]}` + "\n")
		for i := range n {
			fmt.Fprintf(&b, `{"id":"r%d","type":"user","content":[{"functionResponse":{"id":"c","name":"f","response":{"output":"%d"}}}]}`+"\n", i, i%3)
		}
		return b.String()
	},
	"words beside results": func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `{"id":%d,"timestamp":"t","source":"agent","message":"ran number %d","observation":"run","content":"found %d","extras":{"command":"list %d"},"tool_call_metadata":{"function_name":"f","tool_call_id":"c%d"}}`+"\n", i, i, i, i, i)
		}
		return b.String()
	},
	"words beside a result": func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"note %d":"words %d"`, i, i)
		}
		return `{"type":"session","id":"s","cwd":"/"}` + "\n" + `{"type":"message","id":"a","timestamp":"t","message":{"role":"toolResult","toolCallId":"c","content":[{"type":"text","text":"x"}]` + b.String() + "}}\n"
	},
	"quotations of many words": func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"note %d":"words %d"`, i, i)
		}
		return `{"events":[{"invocationId":"e","author":"a","content":{"role":"user","parts":[{"functionResponse":{"id":"c","name":"f","response":{` + b.String()[1:] + `}}}]}}]}`
	},
	"twins": func(n int) string {
		var b strings.Builder
		b.WriteString(`{"timestamp":"t","type":"session_meta","payload":{"id":"x","cwd":"/"}}` + "\n")
		for i := range n {
			fmt.Fprintf(&b, `{"timestamp":"t","type":"response_item","payload":{"type":"function_call","name":"f","arguments":"{\"a\":%d}","call_id":"c"}}`+"\n", i)
		}
		return b.String()
	},
	"records of Codex": func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `{"timestamp":"t","type":"response_item","payload":{"type":"function_call","name":"f","arguments":"{}","call_id":"c%d"},"ordinal":%d}`+"\n", i, i)
		}
		return b.String()
	},
}

func chain(n int, say func(int) string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"parentUuid":"u%d","uuid":"u%d","sessionId":"s","timestamp":"2026-01-01T00:00:00.%03dZ",%s}`+"\n", i-1, i, i%1000, say(i))
	}
	return b.String()
}

// TestLinear checks that reading, checking and repairing hostile files takes linear time.
func TestLinear(t *testing.T) {
	all := maps.Clone(hostile)
	maps.Copy(all, hostileLinks)
	for name, make := range all {
		trial.Linear(t, name, 8000, func(n int) func() {
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
