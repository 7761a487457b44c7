package recall

import (
	"bytes"
	"io"
	"testing"

	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/wire"
)

// FuzzStreams: whatever a provider streams, a reply that does not name the tool passes byte for
// byte, in every framing, and one that does breaks nothing.
func FuzzStreams(f *testing.F) {
	t := &testing.T{}
	for i, s := range streams {
		for _, r := range []paretest.Reply{
			{Thinking: "Hm.", Text: "One two.", Calls: []paretest.ToolCall{{ID: "a", Tool: "Read", Arguments: `{"path":"a"}`}}},
			{Text: "One.", Calls: []paretest.ToolCall{{ID: "a", Tool: Tool, Arguments: `{"handle":"h"}`}, {ID: "b", Tool: "Read"}}},
		} {
			_, reply := answers(t, s.path, s.body, r)
			f.Add(byte(i), []byte(reply))
		}
	}
	kinds := []string{"text/event-stream", "application/vnd.amazon.eventstream", "text/event-stream", "text/event-stream", "text/event-stream", "application/json", "application/vnd.amazon.eventstream", "text/event-stream"}
	f.Fuzz(func(t *testing.T, which byte, reply []byte) {
		s := streams[int(which)%len(streams)]
		tongue := For(s.dialect)
		filter, framing := tongue.Stream(), Frame(tongue, kinds[int(which)%len(streams)], true)
		var out []byte
		for range 2 {
			framing.Read(bytes.NewReader(reply))
			for {
				e, err := framing.Next()
				if err != nil {
					if err != io.EOF {
						return // it is cut off there
					}
					break
				}
				for _, e := range filter.Take(e) {
					out = framing.Append(out, e)
				}
			}
			turn := filter.Turn()
			Ask(tongue, []byte(`{"messages":[],"input":[],"contents":[]}`), turn, make([]string, len(turn.Calls)))
			if bytes.Contains(reply, []byte("pare")) || bytes.IndexByte(reply, '\\') >= 0 || tongue.wrapped() {
				filter.Next()
				continue
			}
			if !bytes.Equal(out, reply) {
				t.Fatalf("%s: %q\nwas %q", s.name, out, reply)
			}
			return
		}
		filter.Close()
	})
}

// FuzzHear: whatever a provider replies, nothing breaks, and what is shown does not name the
// tool.
func FuzzHear(f *testing.F) {
	for d := range tongues {
		f.Add(byte(d), []byte(`{"content":[{"type":"tool_use","id":"a","name":"pare_recall","input":{"handle":"h"}}],"stop_reason":"tool_use"}`))
		f.Add(byte(d), []byte(`{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"pare_recall","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`))
		f.Add(byte(d), []byte(`{"output":[{"type":"function_call","name":"pare_recall","call_id":"a","arguments":"{}"}],"status":"completed"}`))
		f.Add(byte(d), []byte(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"pare_recall","args":{}}}]},"finishReason":"STOP"}]}`))
		f.Add(byte(d), []byte(`{"steps":[{"type":"function_call","name":"pare_recall","id":"a","arguments":{}}],"status":"requires_action"}`))
		f.Add(byte(d), []byte(`{"output":{"message":{"content":[{"toolUse":{"toolUseId":"a","name":"pare_recall","input":{}}}]}},"stopReason":"tool_use"}`))
	}
	f.Fuzz(func(t *testing.T, d byte, reply []byte) {
		tongue := For(wire.Dialect(d))
		if tongue == nil {
			return
		}
		tongue.Offer(reply)
		turn := tongue.Hear(reply)
		if turn == nil {
			return
		}
		out := tongue.Reply(reply, []*Turn{turn}, turn)
		if again := tongue.Hear(out); again == nil || len(again.Calls) > 0 || len(again.Others) < len(turn.Others) {
			t.Fatalf("%q\nfrom %q", out, reply)
		}
		Ask(tongue, reply, turn, make([]string, len(turn.Calls)))
	})
}
