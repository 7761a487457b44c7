package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/summary"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A compacted history contains a compaction of the provider.
type compacted struct {
	name    string
	dialect wire.Dialect
	block   string // the compaction as it is sent
	says    string // what of it can be read
	body    func(front, behind int) string
}

// compactions are the forms that providers hand out.
func compactions() []compacted {
	long := strings.Repeat("words of long ago ", 40)
	exchange := func(i int, of string) string {
		return fmt.Sprintf(`{"role":"user","content":"%s question %d"},{"role":"assistant","content":[{"type":"tool_use","id":"t%s%d","name":"Read","input":{"path":"%d.go"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%s%d","content":"%s %s"}]},{"role":"assistant","content":"%s answer %d"}`, of, i, of, i, i, of, i, of, long, of, i)
	}
	item := func(i int, of string) string {
		return fmt.Sprintf(`{"role":"user","content":"%s question %d"},{"type":"function_call","call_id":"c%s%d","name":"Read","arguments":"{}"},{"type":"function_call_output","call_id":"c%s%d","output":"%s %s"},{"role":"assistant","content":"%s answer %d"}`, of, i, of, i, of, i, of, long, of, i)
	}
	step := func(i int, of string) string {
		text := func(kind, text string) string {
			return fmt.Sprintf(`{"type":%q,"content":[{"type":"text","text":"%s %s %d"}]}`, kind, of, text, i)
		}
		return fmt.Sprintf(`%s,{"type":"thought","signature":"eHl6"},{"type":"function_call","id":"c%s%d","name":"Read","arguments":{}},{"type":"function_result","call_id":"c%s%d","name":"Read","result":"%s %s"},%s`, text("user_input", "question"), of, i, of, i, of, long, text("model_output", "answer"))
	}
	newest := `{"role":"user","content":"the newest question"}`
	body := func(head, list string, one func(int, string) string, middle string) func(int, int) string {
		return func(front, behind int) string {
			var all []string
			for i := range front {
				all = append(all, one(i, "front"))
			}
			all = append(all, middle)
			for i := range behind {
				all = append(all, one(i, "behind"))
			}
			all = append(all, newest)
			return head + `"` + list + `":[` + strings.Join(all, ",") + `]}`
		}
	}
	anthropic := `{"model":"claude-opus-4-6","max_tokens":1024,"tools":[{"name":"Read","input_schema":{"type":"object"}}],`
	openai := `{"model":"gpt-5.2","store":false,`
	var all []compacted
	for name, block := range map[string][2]string{
		"readable":           {`{"type":"compaction","content":"- Goal: the parser in parse.go"}`, "parse.go"},
		"readable, escaped":  {`{"typ\u0065":"compaction","conten\u0074":"- Goal: the parser in parse.go","cache_control":{"type":"ephemeral"}}`, "parse.go"},
		"signed":             {`{"type":"compaction","content":"- Goal: the parser in parse.go","signature":"sig","tool_changes":[]}`, "parse.go"},
		"encrypted":          {`{"type":"compaction","content":null,"encrypted_content":"b3BhcXVl"}`, ""},
		"encrypted, signed":  {`{"type":"compaction","encrypted_content":"b3BhcXVl","signature":"sig"}`, ""},
		"several texts":      {`{"type":"compaction","content":[{"type":"text","text":"- Goal: the parser in parse.go"}]}`, "parse.go"},
		"with a text behind": {`{"type":"compaction","content":"- Goal: the parser in parse.go"},{"type":"text","text":"So I go on."}`, "parse.go"},
	} {
		all = append(all, compacted{"anthropic " + name, wire.Anthropic, block[0], block[1], body(anthropic, "messages", exchange, `{"role":"assistant","content":[`+block[0]+`]}`)})
	}
	for name, block := range map[string][2]string{
		"item":         {`{"type":"compaction","id":"cmp_1","encrypted_content":"b3BhcXVl"}`, ""},
		"without id":   {`{"type":"compaction","encrypted_content":"b3BhcXVl"}`, ""},
		"summary":      {`{"type":"compaction_summary","encrypted_content":"b3BhcXVl"}`, ""},
		"readable":     {`{"type":"compaction_summary","summary":"- Goal: the parser in parse.go"}`, "parse.go"},
		"escaped keys": {`{"type":"compaction","encrypted_conten\u0074":"b3BhcXVl"}`, ""},
	} {
		all = append(all, compacted{"responses " + name, wire.OpenAIResponses, block[0], block[1], body(openai, "input", item, block[0])})
	}
	for name, block := range map[string][2]string{
		"encrypted":     {`{"type":"compaction","id":"cmp_1","encrypted_content":"b3BhcXVl"}`, ""},
		"a summary":     {`{"type":"compaction","summary":"- Goal: the parser in parse.go"}`, "parse.go"},
		"content":       {`{"type":"compaction","content":"- Goal: the parser in parse.go"}`, "parse.go"},
		"several texts": {`{"type":"compaction","content":[{"type":"text","text":"- Goal: the parser in parse.go"}]}`, "parse.go"},
	} {
		made := body(`{"model":"gemini-3-pro",`, "input", step, block[0])
		all = append(all, compacted{"interactions " + name, wire.GeminiInteractions, block[0], block[1], func(front, behind int) string {
			return strings.Replace(made(front, behind), newest, `{"type":"user_input","content":[{"type":"text","text":"the newest question"}]}`, 1)
		}})
	}
	return all
}

