package agentlog_test

import (
	"fmt"

	"github.com/pare-llm/pare/agentlog"
)

// Example repairs a session of pi that was killed between a call and its result.
func Example() {
	raw := []byte(`{"type":"session","id":"s","timestamp":"2026-01-01T00:00:00Z","cwd":"/work"}
{"type":"message","timestamp":"2026-01-01T00:00:01Z","message":{"role":"user","content":"list the files"}}
{"type":"message","timestamp":"2026-01-01T00:00:02Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"ls"}}]}}
`)
	found, err := agentlog.Check("session.jsonl", raw)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range found {
		fmt.Printf("line %d: %s %v, open: %v\n", f.Line, f.Rule, f.IDs, f.Open)
	}
	fixed, err := agentlog.Fix("session.jsonl", raw)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s", fixed.Raw[len(raw):])
	fmt.Println(len(fixed.Remaining), "left")
	// Output:
	// line 3: orphan-call [c1], open: true
	// {"type":"message","timestamp":"2026-01-01T00:00:02Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"bash","content":[{"type":"text","text":"The outcome of this call is unknown: no result was recorded."}],"isError":true}}
	// 0 left
}
