package hosts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// exampleLists are lists with an unanswered call, a pair and, where results are elements, a result
// without its call.
var exampleLists = map[string]string{
	"pi": `[{"role":"user","content":"hi","timestamp":1},
 {"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"s"},{"type":"text","text":"ok"},{"type":"toolCall","id":"a","name":"bash","arguments":{"x":1}},{"type":"toolCall","id":"b","name":"read","arguments":{}}],"api":"x","provider":"y","stopReason":"toolUse","timestamp":2},
 {"role":"toolResult","toolCallId":"b","toolName":"read","content":[{"type":"text","text":"out"}],"isError":false,"timestamp":3},
 {"role":"toolResult","toolCallId":"zz","toolName":"read","content":[{"type":"text","text":"lost"}],"isError":false,"timestamp":3, "mine": 1.50},
 {"role":"user","content":"go on","timestamp":4}]`,
	"ai-sdk": `{"messages":[{"role":"system","content":"s"},{"role":"user","content":"hi"},
 {"role":"assistant","content":[{"type":"text","text":"ok"},{"type":"tool-call","toolCallId":"a","toolName":"bash","input":{"x":1}},{"type":"tool-call","toolCallId":"b","toolName":"read","input":{}}]},
 {"role":"tool","content":[{"type":"tool-result","toolCallId":"b","toolName":"read","output":{"type":"text","value":"out"}}, {"type":"tool-result","toolCallId":"zz","toolName":"read","output":{"type":"json","value":{"k":[1]}}}]},
 {"role":"user","content":[{"type":"text","text":"go on","providerOptions":{"x":{}}}]}]}`,
	"ai-sdk-ui": `[{"id":"1","role":"user","parts":[{"type":"text","text":"hi"}]},
 {"id":"2","role":"assistant","parts":[{"type":"step-start"},{"type":"text","text":"ok"},{"type":"tool-bash","toolCallId":"a","state":"input-available","input":{"x":1}},{"type":"tool-read","toolCallId":"b","state":"output-available","input":{},"output":{"k":1}},{"type":"step-start"},{"type":"text","text":"done"}]},
 {"id":"3","role":"user","parts":[{"type":"text","text":"go on"}]}]`,
	"langchain": `[{"lc":1,"type":"constructor","id":["langchain_core","messages","HumanMessage"],"kwargs":{"content":"hi"}},
 {"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessage"],"kwargs":{"content":[{"type":"text","text":"ok"},{"type":"tool_use","id":"a","name":"bash","input":{"x":1}}],"tool_calls":[{"name":"bash","args":{"x":1},"id":"a","type":"tool_call"},{"name":"read","args":{},"id":"b","type":"tool_call"}],"additional_kwargs":{"tool_calls":[{"id":"b","function":{"name":"read","arguments":"{}"}}]}}},
 {"lc":1,"type":"constructor","id":["langchain_core","messages","ToolMessage"],"kwargs":{"content":"out","tool_call_id":"b","name":"read"}},
 {"lc":1,"type":"constructor","id":["langchain_core","messages","ToolMessage"],"kwargs":{"content":"lost","tool_call_id":"zz","name":"read"}},
 {"lc":1,"type":"constructor","id":["langchain_core","messages","HumanMessage"],"kwargs":{"content":"go on"}}]`,
	"agents-api": `[{"schema":"agents-api.message","version":1,"type":"text","role":"user","content":"hi","payload":{},"metadata":{}},
 {"schema":"agents-api.message","version":1,"type":"tool_call","role":"assistant","content":"","payload":{"tool_name":"bash","parameters":{"x":1},"turn":1},"metadata":{}},
 {"schema":"agents-api.message","version":1,"type":"tool_call","role":"assistant","content":"","payload":{"tool_name":"read","parameters":{},"turn":1},"metadata":{"tool_call_id":"b"}},
 {"schema":"agents-api.message","version":1,"type":"tool_result","role":"user","content":"out","payload":{"tool_name":"read"},"metadata":{"tool_call_id":"b"}},
 {"schema":"agents-api.message","version":1,"type":"tool_result","role":"user","content":"lost","payload":{"tool_name":"read"},"metadata":{}},
 {"schema":"agents-api.message","version":1,"type":"text","role":"user","content":"go on","payload":{},"metadata":{}}]`,
	"openai-agents": `[{"role":"user","content":"hi"},
 {"type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"ok"}]},
 {"type":"function_call","callId":"a","name":"bash","arguments":"{\"x\":1}","status":"completed"},
 {"type":"function_call","callId":"b","name":"read","arguments":"{}","status":"completed"},
 {"type":"function_call_result","callId":"b","name":"read","status":"completed","output":{"type":"text","text":"out"}},
 {"type":"function_call_result","callId":"zz","name":"read","status":"completed","output":"lost"},
 {"role":"user","content":"go on"}]`,
	"sharegpt": `[{"from":"system","value":"s"},{"from":"human","value":"hi"},
 {"from":"function_call","value":"{\"name\":\"a\",\"arguments\":{\"x\":1}}", "weight":0},
 {"from":"human","value":"and?"},
 {"from":"function_call","value":"{\"name\":\"read\",\"arguments\":{}}"},
 {"from":"observation","value":"out"},
 {"from":"gpt","value":"it says out"},
 {"from":"observation","value":"lost"},
 {"from":"human","value":"go on"}]`,
	"opencode": `[{"info":{"id":"m1","sessionID":"s","role":"user","time":{"created":1}},"parts":[{"id":"p1","sessionID":"s","messageID":"m1","type":"text","text":"hi"}]},
 {"info":{"id":"m2","sessionID":"s","role":"assistant","time":{"created":1}},"parts":[{"id":"p2","type":"step-start"},{"id":"p3","type":"tool","callID":"a","tool":"bash","state":{"status":"running","input":{"x":1},"time":{"start":5}}},{"id":"p4","type":"tool","callID":"b","tool":"read","state":{"status":"completed","input":{},"output":"out","title":"","metadata":{},"time":{"start":5,"end":6}}},{"id":"p5","type":"step-finish"}]},
 {"info":{"id":"m3","sessionID":"s","role":"user","time":{"created":1}},"parts":[{"id":"p6","sessionID":"s","messageID":"m3","type":"text","text":"go on"}]}]`,
}

