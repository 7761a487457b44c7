package wire

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// readBy reads a body by itself: ahead, with all predictions, or not.
func readBy(raw []byte, d Dialect, mode jsonspan.Mode, ahead bool) (*parser, error) {
	p := new(parser)
	p.reset(raw, d, mode)
	p.Reset(raw, mode)
	if ahead {
		p.ReadAhead()
	}
	return p, p.document()
}

// samePredicted: what is predicted is read as everything else.
func samePredicted(t *testing.T, raw []byte, d Dialect) {
	t.Helper()
	for _, mode := range []jsonspan.Mode{jsonspan.Structural, jsonspan.Strict} {
		a, errA := readBy(raw, d, mode, true)
		b, errB := readBy(raw, d, mode, false)
		if (errA == nil) != (errB == nil) || errA != nil && errA.Error() != errB.Error() {
			t.Fatalf("%s: %v, want %v, of %s", d, errA, errB, raw)
		}
		if errA != nil {
			continue
		}
		if !reflect.DeepEqual(a.pages, b.pages) || !slices.Equal(a.Flaws(), b.Flaws()) || a.list != b.list {
			t.Fatalf("%s, predicted: %+v %v\nread: %+v %v\nof %s", d, a.pages, a.Flaws(), b.pages, b.Flaws(), raw)
		}
	}
}

func TestPredicted(t *testing.T) {
	dialects := map[benchdata.Shape]Dialect{benchdata.Messages: Anthropic, benchdata.Chat: OpenAIChat, benchdata.Responses: OpenAIResponses}
	r := rand.New(rand.NewPCG(11, 4))
	// What is usual, nearly usual, and wrong, put together at random.
	parts := []string{
		`{"role":"user","content":`, `{"role":"assistant","content":`, `{"role":"tool","tool_call_id":`, `{"type":"tool_result","tool_use_id":`, `,"content":`, `{"type":"text","text":`,
		`{"type":"tool_use","id":`, `,"name":`, `,"input":`, `{"type":"function_call","call_id":`, `{"type":"function_call_output","call_id":`, `,"output":`, `,"arguments":`, `,"tool_calls":[`,
		`{"id":`, `,"type":"function","function":{"name":`, `"x"`, `"a b"`, `""`, `" "`, `"srvtoolu_1"`, `{"a":1,"b":"y"}`, `{"a":1,"a":2}`, `"a\nb"`, `"\ud800"`, `{}`, `{"a":1}`, `[`, `]`, `}`, `}]}`, `},`, `,`, ` `, `null`, `7`, `,"type":"text"`, `,"is_error":true`, `,"content":"again"`, `,"id":"other"`, "\"\x01\"",
		`{"type":"message","role":"assistant","content":`, `{"type":"output_text","text":`, `,"tool_call_id":"t"`, `,"role":"user"`, `,"tool_calls":"x"`, `,"function_call":"x"`, `,"tools":"x"`,
	}
	for shape, d := range dialects {
		body := benchdata.Dense(shape, 30_000)
		samePredicted(t, body, d)
		for range 300 { // one place is changed
			at := r.IntN(len(body))
			if n := strings.IndexAny(string(body[at:]), "{,]}"); n >= 0 {
				at += n
			}
			wrong := slices.Concat(body[:at], []byte(parts[r.IntN(len(parts))]), body[min(len(body), at+r.IntN(3)):])
			samePredicted(t, wrong, d)
		}
		list := grammars[d].list
		for range 4000 {
			text := `{"pad":"x","` + list + `":[`
			for range 1 + r.IntN(14) {
				text += parts[r.IntN(len(parts))]
			}
			samePredicted(t, []byte(text+"]}"), d)
		}
	}
}