// signed reports whether the compaction must be the first block of all.
func (c compacted) signed() bool { return strings.Contains(c.block, "signature") }

// front returns the number of exchanges before the compaction.
func (c compacted) front(n int) int {
	if c.signed() {
		return 0
	}
	return n
}

func parsed(t *testing.T, body string) *wire.Request {
	t.Helper()
	r, err := wire.Parse([]byte(body), wire.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	return r
}

// TestLeadingCompactionMeansInteractions checks that a list of steps that begins with a compaction
// is read as Interactions, however it is written.
func TestLeadingCompactionMeansInteractions(t *testing.T) {
	for _, c := range compactions() {
		if c.dialect == wire.GeminiInteractions {
			if r := parsed(t, c.body(0, 2)); r.Dialect != c.dialect || !r.Transcript().IsCompacted() {
				t.Errorf("%s: %v", c.name, r.Dialect)
			}
		}
	}
}

// TestProviderCompactionIsSummary checks that a compaction of the provider is pinned, kept and
// counted, and that its text is readable.
func TestProviderCompactionIsSummary(t *testing.T) {
	for _, c := range compactions() {
		t.Run(c.name, func(t *testing.T) {
			r := parsed(t, c.body(c.front(5), 6))
			if r.Dialect != c.dialect || !r.Transcript().IsCompacted() {
				t.Fatalf("%s, compacted %v", r.Dialect, r.Transcript().IsCompacted())
			}
			if found := r.Check(wire.CheckOptions{}); len(found) > 0 {
				t.Fatalf("found %v", found)
			}
			if got := dialect.Compaction(r, r.Transcript().Start()); !strings.Contains(got, c.says) || got != "" && c.says == "" {
				t.Errorf("it says %q", got)
			}
			c.windows(t, r)
			c.prunes(t, r)
			c.compacts(t, r)
			c.splits(t, r)
		})
	}
}

// windows checks that the compaction stays at every limit, and that only content after it counts.
func (c compacted) windows(t *testing.T, r *wire.Request) {
	bare := parsed(t, c.body(0, 6))
	counter := tokens.For(r.Model())
	if got, want := r.Tokens(counter), bare.Tokens(counter); got != want {
		t.Errorf("%d tokens with a front, %d without", got, want)
	}
	full := bare.Tokens(counter)
	for _, w := range []pare.Window{
		{Messages: len(bare.Transcript().Messages())}, {Exchanges: 6}, {Turns: 7}, {Tokens: full}, {Tokens: full, Low: full / 2},
	} {
		plan, err := (&pare.Policy{Window: &w}).Plan(context.Background(), r)
		if err != nil || !plan.Empty() {
			t.Errorf("%+v: what stands in front is trimmed for: %v, %v", w, plan, err)
		}
	}
	for _, w := range []pare.Window{{Messages: 5}, {Exchanges: 2}, {Turns: 2}, {Tokens: full / 2}, {Tokens: full / 2, Low: full / 3}, {Tokens: 1, AllowTiny: true}, {Messages: 1}} {
		for name, p := range map[string]*pare.Policy{"trim": {Window: &w}, "fit": {Window: &w, Compact: &pare.Compactor{Summarize: summary.Extract(summary.ExtractOptions{}), MaxTokens: 200}}} {
			plan, err := p.Plan(context.Background(), r)
			var small *pare.WindowTooSmall
			if errors.As(err, &small) {
				w := w
				switch small.Unit {
				case "tokens":
					w.Tokens = small.Minimum
				case "messages":
					w.Messages = small.Minimum
				}
				plan, err = (&pare.Policy{Window: &w}).Plan(context.Background(), r)
			}
			if err != nil {
				t.Errorf("%s %+v: %v", name, w, err)
				continue
			}
			c.stands(t, fmt.Sprintf("%s %+v", name, w), r, plan)
		}
	}
}

// stands checks that the compaction and the content before it are unchanged.
func (c compacted) stands(t *testing.T, what string, r *wire.Request, plan *pare.Plan) {
	t.Helper()
	out := plan.Result()
	if left := plan.Remaining(); len(left) > 0 {
		t.Errorf("%s: left %v", what, left)
	}
	block, _, _ := strings.Cut(c.block, `},{"type":"text"`)
	if !bytes.Contains(out.Raw(), []byte(block)) {
		t.Fatalf("%s: the compaction is gone: %s", what, out.Raw())
	}
	in, after := r.Transcript(), out.Transcript()
	if a, b := in.Bytes(transcript.Span{Start: in.Messages()[0].Span.Start, End: in.Block(in.Start()).Span.End}), after.Bytes(transcript.Span{Start: after.Messages()[0].Span.Start, End: after.Block(after.Start()).Span.End}); !bytes.Equal(a, b) {
		t.Errorf("%s: what stands up to it was changed: %s", what, out.Raw())
	}
	if i := bytes.Index(out.Raw(), []byte(wording.SummaryBegin)); i >= 0 && i < after.Block(after.Start()).Span.Start {
		t.Errorf("%s: a summary stands where nobody reads it", what)
	}
}

func (c compacted) prunes(t *testing.T, r *wire.Request) {
	all, err := pare.Compile(rules.Standard()...)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := (&pare.Policy{Rules: all}).Plan(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	c.stands(t, "prune", r, plan)
	greedy, err := pare.Compile(pare.Rule{Name: "greedy", Prepare: func(r *wire.Request) (pare.Process, error) {
		return func(b *pare.Ballot) {
			for a := range r.Transcript().Atoms() {
				b.Drop(transcript.AtomID(a), "everything")
			}
		}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if plan, err = (&pare.Policy{Rules: greedy}).Plan(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	c.stands(t, "a greedy rule", r, plan)
}

// compacts checks that a summary of the content after the compaction follows it.
func (c compacted) compacts(t *testing.T, r *wire.Request) {
	for _, fold := range []bool{false, true} {
		var heard pare.Removed
		p := &pare.Policy{Compact: &pare.Compactor{MinKeep: 4, Options: pare.CompactOptions{FoldTask: fold}, Summarize: func(ctx context.Context, h pare.Removed) (pare.Summary, error) {
			heard = h
			return summary.Extract(summary.ExtractOptions{})(ctx, h)
		}}}
		plan, err := p.Plan(context.Background(), r)
		if err != nil || plan.Empty() {
			t.Fatalf("compact: %v, %v", plan, err)
		}
		c.stands(t, "compact", r, plan)
		if !strings.Contains(heard.Compacted, c.says) || c.says == "" && heard.Compacted != "" {
			t.Errorf("the summarizer was told %q", heard.Compacted)
		}
		for _, b := range heard.Blocks {
			if b <= r.Transcript().Start() {
				t.Errorf("block %d was summarized, the compaction is %d", b, r.Transcript().Start())
			}
		}
		if !bytes.Contains(plan.Result().Raw(), []byte("behind question 0")) && !bytes.Contains(plan.Result().Raw(), []byte(wording.SummaryBegin)) {
			t.Error("nothing stands for what went")
		}
		again, err := p.Plan(context.Background(), plan.Result())
		if err != nil {
			t.Fatal(err)
		}
		c.stands(t, "compact again", plan.Result(), again)
	}
	short := parsed(t, c.body(c.front(5), 0))
	plan, err := (&pare.Policy{Compact: &pare.Compactor{MinKeep: 1}}).Plan(context.Background(), short)
	if err != nil || !plan.Empty() {
		t.Errorf("what the provider has compacted is compacted again: %v, %v", plan, err)
	}
}

// splits checks that the part after a cut begins with the compaction.
func (c compacted) splits(t *testing.T, r *wire.Request) {
	cut, ok := r.Transcript().Split(4, false)
	if !ok || cut.Before() <= r.Transcript().StartMessage() {
		t.Fatalf("cut %v, %v", cut, ok)
	}
	behind := parsed(t, string(r.After(cut)))
	if !behind.Transcript().IsCompacted() || behind.Transcript().StartMessage() != 0 || len(behind.Check(wire.CheckOptions{})) > 0 {
		t.Errorf("behind the cut: %s", behind.Raw())
	}
}

// TestSignedCompactionStaysFirst checks that a signed compaction becomes the first block and
// replaces all earlier content.
func TestSignedCompactionStaysFirst(t *testing.T) {
	for _, c := range compactions() {
		if !c.signed() {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			r := parsed(t, c.body(2, 1))
			plan, err := (&pare.Policy{}).Plan(context.Background(), r)
			if err != nil {
				t.Fatal(err)
			}
			out := string(plan.Result().Raw())
			if strings.Contains(out, "front question") || !strings.Contains(out, `"messages":[{"role":"assistant","content":[`+c.block) || len(plan.Remaining()) > 0 {
				t.Errorf("%v\n%s", plan, out)
			}
			twice := strings.Replace(c.body(0, 2), `{"role":"user","content":"behind question 1"}`, `{"role":"user","content":"so"},{"role":"assistant","content":[`+strings.Replace(c.block, `"sig"`, `"newer"`, 1)+`]},{"role":"user","content":"behind question 1"}`, 1)
			plan, err = (&pare.Policy{}).Plan(context.Background(), parsed(t, twice))
			if err != nil {
				t.Fatal(err)
			}
			if out := string(plan.Result().Raw()); strings.Contains(out, `"sig"`) || !strings.Contains(out, `"newer"`) || len(plan.Remaining()) > 0 {
				t.Errorf("%v\n%s", plan, out)
			}
		})
	}
}

// TestLastUnsignedCompactionCounts checks that the last of several unsigned compactions counts, and
// that a failed one does not.
func TestLastUnsignedCompactionCounts(t *testing.T) {
	body := func(blocks ...string) *wire.Request {
		list := `{"role":"user","content":"first"}`
		for i, b := range blocks {
			list += fmt.Sprintf(`,{"role":"assistant","content":[%s]},{"role":"user","content":"then %d"}`, b, i)
		}
		return parsed(t, `{"model":"claude-opus-4-6","max_tokens":9,"messages":[`+list+`]}`)
	}
	one := func(says string) string { return `{"type":"compaction","content":"` + says + `"}` }
	for _, c := range []struct {
		r     *wire.Request
		start int
		says  string
	}{
		{body(one("A"), one("B")), 3, "B"},
		{body(one("A"), `{"type":"compaction","content":null}`), 1, "A"},
		{body(one("A"), one("B"), `{"type":"text","text":"x"}`), 3, "B"},
		{body(`{"type":"compaction","content":null}`), 0, ""},
		{body(`{"type":"text","text":"x"}`), 0, ""},
	} {
		tr := c.r.Transcript()
		if tr.StartMessage() != c.start || dialect.Compaction(c.r, tr.Start()) != c.says {
			t.Errorf("%s: begins at %d with %q", c.r.Raw(), tr.StartMessage(), dialect.Compaction(c.r, tr.Start()))
		}
		plan, err := (&pare.Policy{Window: &pare.Window{Messages: 3}}).Plan(context.Background(), c.r)
		if err != nil || c.says != "" && !bytes.Contains(plan.Result().Raw(), []byte(one(c.says))) {
			t.Errorf("%s: %v, %v", c.r.Raw(), plan, err)
		}
	}
}

// TestCompactionHeaderIsAdded checks that a header which a block needs is added to the headers that
// the body lists.
func TestCompactionHeaderIsAdded(t *testing.T) {
	for block, header := range map[string]string{
		`{"type":"compaction","content":"A"}`:                 "compact-2026-01-12",
		`{"type":"compaction","content":"A","signature":"s"}`: "compact-2026-09-04",
		`{"type":"compaction","encrypted_content":"A"}`:       "compact-2026-01-12",
	} {
		for _, betas := range []string{`[]`, `["context-1m-2025-08-07"]`} {
			r := parsed(t, `{"model":"claude-opus-4-6","max_tokens":9,"betas":`+betas+`,"messages":[{"role":"assistant","content":[`+block+`]},{"role":"user","content":"n"}]}`)
			plan, err := (&pare.Policy{}).Plan(context.Background(), r)
			if out := string(plan.Result().Raw()); err != nil || !strings.Contains(out, header) || !strings.Contains(out, block) || len(plan.Remaining()) > 0 {
				t.Errorf("%v, %v\n%s", plan, err, out)
			}
		}
	}
}