func read(t *testing.T, raw []byte) *List {
	t.Helper()
	l, err := Read(raw, Options{})
	if err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return l
}

func apply(t *testing.T, l *List, p *pare.Policy) []byte {
	t.Helper()
	plan, err := p.Plan(context.Background(), l.Request)
	if err != nil {
		t.Fatal(err)
	}
	out, err := l.Rewrite(plan)
	if err != nil {
		t.Fatalf("%v: %s", err, l.raw)
	}
	if out == nil {
		return l.raw
	}
	return out
}

func TestExampleLists(t *testing.T) {
	for name, raw := range exampleLists {
		want := []string{"orphan-call", "orphan-result"}
		if findShape(name).endCall != nil {
			want = want[:1] // the result is in the part of its call
		}
		for _, raw := range []string{raw, `{"` + findShape(name).listMembers[0] + `":` + raw + `,"id":"mine"}`} {
			if strings.HasPrefix(raw, `{"messages":{`) {
				continue
			}
			l := read(t, []byte(raw))
			if l.Shape != name {
				t.Errorf("%s is read as %s", name, l.Shape)
			}
			var found []string
			for _, f := range l.Check(wire.CheckOptions{}) {
				found = append(found, f.Rule)
			}
			if !slices.Equal(found, want) {
				t.Errorf("%s: found %v, want %v", name, found, want)
			}
			stubbed := apply(t, l, &pare.Policy{})
			if !bytes.Contains(stubbed, []byte("outcome of this call is unknown")) {
				t.Errorf("%s: no stub in %s", name, stubbed)
			}
			dropped := apply(t, l, &pare.Policy{Repair: wire.Repair{OrphanCall: wire.RemedyDrop, OrphanResult: wire.RemedyDrop}})
			if bytes.Contains(dropped, []byte(`"a"`)) || bytes.Contains(dropped, []byte("lost")) {
				t.Errorf("%s: something is left of a half: %s", name, dropped)
			}
			for _, out := range [][]byte{stubbed, dropped} {
				if l := read(t, out); len(l.Check(wire.CheckOptions{})) > 0 || !bytes.Equal(apply(t, l, &pare.Policy{}), out) {
					t.Errorf("%s: what comes out is not clean: %s", name, out)
				}
			}
		}
	}
}

