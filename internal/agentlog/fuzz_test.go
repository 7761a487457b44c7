package agentlog

import (
	"bytes"
	"testing"

	"github.com/pare-llm/pare/wire"
)

// seeds are small files of every format, valid and broken.
var seeds = []string{
	`{"parentUuid":null,"isSidechain":false,"sessionId":"s","type":"user","message":{"role":"user","content":"hi"},"uuid":"u1","timestamp":"2026-01-01T00:00:00.000Z"}
{"parentUuid":"u1","isSidechain":false,"sessionId":"s","type":"assistant","message":{"id":"m1","role":"assistant","model":"claude-opus-4-5","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]},"uuid":"u2","timestamp":"2026-01-01T00:00:01.000Z"}
{"parentUuid":"u2","isSidechain":false,"sessionId":"s","type":"assistant","message":{"id":"m1","role":"assistant","model":"claude-opus-4-5","content":[{"type":"tool_use","id":"t2","name":"Bash","input":{}}]},"uuid":"u3","timestamp":"2026-01-01T00:00:02.000Z"}
{"parentUuid":"u2","isSidechain":false,"sessionId":"s","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]},"uuid":"u4","timestamp":"2026-01-01T00:00:03.000Z"}
{"parentUuid":"u3","isSidechain":false,"sessionId":"s","type":"user","message":{"role":"user","content":"go on"},"uuid":"u5","timestamp":"2026-01-01T00:00:04.000Z"}
`,
	`{"parentUuid":"gone","isSidechain":true,"sessionId":"s","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t9","content":"ok"}]},"uuid":"u1"}{"parentUuid":"u1","uuid":"u1","type":"progress","sessionId":"s"}
{"parentUuid":"u1","type":"assistant","isSidechain":true,"message":{"role":"assistant","content":[]},"uuid":"u2","sessionId":"s"
{"parentUuid":"u3","type":"assistant","message":{"role":"assistant","content":"x"},"uuid":"u3","sessionId":"s"}`,
	`{"timestamp":"t","type":"session_meta","payload":{"id":"x"}}
{"timestamp":"t","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"late"}}
{"timestamp":"t","type":"response_item","payload":{"type":"function_call","name":"f","arguments":"{}","call_id":"c1"}}
{"timestamp":"t","type":"compacted","payload":{"message":"m"}}
{"timestamp":"t","type":"response_item","payload":{"type":"custom_tool_call","name":"f","input":"","call_id":"c2"}}`,
	`{"id":"x","timestamp":"t","instructions":null,"git":{}}
{"record_type":"state"}
{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}
{"type":"function_call","name":"f","arguments":"{}","call_id":"c1"}`,
	`{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/"}
{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"user","content":"hi","timestamp":1}}
{"type":"message","id":"b","parentId":"a","timestamp":"t","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{}},{"type":"toolCall","id":"c2","name":"read","arguments":{}}],"timestamp":2}}
{"type":"message","id":"c","parentId":"b","timestamp":"t","message":{"role":"toolResult","toolCallId":"c2","toolName":"read","content":[{"type":"text","text":"x"}],"isError":false,"timestamp":3}}
{"type":"message","id":"d","parentId":"zz","timestamp":"t","message":{"role":"user","content":"more","timestamp":4}}`,
	`{"sessionId":"s","projectHash":"p","messages":[{"id":"1","type":"user","content":"hi"},{"id":"2","type":"gemini","content":"","toolCalls":[{"id":"c","name":"f","args":{}}]},{"id":"3","type":"gemini","content":"x","toolCalls":[{"id":"d","name":"f","args":{},"result":[{"functionResponse":{"id":"e","name":"f","response":{}}}]}]}]}`,
	`{"sessionId":"s","projectHash":"p","startTime":"t","messages":[]}
{"id":"1","type":"user","content":"hi"}
{"id":"2","type":"gemini","content":"","toolCalls":[{"id":"c","name":"f","args":{}}]}
{"id":"3","type":"user","content":"wrong"}
{"$rewindTo":"3"}
{"$set":{"summary":"x"}}
{"id":"2","type":"gemini","content":"","toolCalls":[{"id":"c","name":"f","args":{},"status":"executing"}]}
{"id":"4","type":"user","content":"well?"}`,
	`{"working_dir":"/","description":"d","message_count":2}
{"role":"user","created":1,"content":[{"type":"text","text":"hi"}]}
{"role":"assistant","created":2,"content":[{"type":"toolRequest","id":"c","toolCall":{"status":"success","value":{"name":"f","arguments":{}}}}]}
{"role":"user","created":3,"content":[{"type":"toolResponse","id":"d","toolResult":{"status":"success","value":[{"type":"text","text":"r"}]}}]}`,
	`{"k":{"input":{"system":"","messages":[{"role":"assistant","created":2,"content":[{"type":"toolRequest","id":"c","toolCall":{}}]}]},"output":{}}}`,
	`[{"id":0,"timestamp":"t","source":"user","message":"hi","action":"message"},{"id":1,"timestamp":"t","source":"agent","action":"run","args":{},"tool_call_metadata":{"tool_call_id":"c","function_name":"f"}},{"id":2,"timestamp":"t","source":"agent","observation":"run","content":"x","tool_call_metadata":{"tool_call_id":"d"}}]`,
	`{"history":[{"id":1,"timestamp":"t","source":"agent","action":"run","tool_call_metadata":{"tool_call_id":"c","function_name":"f"}}]}{"history":[]}`,
	`{"events":[{"author":"a","invocation_id":"i","content":{"role":"model","parts":[{"function_call":{"name":"f","args":{}}}]},"id":"x"},{"author":"u","invocation_id":"i","content":{"role":"user","parts":[{"text":"hm"}]}}]}`,
	`// a comment
{"type":"summary","summary":"x","leafUuid":"u"}
null
"text"
{"silly"`,
	`[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]},{"role":"user","content":"next"}]`,
}

// FuzzLog reads, checks and repairs any input and checks that it does not panic, reports the
// remaining findings, and changes nothing in a second fix.
func FuzzLog(f *testing.F) {
	for i, s := range seeds {
		f.Add([]byte(s), byte(0))
		f.Add([]byte(s), byte(i%9+1))
	}
	f.Fuzz(func(t *testing.T, raw []byte, pick byte) {
		o := Options{Format: Format(pick % 10)}
		if o.Format == OpenCode {
			return
		}
		before := bytes.Clone(raw)
		l, err := Read("x", raw, o)
		if err != nil {
			return
		}
		found := l.Check(wire.CheckOptions{})
		fixed, err := l.Fix(o)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(before, raw) {
			t.Fatal("the input was changed")
		}
		if len(found) == 0 && len(fixed.Changes) == 0 && !bytes.Equal(fixed.Raw, raw) {
			t.Fatal("changed without a reason")
		}
		o.AppendOnly = true
		if more, err := l.Fix(o); err == nil && !bytes.HasPrefix(more.Raw, raw) {
			t.Fatal("append only has changed what was there")
		}
		o.AppendOnly = false
		o.Format = l.Format
		again, err := Read("x", fixed.Raw, o)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := again.Fix(o)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(twice.Raw, fixed.Raw) && len(fixed.Remaining) == 0 {
			t.Fatalf("a second fix is no no-op:\n%s\n%s", fixed.Raw, twice.Raw)
		}
	})
}
