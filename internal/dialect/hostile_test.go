package dialect

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/internal/trial"
)

// lists are small histories with a hole for one message, one per dialect.
var lists = map[Dialect]string{
	Anthropic:       `{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"q"},%s]}`,
	OpenAIChat:      `{"model":"gpt-5","messages":[{"role":"user","content":"q"},%s]}`,
	OpenAIResponses: `{"model":"gpt-5","input":[{"role":"user","content":"q"},%s]}`,
	Gemini:          `{"model":"gemini-2.5-pro","contents":[{"role":"user","parts":[{"text":"q"}]},%s]}`,
	Bedrock:         `{"modelId":"anthropic.claude-3-7-sonnet","messages":[{"role":"user","content":[{"text":"q"}]},%s]}`,
}

// TestWrongTypes puts values of the wrong type in every place that the index reads.
// Each must lead to a finding at that place.
func TestWrongTypes(t *testing.T) {
	values := []string{`null`, `true`, `7`, `"text"`, `[]`, `[[]]`, `{}`}
	for d, body := range lists {
		for _, v := range values {
			if v == `{}` {
				continue // no role: tested below
			}
			got := report(t, fmt.Appendf(nil, body, v), Options{Dialect: d}, CheckOptions{})
			want := "wrong-type " + d.List() + ".1"
			if !slices.Contains(got, want) {
				t.Errorf("%s: message %s: findings %q, want %q", d, v, got, want)
			}
		}
	}
	for _, c := range []struct {
		d             Dialect
		message, want string
	}{
		{Anthropic, `{}`, "field-missing messages.1"},
		{Anthropic, `{"role":7,"content":"x"}`, "wrong-type messages.1.role"},
		{Anthropic, `{"role":"user"}`, "null-content messages.1"},
		{Anthropic, `{"role":"user","content":7}`, "wrong-type messages.1.content"},
		{Anthropic, `{"role":"user","content":[null]}`, "wrong-type messages.1.content.0"},
		{Anthropic, `{"role":"user","content":[{"type":"text","text":7}]}`, "wrong-type messages.1.content.0.text"},
		{Anthropic, `{"role":"user","content":[{}]}`, "field-missing messages.1.content.0"},
		{Anthropic, `{"role":"assistant","content":[{"type":"tool_use","id":7,"name":"f","input":{}}]}`, "wrong-type messages.1.content.0.id"},
		{Anthropic, `{"role":"assistant","content":[{"type":"tool_use","name":"f","input":{}}]}`, "field-missing messages.1.content.0"},
		{Anthropic, `{"role":"user","content":[{"type":"tool_result","tool_use_id":7}]}`, "wrong-type messages.1.content.0.tool_use_id"},
		{Anthropic, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":7}]}`, "wrong-type messages.1.content.0.content"},
		{OpenAIChat, `{"role":"assistant","tool_calls":7}`, "wrong-type messages.1.tool_calls"},
		{OpenAIChat, `{"role":"assistant","tool_calls":[null]}`, "wrong-type messages.1.tool_calls.0"},
		{OpenAIChat, `{"role":"assistant","tool_calls":[{"id":7,"function":{"name":"f","arguments":"{}"}}]}`, "wrong-type messages.1.tool_calls.0.id"},
		{OpenAIChat, `{"role":"tool","tool_call_id":7,"content":"x"}`, "wrong-type messages.1.tool_call_id"},
		{OpenAIChat, `{"role":"user","content":[7]}`, "wrong-type messages.1.content.0"},
		{OpenAIResponses, `{"type":7,"role":"user","content":"x"}`, "wrong-type input.1.type"},
		{OpenAIResponses, `{"type":"function_call","call_id":7,"name":"f","arguments":"{}"}`, "wrong-type input.1.call_id"},
		{OpenAIResponses, `{"role":"user","content":[7]}`, "wrong-type input.1.content.0"},
		{Gemini, `{"role":"user","parts":7}`, "wrong-type contents.1.parts"},
		{Gemini, `{"role":"user","parts":[null]}`, "wrong-type contents.1.parts.0"},
		{Gemini, `{"role":"model","parts":[{"functionCall":7}]}`, "wrong-type contents.1.parts.0"},
		{Bedrock, `{"role":"user","content":"text"}`, "wrong-type messages.1.content"},
		{Bedrock, `{"role":"user","content":[7]}`, "wrong-type messages.1.content.0"},
		{Bedrock, `{"role":"assistant","content":[{"toolUse":{"toolUseId":7,"name":"f","input":{}}}]}`, "wrong-type messages.1.content.0.toolUse.toolUseId"},
	} {
		got := report(t, fmt.Appendf(nil, lists[c.d], c.message), Options{Dialect: c.d}, CheckOptions{})
		if !slices.Contains(got, c.want) {
			t.Errorf("%s: %s: findings %q, want %q", c.d, c.message, got, c.want)
		}
	}
}

// TestNotARequest wants an error that says where and why.
func TestNotARequest(t *testing.T) {
	deep := strings.Repeat("[", 100_000)
	for _, c := range []struct {
		body, want string
		offset     int
	}{
		{``, "ends in the middle", 0},
		{"  \n", "ends in the middle", 3},
		{`{"messages":[{"role":"user","content":"q"}`, "ends in the middle", 42},
		{`{"messages":[{"role":"user","content":"q}]}`, "middle of a string", 43},
		{`{"messages":[{"role":"user","content":"q"},]}`, "comma", 42},
		{"\x00\x01\x02", "expected a value", 0},
		{"PK\x03\x04", "expected a value", 0},
		{"\xef\xbb\xbf{}", "expected a value", 0},
		{`{"messages":[{"role":"user","content":` + deep, "deeper than", 10_035},
	} {
		for _, d := range append(Dialects(), Auto) {
			_, err := Parse([]byte(c.body), Options{Dialect: d})
			var syntax *SyntaxError
			if !errors.As(err, &syntax) {
				t.Errorf("%.40q as %s: error %v, want a *SyntaxError", c.body, d, err)
				continue
			}
			if !strings.Contains(err.Error(), c.want) || syntax.Offset != c.offset {
				t.Errorf("%.40q as %s: error %.120q at %d, want %q at %d", c.body, d, err, syntax.Offset, c.want, c.offset)
			}
		}
	}
	for _, body := range []string{`{}`, `{"model":"x"}`, `7`, `null`, `"messages"`, `{"Messages":[]}`, `{"messages":7}`, `{"messages":{"a":"b"}}`, `{"messages":"x"}`} {
		if _, err := Parse([]byte(body), Options{}); !errors.Is(err, ErrNotRequest) {
			t.Errorf("%s: error %v, want ErrNotRequest", body, err)
		}
	}
	for _, body := range []string{`{"messages":null}`, `{"model":"gpt-5","messages":7}`, `{"model":"gpt-5","messages":{}}`, `{"model":"gpt-5","messages":"x"}`} {
		if got := report(t, []byte(body), Options{}, CheckOptions{}); !slices.Equal(got, []string{"wrong-type messages"}) {
			t.Errorf("%s: findings %q", body, got)
		}
	}
	if got := report(t, []byte(`{"messages":[]}`), Options{}, CheckOptions{}); !slices.Equal(got, []string{"empty-content messages"}) {
		t.Errorf("empty list: findings %q", got)
	}
}

// TestLastKeyWins: of two equal keys the last one counts for all other rules; that
// there are two is a finding, for parsers differ.
func TestLastKeyWins(t *testing.T) {
	body := []byte(`{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"x"}]}],
		"messages":[{"role":"assistant","role":"user","content":[{"type":"text","text":""}],"content":"hello"}]}`)
	got := report(t, body, Options{}, CheckOptions{})
	want := []string{"duplicate-key messages", "duplicate-key messages.0.content", "duplicate-key messages.0.role"}
	if !slices.Equal(got, want) {
		t.Errorf("findings %q, want %q", got, want)
	}
}

// TestEscapedKeys: a key is what it decodes to.
func TestEscapedKeys(t *testing.T) {
	body := []byte(`{"\u006dessages":[{"\u0072ole":"user","conten\u0074":[{"type":"tool_result","tool_use_id":"x","content":"y"}]}]}`)
	if got := report(t, body, Options{Dialect: Anthropic}, CheckOptions{}); !slices.Equal(got, []string{"orphan-result messages.0.content.0"}) {
		t.Errorf("findings %q", got)
	}
}

// TestLinear feeds histories in which every block is at fault: the time must grow
// with their size, not with its square.
func TestLinear(t *testing.T) {
	for name, one := range map[string][2]string{
		"orphan results": {`{"role":"user","content":[`, `{"type":"tool_result","tool_use_id":"t%d","content":"x"}`},
		"orphan calls":   {`{"role":"assistant","content":[`, `{"type":"tool_use","id":"t%d","name":"f","input":{}}`},
		"equal ids":      {`{"role":"assistant","content":[`, `{"type":"tool_use","id":"t%.0d","name":"f","input":{}}`},
		"server calls":   {`{"role":"assistant","content":[`, `{"type":"server_tool_use","id":"srvtoolu_%d","name":"web_search","input":{}}`},
		"programs":       {`{"role":"assistant","content":[`, `{"type":"tool_use","id":"t%d","name":"f","input":{},"caller":{"type":"code_execution_20260120","tool_id":"s"}}`},
		"empty texts":    {`{"role":"user","content":[`, `{"type":"text","text":"","cache_control":{"type":"ephemeral"},"n":%d}`},
	} {
		trial.Linear(t, name, 20_000, func(n int) func() {
			var b strings.Builder
			b.WriteString(`{"messages":[` + one[0])
			for i := range n {
				if i > 0 {
					b.WriteByte(',')
				}
				fmt.Fprintf(&b, one[1], i)
			}
			b.WriteString(`]},{"role":"user","content":"next"}]}`)
			raw := []byte(b.String())
			return func() {
				r, err := Parse(raw, Options{Dialect: Anthropic})
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Check(CheckOptions{Strict: true, Advice: true})) == 0 {
					t.Fatalf("%s: nothing found", name)
				}
			}
		})
	}
}