// TestShareGPT checks calls in the tags of Hermes and the names of the data set.
func TestShareGPT(t *testing.T) {
	clean := `{"id":"x","conversations":[{"from":"system","value":"s"},{"from":"user","value":"hi"},{"from":"gpt","value":"<tool_call>\n{}\n</tool_call><tool_call>{}</tool_call>"},{"from":"tool","value":"one, two"},{"from":"gpt","value":"done"}],"tools":"[]"}`
	l := read(t, []byte(clean))
	if found := l.Check(wire.CheckOptions{}); l.Shape != "sharegpt" || len(found) > 0 {
		t.Errorf("%s: %v", l.Shape, found)
	}
	broken := `[{"from":"user","value":"hi"},{"from":"assistant","value":"<tool_call>\n{}\n</tool_call>"},{"from":"user","value":"well?"}]`
	want := `[{"from":"user","value":"hi"},{"from":"assistant","value":"<tool_call>\n{}\n</tool_call>"},{"from":"tool","value":"The outcome of this call is unknown: no result was recorded."},{"from":"user","value":"well?"}]`
	if out := apply(t, read(t, []byte(broken)), &pare.Policy{}); string(out) != want {
		t.Errorf("%s", out)
	}
}

// TestStrictTurns checks that calls are answered before the next message of the model where the
// host requires it.
func TestStrictTurns(t *testing.T) {
	raw := `[{"type":"ai","content":"","tool_calls":[{"id":"a","name":"x","args":{}}]},{"type":"ai","content":"","tool_calls":[{"id":"b","name":"x","args":{}}]},{"type":"tool","content":"late","tool_call_id":"a"},{"type":"tool","content":"done","tool_call_id":"b"}]`
	want := `[{"type":"ai","content":"","tool_calls":[{"id":"a","name":"x","args":{}}]},{"type":"tool","content":"late","tool_call_id":"a"},{"type":"ai","content":"","tool_calls":[{"id":"b","name":"x","args":{}}]},{"type":"tool","content":"done","tool_call_id":"b"}]`
	if out := apply(t, read(t, []byte(raw)), &pare.Policy{}); string(out) != want {
		t.Errorf("%s", out)
	}
}

// TestUnknownElementsStay checks that elements without a spec stay and are reported.
func TestUnknownElementsStay(t *testing.T) {
	for _, c := range []struct{ name, from, to, rule string }{
		{"pi", `"type":"thinking"`, `"type":"telepathy"`, "content-type"},
		{"pi", `{"role":"user","content":"hi"`, `{"role":"oracle","content":"hi"`, "unknown-role"},
		{"ai-sdk", `{"type":"text","text":"ok"}`, `{"type":"smell","of":"roses"}`, "content-type"},
		{"ai-sdk-ui", `{"type":"text","text":"ok"}`, `{"type":"smell","of":"roses"}`, "content-type"},
		{"langchain", `"HumanMessage"`, `"OracleMessage"`, "unknown-role"},
		{"langchain", `{"type":"text","text":"ok"}`, `{"type":"smell","of":"roses"}`, "content-type"},
		{"agents-api", `"type":"text"`, `"type":"smell"`, "unknown-role"},
		{"opencode", `"type":"step-finish"`, `"type":"smell"`, "content-type"},
		{"opencode", `{"info":{"id":"m1"`, `7,{"info":{"id":"m1"`, "wrong-type"},
	} {
		raw := strings.Replace(exampleLists[c.name], c.from, c.to, 1)
		l := read(t, []byte(raw))
		out := apply(t, l, &pare.Policy{})
		if !bytes.Contains(out, []byte(c.to)) {
			t.Errorf("%s: %s is gone: %s", c.name, c.to, out)
		}
		if found := read(t, out).Check(wire.CheckOptions{}); len(found) == 0 || found[0].Rule != c.rule || l.Shape != c.name {
			t.Errorf("%s with %s: found %v", c.name, c.to, found)
		}
	}
	for _, raw := range []string{`[]`, `{}`, `7`, `[{"role":"user","content":"hi"}]`, `{"messages":[{"role":"user","parts":[{"text":"gemini"}]}]}`, `[1,2]`} {
		if l, err := Read([]byte(raw), Options{}); !errors.Is(err, ErrShape) {
			t.Errorf("%s is read as %v, %v", raw, l, err)
		}
	}
}