// TestNearlyUsual: messages that begin like those that are predicted, or differ a little.
func TestNearlyUsual(t *testing.T) {
	chat := []string{
		`{"role":"assistant","content":"x","tool_calls":[{"id":"c1","type":"function","function":{"name":"Read","arguments":"{}"}}]}`,
		`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"Read","arguments":"{}"}},{"id":"c2","type":"custom","custom":{"name":"a","input":"b"}},7]}`,
		`{"role":"assistant","content":null,"tool_calls":[],"content":"again"}`, `{"role":"assistant","content":"x","tool_calls":[{"id":"c1","type":"function","function":{"name":"Read","arguments":"{}"}}],"tool_calls":[]}`,
		`{"role":"assistant","content":"x","tool_calls":null,"role":"user"}`, `{"role":"assistant","content":"x","tool_calls":"y"}`, `{"role":"assistant","content":nul,"tool_calls":[]}`,
		`{"role":"assistant","content":"x","tool_calls":[{"id":"c1","type":"function","function":{"name":"Read","arguments":"{}"},"id":"c2"}],"refusal":"no"}`,
		`{"role":"tool","tool_call_id":"c1","content":"out"}`, `{"content":"out","tool_call_id":"c1","role":"tool"}`, `{"role":"tool","tool_call_id":"c1","content":"out","content":"again"}`, `{"role":"tool","tool_call_id":"c1","content":"out","name":"Read"}`,
		`{"role":"user","content":"q","tool_calls":"y"}`, `{"role":"user","content":"q","function_call":"f"}`, `{"role":"user","content":"q","reasoning_content":"r"}`, `{"role":"user","content":"q","prefix":"p"}`, `{"role":"user","content":" "}`, `{"role":"user","c\u006fntent":"q"}`,
		`{"role":"user","content":"a","b":"b","c":"c","d":"d","e":"e"}`, `{"role":"user","content":[{"type":"text","text":"a"},{"text":"b","type":"text"},{"type":"text","text":"c","text":"d"},{"type":"refusal","refusal":"no"}]}`, `{}`, `{"role":"user"}`,
		`{"role":"tool","tool_call_id":"","content":"out"}`, `{"role":"tool","tool_call_id":"a\u0062","content":""}`, `{"role":"tool","tool_call_id":"a b","content":"out"}`, `{"role":"tool","tool_call_id":"abcdefgh9","content":"out"}`,
		`{"role":"tool","tool_call_id":"` + strings.Repeat("a", 42) + `","content":"out"}`, `{"role":"tool","tool_call_id":"c1","content":null}`, `{"role":"tool","tool_call_id":"c1","content":"out" }`,
	}
	responses := []string{
		`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]}`, `{"type":"message","role":"user","content":"x"}`, `{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}],"id":"msg_1"}`,
		`{"type":"message","role":"assistant","content":[{"type":"input_text","text":"x"}],"content":"again"}`, `{"type":"message","role":"assistant","content":"x","type":"reasoning"}`, `{"type":"message","role":"user","content":null}`,
		`{"type":"function_call","call_id":"c1","name":"Read","arguments":"{}"}`, `{"arguments":"{}","name":"Read","call_id":"c1","type":"function_call","id":"fc_1","status":"completed"}`, `{"type":"function_call","call_id":"c1","call_id":"c2","name":"Read","arguments":"{}"}`,
		`{"type":"function_call_output","call_id":"c1","output":"out"}`, `{"type":"function_call_output","call_id":"c1","output":["out"]}`, `{"role":"user","content":""}`, `{"role":"user","content":"x","tools":"y"}`, `{"type":"tool_search_output","tools":"y","call_id":"c3"}`,
		`{"type":"function_call","call_id":"","name":"Read","arguments":"{}"}`, `{"type":"function_call","call_id":"a\u0062","name":"Read","arguments":"{}"}`, `{"type":"function_call","call_id":"c1","name":"","arguments":"{}"}`,
		`{"type":"function_call","call_id":"c1","name":"Re ad","arguments":""}`, `{"type":"function_call","call_id":"` + strings.Repeat("a", 65) + `","name":"Read","arguments":"{}"}`, `{"type":"function_call_output","call_id":"` + strings.Repeat("a", 65) + `","output":""}`,
		`{"type":"reasoning","id":"rs_1","summary":[]},{"type":"function_call","call_id":"c5","name":"Read","arguments":"{}"},{"type":"function_call_output","call_id":"c5","output":"out"}`,
		`{"type":"message","role":"assistant","content":[{"type":"output_text","text":""},{"type":"output_text","text":"x","annotations":[]}]}`,
		`{"type":"local_shell_call","call_id":"c6"},{"type":"function_call","call_id":"c6","name":"Read","arguments":"{}"},{"type":"function_call_output","call_id":"c6","output":"out"},{"type":"function_call_output","call_id":"c6","output":"out"}`,
	}
	for d, all := range map[Dialect][]string{OpenAIChat: chat, OpenAIResponses: responses} {
		for _, e := range all {
			samePredicted(t, []byte(`{"pad":"x","`+grammars[d].list+`":[`+e+","+e+"]}"), d)
			samePredicted(t, []byte(`{"pad":"x","`+grammars[d].list+`":[`+e[:len(e)-1]+"]}"), d)
		}
		samePredicted(t, []byte(`{"pad":"x","`+grammars[d].list+`":[`+strings.Join(all, ",")+"]}"), d)
	}
}

// The usual blocks are predicted: no key of theirs is kept.
func TestPredictedOnes(t *testing.T) {
	body := []byte(`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"q"}]},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Read","input":{"path":"x"}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"out"}]}]}`)
	p := new(parser)
	p.reset(body, Anthropic, jsonspan.Strict)
	p.ReadAhead()
	p.Enter()
	for k, ok := p.key(); string(k) != "messages"; k, ok = p.key() {
		if !ok {
			t.Fatal("no messages")
		}
		p.value()
	}
	p.Enter()
	for p.Element() {
		if r := p.usualRole(); !r.given() {
			t.Fatalf("not predicted: %s", body[p.Offset():])
		}
		p.Descend()
		p.startMessage(transcript.User, p.Offset(), 0)
		p.Enter()
		for p.Element() {
			if _, filed := p.usualBlock(0); !filed {
				t.Errorf("not predicted: %s", body[p.Offset():])
			}
		}
		if !p.Ascend() {
			t.Errorf("more than predicted: %s", body[p.Offset():])
		}
	}
	if p.Failed() {
		t.Error(p.Err())
	}
}
