package engine

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// What scenarios are made of: rules that vote as the systems before this one did, and
// what must hold whatever is voted. The scenarios themselves are data, in
// testdata/scenarios; here are those that go over all choices of something.

// voting makes a rule of a function.
func voting(name string, vote func(*pare.Ballot, *wire.Request)) pare.Rule {
	return pare.Rule{Name: name, Doc: "for a test", Prepare: func(r *wire.Request) (pare.Process, error) {
		return func(b *pare.Ballot) { vote(b, r) }, nil
	}}
}

// dropping drops the atoms of the blocks that is holds for.
func dropping(is func(r *wire.Request, id transcript.BlockID, b transcript.Block) bool) pare.Rule {
	return voting("drop", func(b *pare.Ballot, r *wire.Request) {
		for id, blk := range r.Transcript().Blocks() {
			if is(r, transcript.BlockID(id), blk) {
				b.Drop(r.Transcript().AtomOf(transcript.BlockID(id)), "the predecessor would")
			}
		}
	})
}

// before returns a rule that drops everything before message k, like a cut.
func before(k int) pare.Rule {
	return dropping(func(_ *wire.Request, _ transcript.BlockID, b transcript.Block) bool { return b.Message < k })
}

// beforeText returns a rule that drops everything before the message with a text.
func beforeText(text string) pare.Rule {
	return dropping(func(r *wire.Request, _ transcript.BlockID, b transcript.Block) bool {
		t := r.Transcript()
		return b.Message < slices.IndexFunc(t.Messages(), func(m transcript.Message) bool { return bytes.Contains(t.Bytes(m.Span), []byte(text)) })
	})
}

// saying returns a rule that drops content with one of some texts.
func saying(texts ...string) pare.Rule {
	return dropping(func(r *wire.Request, id transcript.BlockID, b transcript.Block) bool {
		return slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(string(r.Transcript().Bytes(b.Span)), s) })
	})
}

// recency protects the last n messages.
func recency(n int) pare.Rule {
	return voting("recency", func(b *pare.Ballot, r *wire.Request) {
		t := r.Transcript()
		for id, blk := range t.Blocks() {
			if blk.Message >= len(t.Messages())-n {
				b.Protect(t.AtomOf(transcript.BlockID(id)), "one of the last %d messages", n)
			}
		}
	})
}

// repeatedCalls drops calls that repeat an earlier one. A predecessor of Pare dropped the call and
// kept its result.
var repeatedCalls = voting("deduplication", func(b *pare.Ballot, r *wire.Request) {
	t := r.Transcript()
	seen := make(map[string]bool)
	for id, blk := range t.Blocks() {
		if blk.Kind != transcript.Call {
			continue
		}
		key := blk.Tool + string(wire.Arguments(t, transcript.BlockID(id)))
		if seen[key] {
			b.Drop(t.AtomOf(transcript.BlockID(id)), "duplicate content")
		}
		seen[key] = true
	}
})

// failedResults drops failed results: the predecessor left their calls.
var failedResults = voting("error-purging", func(b *pare.Ballot, r *wire.Request) {
	t := r.Transcript()
	for id, blk := range t.Blocks() {
		if blk.Kind == transcript.Result && (blk.Failed || strings.Contains(r.Text(transcript.BlockID(id)), "exit status")) {
			b.Drop(t.AtomOf(transcript.BlockID(id)), "resolved error")
		}
	}
})