// TestRandomLists checks random lists of every shape: repaired and shortened lists have no broken
// pairs and are stable, repairs lose no words, and remaining elements keep every member.
func TestRandomLists(t *testing.T) {
	cut := pare.Rule{Name: "cut", Doc: "shortens every other result and text", Prepare: func(r *wire.Request) (pare.Process, error) {
		return func(b *pare.Ballot) {
			for i, blk := range r.Transcript().Blocks() {
				if i%2 == 0 && (blk.Kind == transcript.Result || blk.Kind == transcript.Text) {
					b.Edit(transcript.BlockID(i), "cut", "a test")
				}
			}
		}, nil
	}}
	ruled, err := pare.Compile(cut)
	if err != nil {
		t.Fatal(err)
	}
	counter := func(string) (wire.Counter, error) { return tokens.For(""), nil }
	policies := []*pare.Policy{
		{}, {Repair: wire.Repair{OrphanCall: wire.RemedyDrop, OrphanResult: wire.RemedyDrop}},
		{Window: &pare.Window{Messages: 6}, Counter: counter}, {Window: &pare.Window{Tokens: 300}, Counter: counter},
		{Rules: ruled, Counter: counter},
	}
	changed := map[string]int{}
	for seed := range trial.Size(60) {
		for i, shape := range Names() {
			r := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
			m := &listMaker{r: r, shape: shape, n: r.IntN(3) * 1000}
			raw := m.list(seed%2 == 1)
			l, err := Read(raw, Options{As: shape})
			if err != nil {
				t.Fatalf("%s %d: %v", shape, seed, err)
			}
			for k, p := range policies {
				if what := judge(l, p, m, k); what != "" {
					t.Fatalf("%s, seed %d, policy %d: %s\n%s", shape, seed, k, what, raw)
				}
			}
			if out := apply(t, l, policies[0]); !bytes.Equal(out, raw) {
				changed[shape]++
			}
		}
	}
	for _, shape := range Names() {
		if changed[shape] < trial.Size(60)/10 {
			t.Errorf("only %d lists of %s needed a repair", changed[shape], shape)
		}
	}
}

// judge returns the promise that the result of a policy violates, or "".
func judge(l *List, p *pare.Policy, m *listMaker, k int) string {
	plan, err := p.Plan(context.Background(), l.Request)
	var small *pare.WindowTooSmall
	if errors.As(err, &small) {
		return ""
	}
	if err != nil {
		return err.Error()
	}
	out, err := l.Rewrite(plan)
	if err != nil {
		return err.Error() + "\n" + string(plan.Result().Raw())
	}
	if out == nil {
		return ""
	}
	again, err := Read(out, Options{As: l.Shape})
	if err != nil {
		return err.Error()
	}
	if found := again.Check(wire.CheckOptions{}); len(found) > 0 {
		return fmt.Sprintf("left: %v in %s", found[0], out)
	}
	if k == 0 {
		for _, word := range m.words {
			if bytes.Contains(l.raw, []byte(word)) && !bytes.Contains(out, []byte(word)) {
				return fmt.Sprintf("%s is gone from %s", word, out)
			}
		}
		if twice, err := p.Plan(context.Background(), again.Request); err != nil || !twice.Empty() {
			return fmt.Sprintf("a second repair has something to do: %v, %s", err, out)
		}
	}
	before, after := map[any]any{}, map[any]any{}
	marked(l.raw, before)
	marked(out, after)
	for mark, now := range after {
		if was, ok := before[mark]; !ok || !reflect.DeepEqual(was, now) {
			return fmt.Sprintf("what bears the mark %v was %v and is %v", mark, was, now)
		}
	}
	return ""
}

// mutable are the members that Pare may change.
var mutable = map[string]bool{
	"content": true, "parts": true, "messages": true, "history": true, "tool_calls": true, "output": true, "text": true, "state": true, "errorText": true, "status": true,
	"callId": true, "name": true, "toolName": true, "arguments": true, "toolCallId": true, "id": true, "tool_call_id": true, "callID": true, "input": true, "args": true, "value": true, "conversations": true, "metadata": true, "additional_kwargs": true,
}

// marked collects the other members of all objects with a mark.
func marked(raw []byte, all map[any]any) {
	var whole any
	if err := json.Unmarshal(raw, &whole); err != nil {
		panic(err)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case obj:
			for _, e := range v {
				walk(e)
			}
			if mark, ok := v["mine"]; ok {
				rest := maps.Clone(v)
				maps.DeleteFunc(rest, func(name string, _ any) bool { return mutable[name] })
				all[mark] = rest
			}
		}
	}
	walk(whole)
}