// FuzzParse: no body makes the parser or the checker panic, in any dialect or
// mode, and what it yields lies inside the body.
func FuzzParse(f *testing.F) {
	for _, z := range zoo(f) {
		f.Add(z.body(), uint8(0))
	}
	for _, x := range corpus.Fixtures(f) {
		for _, b := range [][]byte{x.Bad, x.Good, x.Accept} {
			if b != nil {
				f.Add(b, uint8(len(b)))
			}
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, pick uint8) {
		o := Options{Dialect: Dialect(pick % 6), Structural: pick&64 != 0}
		r, err := Parse(body, o)
		if err != nil {
			return
		}
		for _, m := range r.t.Messages() {
			if m.Span.Start < r.list.Start || m.Span.End > r.list.End || m.Span.Start > m.Span.End {
				t.Fatalf("message span %v outside of the list %v", m.Span, r.list)
			}
			for b := m.First; b < m.End; b++ {
				blk := r.t.Block(b)
				if blk.Span.Start < m.Span.Start || blk.Span.End > m.Span.End || blk.Body.Start < blk.Span.Start || blk.Body.End > blk.Span.End {
					t.Fatalf("block %d: span %v body %v outside of message %v", b, blk.Span, blk.Body, m.Span)
				}
				_ = r.Path(b)
			}
		}
		for range r.t.Cuts() {
		}
		loose := r.Check(CheckOptions{})
		strict := r.Check(CheckOptions{Strict: true, Advice: true})
		if len(loose) > len(strict) {
			t.Fatalf("%d findings, but only %d strict ones", len(loose), len(strict))
		}
	})
}