// sound applies rules and checks the promises that hold for all rules: the result is valid, every
// pair is complete, protected content is there, and the same run gives the same bytes.
func sound(t *testing.T, name string, d wire.Dialect, body []byte, rules ...pare.Rule) ([]utterance, *pare.Plan) {
	t.Helper()
	r, err := wire.Parse(body, wire.Options{Dialect: d})
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, body)
	}
	p, err := pare.Compile(rules...)
	if err != nil {
		t.Fatal(err)
	}
	given := bytes.Clone(body)
	plan, err := planner.Prune(context.Background(), p, r, pare.Options{})
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, body)
	}
	out, err := plan.Apply()
	if err != nil {
		t.Errorf("%s: %v\nin  %s\nout %s", name, err, body, plan.Result().Raw())
		out = plan.Result().Raw()
	}
	if !bytes.Equal(given, body) {
		t.Errorf("%s: the input was written to", name)
	}
	if plan.Empty() && &out[0] != &body[0] {
		t.Errorf("%s: nothing to do, but another buffer", name)
	}
	fresh, err := wire.Parse(out, wire.Options{Dialect: d})
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	for _, f := range fresh.Check(wire.CheckOptions{}) {
		t.Errorf("%s: refused: %s at %s\nin  %s\nout %s", name, f.Rule, f.Path, body, out)
	}
	us := utterances(t, d, out)
	wholePairs(t, name, d, us)
	repaired := planner.RepairedRequest(plan).Transcript()
	for _, dec := range plan.Decisions() {
		for _, b := range repaired.Atoms()[dec.Atom].Blocks {
			if dec.Protected && !bytes.Contains(out, repaired.Bytes(repaired.Block(b).Body)) {
				t.Errorf("%s: protected, but lost: %s", name, repaired.Bytes(repaired.Block(b).Span))
			}
		}
	}
	if again, err := planner.Prune(context.Background(), p, r, pare.Options{}); err != nil || !bytes.Equal(again.Result().Raw(), out) {
		t.Errorf("%s: a second run gives other bytes (%v)", name, err)
	}
	if again, err := planner.Repair(context.Background(), fresh, pare.Options{}); err != nil || !again.Empty() {
		t.Errorf("%s: repairing the result changes it (%v):\n%s", name, err, again)
	}
	if t.Failed() {
		t.Logf("%s:\nin  %s\nout %s\nplan\n%s", name, body, out, plan)
	}
	return us, plan
}

// everywhere renders a script in all dialects.
func everywhere(t *testing.T, script string, f func(t *testing.T, d wire.Dialect, body []byte)) {
	t.Helper()
	s := histories.MustParse(script)
	for _, d := range wire.Dialects() {
		t.Run(d.String(), func(t *testing.T) { f(t, d, s.Render(d, histories.RenderOptions{})) })
	}
}

// models are whose rules differ from those of the dialect's own vendor.
var models = map[wire.Dialect][]string{
	wire.Anthropic:  {"", "claude-fable-5-1"},
	wire.OpenAIChat: {"", "mistral-large-latest", "deepseek-reasoner", "kimi-k2-thinking", "minimax-m2", "llama-3.3-70b-versatile", "gemma-3-27b-it"},
	wire.Gemini:     {"", "gemini-2.5-pro"},
	wire.Bedrock:    {"", "amazon.nova-pro-v1:0", "meta.llama4-maverick-17b-instruct-v1:0"},
}

func reading(t *testing.T, d wire.Dialect, body []byte) *wire.Request {
	t.Helper()
	r, err := wire.Parse(body, wire.Options{Dialect: d})
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	return r
}

const (
	claudeHead  = `{"model":"claude-opus-4-6","max_tokens":9,"messages":[`
	bedrockHead = `{"modelId":"us.anthropic.claude-opus-4-6-v1:0","toolConfig":{"tools":[{"toolSpec":{"name":"Read","inputSchema":{"json":{"type":"object"}}}}]},"messages":[`
	llamaHead   = `{"modelId":"meta.llama4-maverick-17b-instruct-v1:0","toolConfig":{"tools":[{"toolSpec":{"name":"Read","inputSchema":{"json":{"type":"object"}}}}]},"messages":[`
)

func chain(n int) string {
	var b strings.Builder
	b.WriteString(`user "the task"`)
	for i := range n {
		fmt.Fprintf(&b, " | call c%d Read file%d | result c%d output%d", i, i, i, i)
	}
	return b.String()
}

func geminiUser(text string) string {
	return fmt.Sprintf(`{"role":"user","parts":[{"text":%q}]}`, text)
}

