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