// TestRecencyOverride checks that the last n messages stay with everything that they need, whatever
// rules vote for. A predecessor of Pare kept result 2 without call 2.
func TestRecencyOverride(t *testing.T) {
	all := dropping(func(*wire.Request, transcript.BlockID, transcript.Block) bool { return true })
	everywhere(t, `user "q" | say "s0" | call u1 Read one | result u1 first | say "s1" | call u2 Read two | result u2 second | say "s2" | user "n"`, func(t *testing.T, d wire.Dialect, body []byte) {
		r, err := wire.Parse(body, wire.Options{Dialect: d})
		if err != nil {
			t.Fatal(err)
		}
		for n := range len(r.Transcript().Messages()) + 1 {
			us, plan := sound(t, fmt.Sprintf("keep %d", n), d, body, all, recency(n))
			ms := r.Transcript().Messages()
			for _, m := range ms[len(ms)-n:] {
				for b := m.First; b < m.End; b++ {
					if !bytes.Contains(plan.Result().Raw(), r.Transcript().Bytes(r.Transcript().Block(b).Body)) {
						t.Errorf("keep %d: %s is lost", n, r.Path(b))
					}
				}
			}
			if holds(heard(us, "result"), "second") != holds(heard(us, "call"), "two") {
				t.Errorf("keep %d: half of the second pair: %+v", n, us)
			}
			if n > 0 {
				mustSay(t, us, "user", "n")
			}
		}
	})
}

// TestSeveralPairs checks that any choice of pairs is dropped as pairs, also if ids repeat and
// calls are in batches.
func TestSeveralPairs(t *testing.T) {
	everywhere(t, `user "q1" | call c0 Read p0 | call c1 Read p1 | result c1 out-p1 | result c0 out-p0 | say "mid" | call c0 Read p2 | result c0 out-p2 | user "q2" | call c0 Read p3 | call c1 Read p4 | call c2 Bash p5 | result c0 out-p3 | result c1 out-p4 | result c2 out-p5 | say "end" | user "q3"`, func(t *testing.T, d wire.Dialect, body []byte) {
		for choice := range 1 << 6 {
			var drop []string
			for i := range 6 {
				if choice&(1<<i) != 0 {
					drop = append(drop, fmt.Sprintf("out-p%d", i))
				}
			}
			name := fmt.Sprintf("without %v", drop)
			us, _ := sound(t, name, d, body, saying(drop...), recency(1))
			for i := range 6 {
				out, arg := fmt.Sprintf("out-p%d", i), fmt.Sprintf("p%d", i)
				call, result := holds(heard(us, "call"), arg), holds(heard(us, "result"), out)
				gone := slices.Contains(drop, out)
				if call != result || gone && call {
					t.Errorf("%s: half of pair %d is there, or all of it: %+v", name, i, us)
				}
				// On Gemini the first call of a step carries the signature of them all.
				first := map[int]string{1: "out-p0", 4: "out-p3", 5: "out-p3"}[i]
				if !gone && !call && !(d == wire.Gemini && slices.Contains(drop, first)) {
					t.Errorf("%s: pair %d is not there: %+v", name, i, us)
				}
				if got := answerTo(us, arg); call && !slices.Contains(got, out) {
					t.Errorf("%s: call %s is answered by %q", name, arg, got)
				}
			}
			mustSay(t, us, "user", "q1", "q2", "q3")
			mustSay(t, us, "assistant", "mid", "end")
			if t.Failed() {
				t.FailNow()
			}
		}
	})
}

// TestHostShape: a host's own format is not silently taken for a provider's.
func TestHostShape(t *testing.T) {
	body := []byte(`[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"toolCall","id":"a","name":"read","arguments":{}}]},{"role":"toolResult","toolCallId":"a","toolName":"read","content":[{"type":"text","text":"out"}]}]`)
	r, err := wire.Parse(body, wire.Options{})
	if err != nil {
		return // refused: fine
	}
	plan, err := planner.Repair(context.Background(), r, pare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plan.Apply(); err == nil {
		t.Errorf("taken for %s and passed as clean: %s", r.Dialect, plan.Result().Raw())
	}
	if !bytes.Contains(plan.Result().Raw(), []byte(`"out"`)) {
		t.Errorf("the output is lost: %s", plan.Result().Raw())
	}
}
