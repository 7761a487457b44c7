package pare_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// What the systems before this one were tested with, and what they were found to
// break on: the scenarios of the rule engine, the smoke cases of the validator,
// and the adversarial matrix. The results are read back with encoding/json, not
// with the parsers under test.

// An utterance is one thing a body says, whatever the dialect: who is system,
// user, assistant, think, call, result or other.
type utterance struct {
	who  string
	text string // of a call its arguments, compact
	id   string
	tool string
	at   int // index of the message
}

// utterances reads a body with nothing but encoding/json.
func utterances(t testing.TB, d wire.Dialect, body []byte) []utterance {
	t.Helper()
	var root any
	if err := json.Unmarshal(body, &root); err != nil {
		t.Fatalf("the result is no JSON: %v\n%s", err, body)
	}
	list, _ := root.([]any)
	if o, ok := root.(map[string]any); ok {
		list, _ = o[map[wire.Dialect]string{wire.OpenAIResponses: "input", wire.Gemini: "contents"}[d]].([]any)
		if list == nil {
			list, _ = o["messages"].([]any)
		}
	}
	var all []utterance
	for i, m := range list {
		o, _ := m.(map[string]any)
		for _, u := range utterancesOf(d, o) {
			u.at = i
			all = append(all, u)
		}
	}
	return all
}

func str(o map[string]any, name string) string { s, _ := o[name].(string); return s }

func obj(o map[string]any, name string) map[string]any { m, _ := o[name].(map[string]any); return m }

func compact(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// words collects the strings of a content.
func words(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var all []string
		for _, e := range v {
			all = append(all, words(e))
		}
		return strings.Join(all, "\n")
	case map[string]any:
		for _, name := range []string{"text", "output", "error", "content", "json"} {
			if e, ok := v[name]; ok {
				return words(e)
			}
		}
		return compact(v)
	}
	return ""
}

func utterancesOf(d wire.Dialect, m map[string]any) []utterance {
	role := str(m, "role")
	switch role {
	case "model":
		role = "assistant"
	case "developer":
		role = "system"
	}
	var all []utterance
	add := func(u utterance) { all = append(all, u) }
	switch d {
	case wire.OpenAIChat:
		if role == "tool" || role == "function" {
			return []utterance{{who: "result", text: words(m["content"]), id: str(m, "tool_call_id"), tool: str(m, "name")}}
		}
		if s := str(m, "reasoning_content"); s != "" {
			add(utterance{who: "think", text: s})
		}
		if s := words(m["content"]); s != "" {
			add(utterance{who: role, text: s})
		}
		calls, _ := m["tool_calls"].([]any)
		for _, c := range calls {
			o, _ := c.(map[string]any)
			add(utterance{who: "call", id: str(o, "id"), tool: str(obj(o, "function"), "name"), text: compact(obj(o, "function")["arguments"])})
		}
		if f := obj(m, "function_call"); f != nil {
			add(utterance{who: "call", tool: str(f, "name"), text: compact(f["arguments"])})
		}
		return all
	case wire.OpenAIResponses:
		switch typ := str(m, "type"); {
		case typ == "reasoning":
			add(utterance{who: "think", text: words(m["summary"])})
		case strings.HasSuffix(typ, "_call_output"):
			add(utterance{who: "result", text: words(m["output"]), id: str(m, "call_id")})
		case strings.HasSuffix(typ, "_call") && m["call_id"] != nil:
			add(utterance{who: "call", text: compact(m["arguments"]), id: str(m, "call_id"), tool: str(m, "name")})
		default:
			add(utterance{who: role, text: words(m["content"])})
		}
		return all
	}
	if s, ok := m["content"].(string); ok {
		return []utterance{{who: role, text: s}}
	}
	list, _ := m["content"].([]any)
	if d == wire.Gemini {
		list, _ = m["parts"].([]any)
	}
	for _, e := range list {
		o, _ := e.(map[string]any)
		call, result, id := o, o, "id"
		is := func(typ, member string) bool { return str(o, "type") == typ }
		switch d {
		case wire.Bedrock:
			call, result, id = obj(o, "toolUse"), obj(o, "toolResult"), "toolUseId"
			is = func(_, member string) bool { return o[member] != nil }
		case wire.Gemini:
			call, result = obj(o, "functionCall"), obj(o, "functionResponse")
			is = func(_, member string) bool {
				return o[map[string]string{"toolUse": "functionCall", "toolResult": "functionResponse"}[member]] != nil
			}
		}
		switch {
		case is("tool_use", "toolUse"):
			args := call["input"]
			if d == wire.Gemini {
				args = call["args"]
			}
			add(utterance{who: "call", text: compact(args), id: str(call, id), tool: str(call, "name")})
		case is("tool_result", "toolResult"):
			what := words(result["content"])
			if d == wire.Gemini {
				what = words(result["response"])
			}
			u := utterance{who: "result", text: what, id: str(result, id), tool: str(result, "name")}
			if d == wire.Anthropic {
				u.id = str(result, "tool_use_id")
			}
			add(u)
		case str(o, "type") == "thinking" || str(o, "type") == "redacted_thinking" || o["reasoningContent"] != nil || o["thought"] == true:
			add(utterance{who: "think", text: words(o)})
		case o["text"] != nil:
			add(utterance{who: role, text: str(o, "text")})
		default:
			add(utterance{who: "other", text: compact(o)})
		}
	}
	return all
}

// wholePairs checks that every call has exactly one result, right behind its turn,
// and every result a call.
func wholePairs(t testing.TB, name string, d wire.Dialect, us []utterance) {
	t.Helper()
	var open []utterance
	take := func(r utterance) bool {
		i := slices.IndexFunc(open, func(c utterance) bool { return c.id == r.id && (r.id != "" || r.tool == "" || c.tool == r.tool) })
		if i >= 0 {
			open = slices.Delete(open, i, i+1)
		}
		return i >= 0
	}
	for i, u := range us {
		switch {
		case u.who == "call":
			open = append(open, u)
		case u.who == "result":
			if !take(u) {
				t.Errorf("%s: result %q (%s) answers no call in front of it, or one that has its answer", name, u.text, u.id)
			}
		case d == wire.OpenAIResponses: // pairs by id, anywhere
		case d == wire.Bedrock && u.who == "user" && answeredInTurn(us[i:], open): // some models do not mind the order in a turn
		case len(open) > 0 && us[i-1].at != u.at:
			t.Errorf("%s: %s says %q before call %s is answered", name, u.who, u.text, open[0].id)
		}
	}
	for _, c := range open {
		t.Errorf("%s: call %s of %s has no result", name, c.id, c.tool)
	}
}

// answeredInTurn reports whether all open calls are answered before the model
// speaks again.
func answeredInTurn(us []utterance, open []utterance) bool {
	end := slices.IndexFunc(us, func(u utterance) bool { return u.who != "user" && u.who != "result" })
	if end < 0 {
		end = len(us)
	}
	for _, c := range open {
		if !slices.ContainsFunc(us[:end], func(r utterance) bool { return r.who == "result" && r.id == c.id }) {
			return false
		}
	}
	return true
}

// heard returns what one voice says.
func heard(us []utterance, who string) []string {
	var all []string
	for _, u := range us {
		if u.who == who {
			all = append(all, u.text)
		}
	}
	return all
}

// answerTo returns what answers the call whose arguments hold arg, in order.
func answerTo(us []utterance, arg string) []string {
	var all []string
	for i, c := range us {
		if c.who != "call" || !strings.Contains(c.text, arg) {
			continue
		}
		nth := 0 // of the calls without id and of its name in this turn
		for _, o := range us[:i] {
			if o.who == "call" && o.at == c.at && o.tool == c.tool {
				nth++
			}
		}
		for _, r := range us[i:] {
			switch {
			case r.who != "result":
			case c.id != "" && r.id == c.id:
				all = append(all, r.text)
			case c.id == "" && r.tool == c.tool:
				if nth == 0 {
					all = append(all, r.text)
				}
				nth--
			}
			if r.who == "call" && r.at > c.at && r.id == c.id {
				break
			}
		}
	}
	return all
}

func holds(all []string, text string) bool {
	return slices.ContainsFunc(all, func(s string) bool { return strings.Contains(s, text) })
}

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

// before drops what touches a message in front of the k-th: a cut.
func before(k int) pare.Rule {
	return dropping(func(_ *wire.Request, _ transcript.BlockID, b transcript.Block) bool { return b.Message < k })
}

// beforeText drops what touches a message in front of the one that says text.
func beforeText(text string) pare.Rule {
	return dropping(func(r *wire.Request, _ transcript.BlockID, b transcript.Block) bool {
		t := r.Transcript()
		return b.Message < slices.IndexFunc(t.Messages(), func(m transcript.Message) bool { return bytes.Contains(t.Bytes(m.Span), []byte(text)) })
	})
}

// saying drops what says text.
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

// sound runs a body through the rules and checks what must hold whatever they
// say: the result is accepted, every pair is whole, everything protected is there,
// the same run gives the same bytes and running a repair on it changes nothing.
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
	plan, err := p.Plan(r, pare.Options{})
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
	mended := plan.Mended().Transcript()
	for _, dec := range plan.Decisions() {
		for _, b := range mended.Atoms()[dec.Atom].Blocks {
			if dec.Protected && !bytes.Contains(out, mended.Bytes(mended.Block(b).Body)) {
				t.Errorf("%s: protected, but lost: %s", name, mended.Bytes(mended.Block(b).Span))
			}
		}
	}
	if again, err := p.Plan(r, pare.Options{}); err != nil || !bytes.Equal(again.Result().Raw(), out) {
		t.Errorf("%s: a second run gives other bytes (%v)", name, err)
	}
	if again, err := pare.Repair(fresh, pare.Options{}); err != nil || !again.Empty() {
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
	s := paretest.MustParse(script)
	for _, d := range wire.Dialects() {
		t.Run(d.String(), func(t *testing.T) { f(t, d, s.Render(d, paretest.RenderOptions{})) })
	}
}

// models are whose rules differ from those of the dialect's own vendor.
var models = map[wire.Dialect][]string{
	wire.Anthropic:  {"", "claude-fable-5-1"},
	wire.OpenAIChat: {"", "mistral-large-latest", "deepseek-reasoner", "kimi-k2-thinking", "minimax-m2", "llama-3.3-70b-versatile", "gemma-3-27b-it"},
	wire.Gemini:     {"", "gemini-2.5-pro"},
	wire.Bedrock:    {"", "amazon.nova-pro-v1:0", "meta.llama4-maverick-17b-instruct-v1:0"},
}

// everyModel renders a script in all dialects, for several models.
func everyModel(t *testing.T, script string, f func(t *testing.T, d wire.Dialect, body []byte)) {
	t.Helper()
	s := paretest.MustParse(script)
	for _, d := range wire.Dialects() {
		for _, m := range append(models[d], "")[:max(1, len(models[d]))] {
			name := d.String()
			if m != "" {
				name += " " + m
			}
			t.Run(name, func(t *testing.T) { f(t, d, s.Render(d, paretest.RenderOptions{Model: m})) })
		}
	}
}

// mustSay checks that a voice still says each text.
func mustSay(t *testing.T, us []utterance, who string, texts ...string) {
	t.Helper()
	for _, s := range texts {
		if !holds(heard(us, who), s) {
			t.Errorf("the %s's %q is lost: %q", who, s, heard(us, who))
		}
	}
}

func mustNotSay(t *testing.T, us []utterance, who string, texts ...string) {
	t.Helper()
	for _, s := range texts {
		if holds(heard(us, who), s) {
			t.Errorf("the %s's %q is still there", who, s)
		}
	}
}

// repeatedCalls drops what repeats an earlier call: the predecessor took the
// assistant's turn and left the result.
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

// TestOrphanedResult: a rule takes a call; its result must not stay behind, and
// neither may one that had lost its call before.
func TestOrphanedResult(t *testing.T) {
	everywhere(t, `user "read it" | call a1 Read a.go | result a1 package-a | say "again" | call a2 Read a.go | result a2 package-a | say "done" | user "thanks"`, func(t *testing.T, d wire.Dialect, body []byte) {
		us, _ := sound(t, "a duplicate call goes", d, body, repeatedCalls)
		if n := len(heard(us, "result")); n != 1 || len(heard(us, "call")) != 1 {
			t.Errorf("%d results and %d calls are left, want one pair: %+v", n, len(heard(us, "call")), us)
		}
		mustSay(t, us, "user", "read it", "thanks")
		mustSay(t, us, "assistant", "again", "done")
	})
	everywhere(t, `user "read it" | orphan z9 lost-output | say "so" | user "go on"`, func(t *testing.T, d wire.Dialect, body []byte) {
		us, _ := sound(t, "an orphan from the start", d, body, repeatedCalls)
		if len(heard(us, "result")) > 0 || len(heard(us, "call")) > 0 {
			t.Errorf("a result without its call, or a call that nobody made: %+v", us)
		}
		mustSay(t, us, "user", "read it", "go on", "lost-output")
	})
}

// TestIncompleteUse: a rule takes a result; its call must not stay unanswered, and
// one that never got its answer says so.
func TestIncompleteUse(t *testing.T) {
	everywhere(t, `user "test it" | say "run" | call b1 Bash command=test | fail b1 "exit status 1" | call b2 Bash command=retest | result b2 PASS | user "good"`, func(t *testing.T, d wire.Dialect, body []byte) {
		us, _ := sound(t, "a failed result goes", d, body, failedResults)
		if calls := heard(us, "call"); len(calls) != 1 || !strings.Contains(calls[0], "retest") {
			t.Errorf("calls %q, want the second only", calls)
		}
		if got := answerTo(us, "retest"); len(got) != 1 || got[0] != "PASS" {
			t.Errorf("answered by %q", got)
		}
		mustSay(t, us, "user", "test it", "good")
	})
	everywhere(t, `user "test it" | call b1 Bash command=one | call b2 Bash command=two | result b1 one-done | user "and?"`, func(t *testing.T, d wire.Dialect, body []byte) {
		us, _ := sound(t, "half a batch is answered", d, body)
		if got := answerTo(us, "one"); len(got) != 1 || got[0] != "one-done" {
			t.Errorf("the real result became %q", got)
		}
		if got := answerTo(us, "two"); len(got) != 1 || got[0] != wire.DefaultStub {
			t.Errorf("the unanswered call is answered by %q", got)
		}
		mustSay(t, us, "user", "test it", "and?")
	})
}

// TestRecencyOverride: whatever is voted, the last n messages stay, and with them
// what they need; the predecessor kept result 2 without call 2.
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

// TestSeveralPairs: any choice of pairs goes as pairs, also where ids repeat from
// turn to turn and calls are made in batches.
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

// TestMalformedMessages: what no client should send does no harm: the words of
// users and the outputs of tools stay, and the result is accepted, or what is
// wrong with it is named.
func TestMalformedMessages(t *testing.T) {
	const model = `"model":"claude-opus-4-6","max_tokens":9,`
	const nova = `"modelId":"us.anthropic.claude-opus-4-6-v1:0","toolConfig":{"tools":[{"toolSpec":{"name":"Read","inputSchema":{"json":{"type":"object"}}}}]},`
	for _, c := range []struct {
		name    string
		d       wire.Dialect
		body    string
		user    []string // what users say
		outputs []string // what tools returned
	}{
		{"a bare string among the blocks", wire.Anthropic, `{` + model + `"messages":[{"role":"user","content":["my words"]},{"role":"assistant","content":"a"},{"role":"user","content":"go"}]}`, []string{"my words", "go"}, nil},
		{"a bare string among the blocks", wire.OpenAIChat, `{"model":"gpt-5.2","messages":[{"role":"user","content":["my words"]},{"role":"assistant","content":"a"},{"role":"user","content":"go"}]}`, []string{"my words", "go"}, nil},
		{"a bare string among the blocks", wire.OpenAIResponses, `{"model":"gpt-5.2","input":[{"role":"user","content":["my words"]},{"role":"user","content":"go"}]}`, []string{"my words", "go"}, nil},
		{"a bare string among the parts", wire.Gemini, `{"contents":[{"role":"user","parts":["my words"]},{"role":"model","parts":[{"text":"a"}]},{"role":"user","parts":[{"text":"go"}]}]}`, []string{"my words", "go"}, nil},
		{"a bare string among the blocks", wire.Bedrock, `{` + nova + `"messages":[{"role":"user","content":["my words"]},{"role":"assistant","content":[{"text":"a"}]},{"role":"user","content":[{"text":"go"}]}]}`, []string{"my words", "go"}, nil},
		{"content is a string where a list is due", wire.Bedrock, `{` + nova + `"messages":[{"role":"user","content":"my words"}]}`, []string{"my words"}, nil},
		{"parts is a string where a list is due", wire.Gemini, `{"contents":[{"role":"user","parts":"my words"}]}`, []string{"my words"}, nil},
		{"parts is an object next to a turn of the same role", wire.Gemini, `{"contents":[{"role":"user","parts":{}},{"role":"user","parts":[{"text":"my words"}]}]}`, []string{"my words"}, nil},
		{"a block without its type", wire.Anthropic, `{` + model + `"messages":[{"role":"user","content":[{"text":"my words"}]}]}`, []string{"my words"}, nil},
		{"a message that is a string", wire.OpenAIChat, `{"model":"gpt-5.2","messages":["my words",{"role":"user","content":"go"}]}`, []string{"my words", "go"}, nil},
		{"a blank message before one of the same role", wire.Gemini, `{"contents":[{"role":"user","parts":[{"text":""}]},{"role":"user","parts":[{"text":"my words"}]}]}`, []string{"my words"}, nil},
		{"a part that says nothing before one of the same role", wire.Gemini, `{"contents":[{"role":"user","parts":[{}]},{"role":"user","parts":[{"text":"my words"}]}]}`, []string{"my words"}, nil},
		{"a null among the parts", wire.Gemini, `{"contents":[{"role":"user","parts":[null]},{"role":"user","parts":[{"text":"my words"}]}]}`, []string{"my words"}, nil},
		{"unknown blocks and fields", wire.Anthropic, `{` + model + `"x":1,"messages":[{"role":"user","content":[{"type":"hologram","y":[1]},{"type":"text","text":"my words","z":null}],"w":{}}]}`, []string{"my words"}, nil},
		{"a key twice", wire.Anthropic, `{` + model + `"messages":[{"role":"user","content":"not this","content":"my words"}]}`, []string{"my words"}, nil},
		{"ids that are numbers", wire.OpenAIChat, `{"model":"gpt-5.2","messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":7,"type":"function","function":{"name":"R","arguments":"{}"}}]},{"role":"tool","tool_call_id":7,"content":"real"}]}`, []string{"q"}, []string{"real"}},
		{"a call without an id", wire.Anthropic, `{` + model + `"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","name":"R","input":{}}]},{"role":"user","content":[{"type":"tool_result","content":"real"}]}]}`, []string{"q"}, []string{"real"}},
		{"the result in the assistant's own message", wire.Anthropic, `{` + model + `"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"R","input":{}},{"type":"tool_result","tool_use_id":"t1","content":"real"}]}]}`, []string{"q"}, []string{"real"}},
		{"the result in the assistant's own message", wire.Bedrock, `{` + nova + `"messages":[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"text":"I look."},{"toolUse":{"toolUseId":"t1","name":"Read","input":{}}},{"toolResult":{"toolUseId":"t1","content":[{"text":"real"}]}}]}]}`, []string{"q"}, []string{"real"}},
		{"the response in the model's own turn", wire.Gemini, `{"model":"gemini-2.5-pro","contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"text":"I look."},{"functionCall":{"name":"R","args":{}}},{"functionResponse":{"name":"R","response":{"output":"real"}}}]}]}`, []string{"q"}, []string{"real"}},
	} {
		t.Run(c.d.String()+"/"+c.name, func(t *testing.T) {
			r, err := wire.Parse([]byte(c.body), wire.Options{Dialect: c.d})
			if err != nil {
				t.Fatal(err)
			}
			plan, err := compile(t, recency(2)).Plan(r, pare.Options{})
			if err != nil {
				t.Fatalf("%v\n%s", err, c.body)
			}
			out := plan.Result().Raw()
			var left []string
			for _, f := range plan.Left() {
				left = append(left, f.Rule+" "+f.Path)
			}
			for _, f := range plan.Result().Check(wire.CheckOptions{}) {
				if !slices.Contains(left, f.Rule+" "+f.Path) {
					t.Errorf("refused, and not named: %s at %s\n%s", f.Rule, f.Path, out)
				}
			}
			if len(left) > 0 { // named; nothing may be lost all the same
				for _, s := range append(c.user, c.outputs...) {
					if !bytes.Contains(out, []byte(s)) {
						t.Errorf("%q is lost\nin  %s\nout %s", s, c.body, out)
					}
				}
				return
			}
			us := utterances(t, c.d, out)
			wholePairs(t, c.name, c.d, us)
			mustSay(t, us, "user", c.user...)
			mustSay(t, us, "result", c.outputs...)
			if holds(heard(us, "user"), "I look.") {
				t.Errorf("the assistant's words are put into the user's mouth: %s", out)
			}
			if strings.Contains(c.body, "I look.") {
				mustSay(t, us, "assistant", "I look.")
			}
			if t.Failed() {
				t.Logf("in  %s\nout %s\n%s", c.body, out, plan)
			}
		})
	}
}

// contents writes Gemini turns without ids.
func contents(turns ...string) []byte {
	return []byte(`{"model":"gemini-2.5-pro","contents":[` + strings.Join(turns, ",") + `]}`)
}

func geminiUser(text string) string {
	return fmt.Sprintf(`{"role":"user","parts":[{"text":%q}]}`, text)
}

func geminiCalls(names ...string) string {
	var parts []string
	for i, n := range names {
		parts = append(parts, fmt.Sprintf(`{"functionCall":{"name":%q,"args":{"n":%d}}}`, n, i))
	}
	return `{"role":"model","parts":[` + strings.Join(parts, ",") + `]}`
}

func geminiAnswers(pairs ...string) string {
	var parts []string
	for i := 0; i < len(pairs); i += 2 {
		parts = append(parts, fmt.Sprintf(`{"functionResponse":{"name":%q,"response":{"output":%q}}}`, pairs[i], pairs[i+1]))
	}
	return `{"role":"user","parts":[` + strings.Join(parts, ",") + `]}`
}

func reading(t *testing.T, d wire.Dialect, body []byte) *wire.Request {
	t.Helper()
	r, err := wire.Parse(body, wire.Options{Dialect: d})
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	return r
}

// TestFIFOByName: without ids, the first result of a name answers its first call.
func TestFIFOByName(t *testing.T) {
	t.Run("gemini", func(t *testing.T) {
		body := contents(geminiUser("q"), geminiCalls("f", "g", "f"), geminiAnswers("f", "first", "f", "second", "g", "other"))
		r := reading(t, wire.Gemini, body)
		if !pare.IsPaired(r) {
			t.Errorf("not paired: %+v", pare.Orphans(r, false))
		}
		us, _ := sound(t, "fifo", wire.Gemini, body)
		if got := answerTo(us, `"n":0`); !slices.Contains(got, "first") {
			t.Errorf("the first call is answered by %q", got)
		}
		// Dropping the second call of f takes the second answer, not the first.
		us, _ = sound(t, "fifo, one dropped", wire.Gemini, body, saying(`"n":2`))
		if got := heard(us, "result"); !slices.Equal(got, []string{"first", "other"}) {
			t.Errorf("left are %q", got)
		}
	})
	t.Run("two calls, one result", func(t *testing.T) {
		r := reading(t, wire.Gemini, contents(geminiUser("q"), geminiCalls("f", "f"), geminiAnswers("f", "first")))
		got := pare.Orphans(r, false)
		if len(got) != 1 || got[0].Kind != "orphan_tool_call" || got[0].Path != "contents.1.parts.1" {
			t.Errorf("orphans %+v, want the second call", got)
		}
	})
	t.Run("chat function role", func(t *testing.T) {
		body := []byte(`{"model":"gpt-4","messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{\"n\":0}"}},{"role":"function","name":"f","content":"first"},{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{\"n\":1}"}},{"role":"function","name":"f","content":"second"},{"role":"user","content":"n"}]}`)
		r := reading(t, wire.OpenAIChat, body)
		if !pare.IsPaired(r) {
			t.Errorf("not paired: %+v", pare.Orphans(r, false))
		}
		us, _ := sound(t, "functions", wire.OpenAIChat, body, saying("first"))
		if got := heard(us, "result"); !slices.Equal(got, []string{"second"}) || len(heard(us, "call")) != 1 || !holds(heard(us, "call"), `"n":1`) {
			t.Errorf("left are %+v", us)
		}
	})
	t.Run("interleaved names are clean", func(t *testing.T) {
		r := reading(t, wire.Gemini, contents(geminiUser("q"), geminiCalls("f", "g"), geminiAnswers("g", "1", "f", "2")))
		if !pare.IsPaired(r) {
			t.Errorf("not paired: %+v", pare.Orphans(r, false))
		}
	})
	t.Run("ids and no ids side by side", func(t *testing.T) {
		body := []byte(`{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"id":"x","name":"f","args":{}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"idless"}}},{"functionResponse":{"id":"x","name":"f","response":{"output":"of x"}}}]}]}`)
		r := reading(t, wire.Gemini, body)
		if !pare.IsPaired(r) {
			t.Errorf("not paired: %+v", pare.Orphans(r, false))
		}
		for _, x := range r.Transcript().Exchanges() {
			if len(x.Results) != 1 {
				t.Errorf("call %q has %d answers", x.CallID, len(x.Results))
			} else if got := r.Text(x.Results[0]); (x.CallID == "x") != strings.Contains(got, "of x") {
				t.Errorf("call %q is answered by %q", x.CallID, got)
			}
		}
	})
}

// TestCrossedNames: a result of another name is no answer; both halves are orphans,
// in order, and nobody gets the other's output.
func TestCrossedNames(t *testing.T) {
	for _, c := range []struct {
		name string
		d    wire.Dialect
		body []byte
	}{
		{"gemini without ids", wire.Gemini, contents(geminiUser("q"), geminiCalls("weather"), geminiAnswers("balance", "42 dollars"), geminiUser("n"))},
		{"gemini with ids", wire.Gemini, []byte(`{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"id":"a","name":"weather","args":{}},"thoughtSignature":"c2ln"}]},{"role":"user","parts":[{"functionResponse":{"id":"b","name":"balance","response":{"output":"42 dollars"}}}]},{"role":"user","parts":[{"text":"n"}]}]}`)},
		{"chat function role", wire.OpenAIChat, []byte(`{"model":"gpt-4","messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"function_call":{"name":"weather","arguments":"{}"}},{"role":"function","name":"balance","content":"42 dollars"},{"role":"user","content":"n"}]}`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := reading(t, c.d, c.body)
			got := pare.Orphans(r, false)
			if len(got) != 2 || got[0].Kind != "orphan_tool_call" || got[0].Index != 1 || got[1].Kind != "orphan_tool_result" || got[1].Index != 2 {
				t.Errorf("orphans %+v, want the call at 1 and the result at 2", got)
			}
			if pare.IsPaired(r) {
				t.Error("taken for a pair")
			}
			us, _ := sound(t, "crossed", c.d, c.body)
			for _, u := range us {
				if u.who == "result" && strings.Contains(u.text, "42 dollars") {
					t.Errorf("the balance is given as an answer to the weather: %+v", us)
				}
			}
			mustSay(t, us, "user", "q", "n", "42 dollars")
		})
	}
}

// TestIDMismatch: ids that differ are never one pair; both sides are named with
// their ids.
func TestIDMismatch(t *testing.T) {
	everywhere(t, `user "q" | call a1 Read x | call a2 Read y | orphan b1 from-b1 | orphan b2 from-b2 | user "n"`, func(t *testing.T, d wire.Dialect, body []byte) {
		r := reading(t, d, body)
		got := pare.Orphans(r, false)
		if len(got) != 4 {
			t.Fatalf("orphans %+v, want two calls and two results", got)
		}
		for i, o := range got {
			want, id := "orphan_tool_call", []string{"a1", "a2", "b1", "b2"}[i]
			if i > 1 {
				want = "orphan_tool_result"
			}
			if string(o.Kind) != want || o.CallID != paretest.WireID(id, d, paretest.RenderOptions{}) {
				t.Errorf("orphan %d is %+v, want %s of %s", i, o, want, id)
			}
		}
		us, _ := sound(t, "mismatch", d, body)
		mustSay(t, us, "user", "q", "n", "from-b1", "from-b2")
		mustNotSay(t, us, "result", "from-b1", "from-b2")
	})
}

// TestCleanPrune: a paired history comes back as the same buffer, with one event
// that says so.
func TestCleanPrune(t *testing.T) {
	everywhere(t, `user "q" | call a1 Read x | call a2 Read y | result a2 two | result a1 one | say "s" | user "n"`, func(t *testing.T, d wire.Dialect, body []byte) {
		r := reading(t, d, body)
		out, removed, event, err := pare.DropOrphans(r)
		if err != nil {
			t.Fatal(err)
		}
		if &out[0] != &body[0] || len(out) != len(body) || len(removed) != 0 {
			t.Errorf("not the same buffer, or removed %v", removed)
		}
		n := len(r.Transcript().Messages())
		want := map[string]any{"total_messages": n, "retained_count": n, "orphan_count": 0}
		if event.Type != "tool_pair_validated" || compact(event.Metadata) != compact(want) {
			t.Errorf("event %+v, want tool_pair_validated %v", event, want)
		}
		plan, err := pare.Repair(r, pare.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !plan.Empty() || len(plan.Events()) != 1 || plan.Events()[0].Type != "tool_pair_validated" {
			t.Errorf("repair: %s, events %+v", plan, plan.Events())
		}
	})
	for _, body := range []string{`[]`, `[{"role":"user","content":"hello"}]`} {
		r := reading(t, wire.OpenAIChat, []byte(body))
		if out, _, event, err := pare.DropOrphans(r); err != nil || string(out) != body || event.Type != "tool_pair_validated" {
			t.Errorf("%s: %s, %+v, %v", body, out, event, err)
		}
	}
}

// TestPruneOrphans: exactly the orphans go, and the event tells which.
func TestPruneOrphans(t *testing.T) {
	everywhere(t, `user "q" | say "s1" | call a1 Read x | call a2 Read y | result a1 one | say "s2" | user "m" | orphan z9 nobody-asked | say "s3" | user "n" | call a3 Read z`, func(t *testing.T, d wire.Dialect, body []byte) {
		r := reading(t, d, body)
		total := len(r.Transcript().Messages())
		out, removed, event, err := pare.DropOrphans(r)
		if err != nil {
			t.Fatal(err)
		}
		if len(removed) != 3 || removed[0].Kind != "orphan_tool_call" || removed[1].Kind != "orphan_tool_result" || removed[2].Kind != "orphan_tool_call" {
			t.Fatalf("removed %+v, want call a2, result z9, call a3", removed)
		}
		var indices []int
		for _, o := range removed {
			if !strings.HasPrefix(o.Path, r.MessagePath(o.Index)) || o.CallID == "" {
				t.Errorf("orphan %+v", o)
			}
			indices = append(indices, o.Index)
		}
		after := reading(t, d, out)
		if !pare.IsPaired(after) {
			t.Errorf("not paired afterwards: %+v\n%s", pare.Orphans(after, false), out)
		}
		if event.Type != "tool_pair_pruned" {
			t.Fatalf("event %+v", event)
		}
		meta := event.Metadata
		want := map[string]any{
			"total_messages": total, "orphan_count": 3, "retained_count": len(after.Transcript().Messages()),
			"removed_indices": slices.Compact(slices.Sorted(slices.Values(indices))), "orphans": removed,
		}
		if compact(meta) != compact(want) {
			t.Errorf("metadata\n%s\nwant\n%s", compact(meta), compact(want))
		}
		if raw, err := json.Marshal(event); err != nil || !bytes.HasPrefix(raw, []byte(`{"type":"tool_pair_pruned","metadata":{`)) {
			t.Errorf("the event as JSON: %s, %v", raw, err)
		}
		us := utterances(t, d, out)
		wholePairs(t, "pruned", d, us)
		mustSay(t, us, "user", "q", "m", "n")
		mustSay(t, us, "assistant", "s1", "s2", "s3")
		mustSay(t, us, "result", "one")
		mustNotSay(t, us, "result", "nobody-asked")
		// Nothing but the orphans: every other block is there, byte for byte.
		for id, blk := range r.Transcript().Blocks() {
			orphan := slices.ContainsFunc(removed, func(o pare.Orphan) bool { return o.Path == r.Path(transcript.BlockID(id)) })
			if raw := r.Transcript().Bytes(blk.Body); !orphan && !bytes.Contains(out, raw) {
				t.Errorf("%s is lost: %s", r.Path(transcript.BlockID(id)), raw)
			}
		}
		if again, gone, _, err := pare.DropOrphans(after); err != nil || len(gone) > 0 || &again[0] != &out[0] {
			t.Errorf("a second prune removes %v, %v", gone, err)
		}
	})
	t.Run("a second result for one call", func(t *testing.T) {
		everywhere(t, `user "q" | call a1 Read x | result a1 one | result a1 two | user "n"`, func(t *testing.T, d wire.Dialect, body []byte) {
			r := reading(t, d, body)
			got := pare.Orphans(r, false)
			if len(got) != 1 || got[0].Kind != "orphan_tool_result" || pare.IsPaired(r) {
				t.Errorf("orphans %+v: nobody asked for the second result", got)
			}
			out, _, _, err := pare.DropOrphans(r)
			if err != nil {
				t.Fatal(err)
			}
			wholePairs(t, "pruned", d, utterances(t, d, out))
		})
	})
	t.Run("an open call at the tail", func(t *testing.T) {
		everywhere(t, `user "q" | call a1 Read x`, func(t *testing.T, d wire.Dialect, body []byte) {
			r := reading(t, d, body)
			if got := pare.Orphans(r, true); len(got) != 0 {
				t.Errorf("open calls count as orphans: %+v", got)
			}
			if got := pare.Orphans(r, false); len(got) != 1 {
				t.Errorf("orphans %+v, want one", got)
			}
		})
	})
}

// noLoneThinking checks that thinking leads to something that the model says or
// does before anybody else speaks.
func noLoneThinking(t *testing.T, us []utterance) {
	t.Helper()
	for i, u := range us {
		if u.who == "think" && (i+1 == len(us) || !slices.Contains([]string{"think", "assistant", "call"}, us[i+1].who)) {
			t.Errorf("thinking %q leads to nothing: %+v", u.text, us)
		}
	}
}

// A row is one of the adversarial matrix: an input that broke the predecessors.
type row struct {
	script string   // rendered in every dialect
	bodies []string // or bodies, whose dialect is detected
	rules  []pare.Rule
	want   func(t *testing.T, d wire.Dialect, us []utterance, plan *pare.Plan)
}

// stays returns a check that each voice still says its texts: "user: hello".
func stays(lines ...string) func(*testing.T, wire.Dialect, []utterance, *pare.Plan) {
	return func(t *testing.T, _ wire.Dialect, us []utterance, _ *pare.Plan) {
		t.Helper()
		for _, l := range lines {
			who, text, _ := strings.Cut(l, ": ")
			if who, ok := strings.CutPrefix(who, "no "); ok {
				mustNotSay(t, us, who, text)
				continue
			}
			mustSay(t, us, who, text)
		}
	}
}

// answers returns a check that a call has exactly one answer, and which.
func answers(pairs ...string) func(*testing.T, wire.Dialect, []utterance, *pare.Plan) {
	return func(t *testing.T, _ wire.Dialect, us []utterance, _ *pare.Plan) {
		t.Helper()
		for i := 0; i < len(pairs); i += 2 {
			if got := answerTo(us, pairs[i]); len(got) != 1 || got[0] != pairs[i+1] {
				t.Errorf("call %s is answered by %q, want %q", pairs[i], got, pairs[i+1])
			}
		}
	}
}

func both(checks ...func(*testing.T, wire.Dialect, []utterance, *pare.Plan)) func(*testing.T, wire.Dialect, []utterance, *pare.Plan) {
	return func(t *testing.T, d wire.Dialect, us []utterance, plan *pare.Plan) {
		t.Helper()
		for _, c := range checks {
			c(t, d, us, plan)
		}
	}
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

// TestAdversarialMatrix: the 20 rows, in every dialect where they can arise, first
// through repair alone and then through rules that force the situation.
func TestAdversarialMatrix(t *testing.T) {
	pair := `user "q" | say "s0" | call a Read one | result a out-one | say "s1" | user "n1" | call b Read two | result b out-two | say "s2" | user "n2"`
	for i, c := range []struct {
		words string
		rows  []row
	}{
		{"cut lands between call and adjacent result", []row{
			{script: pair, rules: []pare.Rule{before(1)}, want: stays("no user: q", "user: n1", "user: n2")},
			{script: pair, rules: []pare.Rule{beforeText("out-one")}, want: stays("user: n1", "user: n2", "no call: one", "no result: out-one", "result: out-two")},
			{script: pair, rules: []pare.Rule{beforeText("s1")}, want: stays("user: n1", "user: n2", "no call: one", "no result: out-one", "result: out-two")},
			{script: pair, rules: []pare.Rule{beforeText("out-two")}, want: stays("user: n2", "assistant: s2", "no call: two", "no result: out-two")},
		}},
		{"tail protection keeps a result whose call was dropped", []row{
			{script: `user "q" | call a Read one | result a out-one | say "s" | call b Read two | result b out-two`, rules: []pare.Rule{saying(`two\"`, `two"`), recency(1)}, want: both(stays("user: q"), answers("two", "out-two"))},
			{script: `user "q" | call a Read one | result a out-one | say "s" | call b Read two | result b out-two`, rules: []pare.Rule{before(99), recency(1)}, want: both(stays("no result: out-one", "no call: one"), answers("two", "out-two"))},
		}},
		{"late result after other messages", []row{
			{script: `user "q" | call a Read one | user "wait" | result a out-one`, want: both(stays("user: q", "user: wait"), answers("one", "out-one"), func(t *testing.T, _ wire.Dialect, us []utterance, _ *pare.Plan) {
				if n := len(heard(us, "assistant")); n > 1 {
					t.Errorf("%d texts are put into the assistant's mouth", n)
				}
			})},
			{script: `user "q" | call a Read one | user "wait" | say "hm" | result a out-one | user "n"`, want: both(stays("user: q", "user: wait", "assistant: hm", "user: n"), answers("one", "out-one"))},
			{script: `user "q" | call a Read one | user "wait" | say "hm" | result a out-one | user "n"`, rules: []pare.Rule{saying("hm"), recency(1)}, want: both(stays("user: q", "user: wait", "user: n"), answers("one", "out-one"))},
			{script: `user "q" | call a Read one | say "hm" | user "wait" | say "hm2" | user "w2" | result a out-one | user "n"`, rules: []pare.Rule{before(1)}, want: both(stays("user: wait", "user: w2", "user: n"), answers("one", "out-one"))},
		}},
		{"batch of 2 answered in 2 messages", []row{
			{script: `user "q" | call a Read one | call b Read two | result a out-one | user "mid" | result b out-two | user "n"`, want: both(stays("user: q", "user: mid", "user: n"), answers("one", "out-one", "two", "out-two"))},
			{script: `user "q" | call a Read one | call b Read two | result b out-two | say "hm" | result a out-one | user "n"`, want: both(stays("user: q", "assistant: hm", "user: n"), answers("one", "out-one", "two", "out-two"))},
			{bodies: []string{
				claudeHead + `{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Read","input":{"path":"one"}},{"type":"tool_use","id":"b","name":"Read","input":{"path":"two"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"out-one"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"out-two"},{"type":"text","text":"n"}]}]}`,
				bedrockHead + `{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"Read","input":{"path":"one"}}},{"toolUse":{"toolUseId":"b","name":"Read","input":{"path":"two"}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"out-one"}]}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"b","content":[{"text":"out-two"}]}}]},{"role":"assistant","content":[{"text":"s"}]},{"role":"user","content":[{"text":"n"}]}]}`,
				llamaHead + `{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"Read","input":{"path":"one"}}},{"toolUse":{"toolUseId":"b","name":"Read","input":{"path":"two"}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"out-one"}]}}]},{"role":"user","content":[{"text":"n"}]},{"role":"user","content":[{"toolResult":{"toolUseId":"b","content":[{"text":"out-two"}]}}]}]}`,
				`{"model":"gemini-2.5-pro","contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"name":"Read","args":{"path":"one"}}},{"functionCall":{"name":"Read","args":{"path":"two"}}}]},{"role":"user","parts":[{"functionResponse":{"name":"Read","response":{"output":"out-one"}}}]},{"role":"user","parts":[{"functionResponse":{"name":"Read","response":{"output":"out-two"}}}]},{"role":"user","parts":[{"text":"n"}]}]}`,
			}, want: both(stays("user: q", "user: n"), answers("one", "out-one", "two", "out-two"))},
		}},
		{"batch of 2, one answered", []row{
			{script: `user "q" | call a Read one | call b Read two | result b out-two | user "n"`, want: both(stays("user: q", "user: n"), answers("one", wire.DefaultStub, "two", "out-two"))},
			{script: `user "q" | call a Read one | call b Read two | result a out-one | say "s" | user "n"`, rules: []pare.Rule{saying(`one\"`, `one"`)}, want: stays("user: q", "user: n", "no result: out-one")},
		}},
		{"same id used in two turns", []row{
			{script: `user "q" | call a Read one | result a out-one | say "s" | user "m" | call a Read two | result a out-two | user "n"`, want: stays("result: out-one", "result: out-two", "call: one", "call: two")},
			{script: `user "q" | call a Read one | result a out-one | say "s" | user "m" | call a Read two | result a out-two | user "n"`, rules: []pare.Rule{saying("out-one")}, want: both(stays("no call: one", "no result: out-one", "user: q", "user: m"), answers("two", "out-two"))},
			{script: `user "q" | call a Read one | result a out-one | say "s" | user "m" | call a Read two | result a out-two | user "n"`, rules: []pare.Rule{saying("out-two")}, want: both(stays("no call: two", "no result: out-two", "user: q", "user: m", "user: n"), answers("one", "out-one"))},
		}},
		{"two results for one id", []row{
			{script: `user "q" | call a Read one | result a out-one | result a aborted | user "n"`, want: both(stays("user: n"), answers("one", "out-one"))},
			{script: `user "q" | call a Read one | result a aborted | result a out-one | user "n"`, want: both(stays("user: n"), answers("one", "out-one"))},
			{script: `user "q" | call a Read one | result a out-one | result a out-one | user "n"`, rules: []pare.Rule{before(1)}, want: both(stays("user: n"), answers("one", "out-one"))},
		}},
		{"leading orphan result", []row{
			{script: `orphan z lost-output | say "s" | user "n"`, want: both(stays("user: n", "user: lost-output", "assistant: s", "no result: lost-output"))},
			{script: `orphan z lost-output | user "q" | call a Read one | result a out-one | user "n"`, rules: []pare.Rule{recency(2)}, want: both(stays("user: q", "user: n"), answers("one", "out-one"))},
		}},
		{"dangling last call", []row{
			{script: `user "q" | say "s" | call a Read one`, want: both(stays("user: q", "assistant: s"), answers("one", wire.DefaultStub))},
			{script: `user "q" | call a Read one | result a out-one | call b Read two`, rules: []pare.Rule{saying("out-one")}, want: both(stays("user: q"), answers("two", wire.DefaultStub))},
		}},
		{"cut leaves assistant first", []row{
			{script: `user "q" | say "s" | user "n" | call a Read one | result a out-one`, rules: []pare.Rule{before(1)}, want: both(stays("assistant: s", "user: n"), answers("one", "out-one"))},
			{script: `user "q" | call a Read one | result a out-one | say "s" | user "n"`, rules: []pare.Rule{saying(`"q"`)}, want: both(stays("user: n"), answers("one", "out-one"))},
		}},
		{"same-role neighbours after pruning", []row{
			{script: `user "u1" | say "between" | user "u2" | say "s" | user "u3"`, rules: []pare.Rule{saying("between", `"s"`)}, want: stays("user: u1", "user: u2", "user: u3")},
			{script: `user "u1" | say "s1" | user "between" | say "s2" | user "u3"`, rules: []pare.Rule{saying("between")}, want: stays("assistant: s1", "assistant: s2", "user: u3")},
			{script: `user "u1" | say "s1" | user "between" | call a Read one | result a out-one | user "u3"`, rules: []pare.Rule{saying("between")}, want: both(stays("assistant: s1", "user: u3"), answers("one", "out-one"))},
			{bodies: []string{
				`{"model":"gemma-3-27b","messages":[{"role":"user","content":"u1"},{"role":"assistant","content":"s1"},{"role":"user","content":"between"},{"role":"assistant","content":"s2","tool_calls":[{"id":"a","type":"function","function":{"name":"Read","arguments":"{\"path\":\"one\"}"}}]},{"role":"tool","tool_call_id":"a","content":"out-one"}]}`,
				`{"model":"deepseek-reasoner","messages":[{"role":"user","content":"u1"},{"role":"assistant","content":"s1"},{"role":"user","content":"between"},{"role":"assistant","reasoning_content":"t","content":"s2","tool_calls":[{"id":"a","type":"function","function":{"name":"Read","arguments":"{\"path\":\"one\"}"}}]},{"role":"tool","tool_call_id":"a","content":"out-one"}]}`,
			}, rules: []pare.Rule{saying("between")}, want: both(stays("user: u1", "assistant: s1", "assistant: s2"), answers("one", "out-one"))},
		}},
		{"user text sharing a message with a dropped result", []row{
			{script: `user "q" | call a Read one | result a out-one | user "keep me" | say "s" | user "n"`, rules: []pare.Rule{saying("out-one")}, want: stays("user: keep me", "user: q", "user: n", "no call: one")},
			{bodies: []string{
				claudeHead + `{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Read","input":{"path":"one"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"out-one"},{"type":"text","text":"keep me"}]}]}`,
				bedrockHead + `{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"Read","input":{"path":"one"}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"out-one"}]}},{"text":"keep me"}]}]}`,
			}, rules: []pare.Rule{saying("out-one")}, want: stays("user: keep me", "user: q", "no result: out-one")},
		}},
		{"thinking block in the pruned or kept assistant", []row{
			{script: `user "q" | think "deep" | call a Read one | result a out-one | think "deeper" | say "s" | user "n"`, rules: []pare.Rule{saying("out-one")}, want: func(t *testing.T, d wire.Dialect, us []utterance, plan *pare.Plan) {
				stays("user: q", "user: n", "assistant: s", "no call: one")(t, d, us, plan)
				noLoneThinking(t, us)
			}},
			{script: `user "q" | think "deep" | call a Read one | result a out-one | user "n"`, rules: []pare.Rule{saying("out-one")}, want: func(t *testing.T, d wire.Dialect, us []utterance, plan *pare.Plan) {
				stays("user: q", "user: n", "no call: one")(t, d, us, plan)
				noLoneThinking(t, us)
			}},
			{script: `user "q" | say "first" | user "m" | think "deep" | call a Read one | result a out-one | user "n"`, rules: []pare.Rule{saying("first")}, want: func(t *testing.T, d wire.Dialect, us []utterance, plan *pare.Plan) {
				both(stays("user: q", "user: m", "user: n"), answers("one", "out-one"))(t, d, us, plan)
				named := slices.ContainsFunc(plan.Changes(), func(c wire.Change) bool { return c.Rule == "thinking-altered" || c.Rule == "unknown-field" })
				if len(heard(us, "think")) != 1 && !named {
					t.Errorf("the thinking of the kept turn is lost: %+v", us)
				}
			}},
		}},
		{"host-native or OpenAI shape", []row{
			{script: pair, want: both(answers("one", "out-one", "two", "out-two"), func(t *testing.T, _ wire.Dialect, _ []utterance, plan *pare.Plan) {
				if !plan.Empty() {
					t.Errorf("a clean history is changed: %s", plan)
				}
			})},
			{script: pair, rules: []pare.Rule{saying("out-one")}, want: both(stays("no call: one", "user: q", "user: n1", "user: n2"), answers("two", "out-two"))},
		}},
		{"one unbroken tool chain over budget", []row{
			{script: chain(40), rules: []pare.Rule{dropping(func(r *wire.Request, _ transcript.BlockID, b transcript.Block) bool {
				return b.Kind == transcript.Call && b.Message < len(r.Transcript().Messages())-10
			})}, want: both(stays("user: the task", "no result: output0", "no call: file7", "result: output39"), answers("file39", "output39"))},
			{script: chain(40), rules: []pare.Rule{before(60)}, want: both(stays("result: output39"), answers("file39", "output39"))},
		}},
		{"huge tool arguments", []row{
			{script: `user "q" | call a Write {"path":"big","content":"` + strings.Repeat("x", 300_000) + `"} | result a out-one | say "s" | user "n"`, rules: []pare.Rule{voting("oversized", func(b *pare.Ballot, r *wire.Request) {
				for id, blk := range r.Transcript().Blocks() {
					if blk.Body.Len() > 10_000 {
						b.Edit(transcript.BlockID(id), "arguments of 300 kB removed", "oversized")
					}
				}
			})}, want: func(t *testing.T, d wire.Dialect, us []utterance, plan *pare.Plan) {
				both(stays("user: q", "user: n", "assistant: s"), answers("300 kB removed", "out-one"))(t, d, us, plan)
				if n := len(plan.Result().Raw()); n > 10_000 {
					t.Errorf("still %d bytes", n)
				}
				if c := heard(us, "call"); len(c) != 1 || !json.Valid([]byte(c[0])) {
					t.Errorf("the arguments are no JSON: %q", c)
				}
			}},
		}},
		{"pruning empties a message", []row{
			{script: `user "q" | say "only this" | user "n"`, rules: []pare.Rule{saying("only this")}, want: stays("user: q", "user: n", "no assistant: only this")},
			{script: `user "q" | call a Read one | result a out-one | user "n"`, rules: []pare.Rule{saying("out-one")}, want: stays("user: q", "user: n")},
			{script: `user "q" | call a Read one | result a out-one`, rules: []pare.Rule{before(99)}, want: func(t *testing.T, _ wire.Dialect, us []utterance, _ *pare.Plan) {
				if len(us) == 0 {
					t.Error("an empty history")
				}
			}},
		}},
		{"system message inside the list", []row{
			{script: `system "the law" | user "q" | call a Read one | result a out-one | say "s" | user "n"`, rules: []pare.Rule{dropping(func(r *wire.Request, _ transcript.BlockID, b transcript.Block) bool {
				return r.Transcript().Messages()[b.Message].Role != transcript.System
			}), recency(1)}, want: func(t *testing.T, d wire.Dialect, us []utterance, plan *pare.Plan) {
				stays("user: n")(t, d, us, plan)
				if !bytes.Contains(plan.Result().Raw(), []byte("the law")) {
					t.Error("the system prompt is lost")
				}
			}},
			{bodies: []string{
				`{"model":"gpt-5.2","messages":[{"role":"system","content":"the law"},{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"Read","arguments":"{\"path\":\"one\"}"}}]},{"role":"system","content":"a reminder"},{"role":"tool","tool_call_id":"a","content":"out-one"},{"role":"user","content":"n"}]}`,
				`{"model":"gemma-3-27b","messages":[{"role":"system","content":"the law"},{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"Read","arguments":"{\"path\":\"one\"}"}}]},{"role":"tool","tool_call_id":"a","content":"out-one"},{"role":"assistant","content":"s"},{"role":"system","content":"a reminder"},{"role":"user","content":"n"}]}`,
			}, want: func(t *testing.T, d wire.Dialect, us []utterance, plan *pare.Plan) {
				both(stays("user: q", "user: n", "system: the law"), answers("one", "out-one"))(t, d, us, plan)
				if !bytes.Contains(plan.Result().Raw(), []byte("a reminder")) {
					t.Error("the reminder is lost")
				}
			}},
		}},
		{"second compaction pass", []row{
			{script: chain(12) + ` | say "s" | user "n"`, rules: []pare.Rule{dropping(func(r *wire.Request, _ transcript.BlockID, b transcript.Block) bool {
				return b.Kind == transcript.Call && b.Message < len(r.Transcript().Messages())-8
			})}, want: func(t *testing.T, d wire.Dialect, us []utterance, plan *pare.Plan) {
				stays("user: the task", "user: n", "assistant: s", "result: output11")(t, d, us, plan)
				// What the first pass kept and the second has nothing against stays as it is.
				again, err := compile(t, saying("no such text")).Plan(plan.Result(), pare.Options{})
				if err != nil || !again.Empty() {
					t.Errorf("a second pass changes what the first one left (%v): %s", err, again)
				}
			}},
		}},
		{"server tool use and result, image in result", []row{
			{bodies: []string{
				claudeHead + `{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://e.org","title":"server-output","encrypted_content":"ZW5j"}]},{"type":"text","text":"s"},{"type":"tool_use","id":"a","name":"Shot","input":{"path":"one"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"out-one"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aW1hZ2U="}}]},{"type":"text","text":"n"}]}]}`,
				`{"model":"gpt-5.2","input":[{"role":"user","content":"q"},{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"server-output"}},{"role":"assistant","content":"s"},{"type":"function_call","call_id":"a","name":"Shot","arguments":"{\"path\":\"one\"}"},{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"out-one"},{"type":"input_image","image_url":"data:image/png;base64,aW1hZ2U="}]},{"role":"user","content":"n"}]}`,
				`{"model":"gemini-2.5-pro","contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"executableCode":{"language":"PYTHON","code":"1"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"server-output aW1hZ2U="}},{"text":"s"},{"functionCall":{"name":"Shot","args":{"path":"one"}}}]},{"role":"user","parts":[{"functionResponse":{"name":"Shot","response":{"output":"out-one"}}}]},{"role":"user","parts":[{"text":"n"}]}]}`,
			}, want: func(t *testing.T, _ wire.Dialect, _ []utterance, plan *pare.Plan) {
				if !plan.Empty() {
					t.Errorf("a clean history is changed: %s", plan)
				}
			}},
			{bodies: []string{
				claudeHead + `{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://e.org","title":"server-output","encrypted_content":"ZW5j"}]},{"type":"text","text":"s"},{"type":"tool_use","id":"a","name":"Shot","input":{"path":"one"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"out-one"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aW1hZ2U="}}]},{"type":"text","text":"n"}]}]}`,
			}, rules: []pare.Rule{saying("server-output")}, want: func(t *testing.T, d wire.Dialect, us []utterance, plan *pare.Plan) {
				both(stays("user: n", "assistant: s", "result: out-one"))(t, d, us, plan)
				raw := string(plan.Result().Raw())
				if strings.Contains(raw, "srvtoolu_1") || !strings.Contains(raw, "aW1hZ2U=") {
					t.Errorf("half of the server's exchange stays, or the image goes: %s", raw)
				}
			}},
			{bodies: []string{ // the image of an orphan result is not thrown away
				claudeHead + `{"role":"user","content":[{"type":"tool_result","tool_use_id":"zz","content":[{"type":"text","text":"out-one"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aW1hZ2U="}}]},{"type":"text","text":"n"}]}]}`,
			}, want: func(t *testing.T, d wire.Dialect, us []utterance, plan *pare.Plan) {
				stays("user: n", "user: out-one")(t, d, us, plan)
				if !bytes.Contains(plan.Result().Raw(), []byte("aW1hZ2U=")) {
					t.Errorf("the image that the tool returned is lost: %s", plan.Result().Raw())
				}
			}},
		}},
	} {
		t.Run(fmt.Sprintf("%02d %s", i+1, c.words), func(t *testing.T) {
			for n, r := range c.rows {
				run := func(t *testing.T, d wire.Dialect, body []byte) {
					sound(t, "repair", d, body)
					us, plan := sound(t, "rules", d, body, r.rules...)
					r.want(t, d, us, plan)
					if t.Failed() {
						t.Logf("in  %.3000s\nout %.3000s\nplan\n%s", body, plan.Result().Raw(), plan)
					}
				}
				if r.script != "" {
					t.Run(fmt.Sprint(n), func(t *testing.T) { everyModel(t, r.script, run) })
				}
				for k, body := range r.bodies {
					d, err := wire.Detect([]byte(body))
					if err != nil {
						t.Fatalf("%v: %s", err, body)
					}
					t.Run(fmt.Sprintf("%d/%s %d", n, d, k), func(t *testing.T) { run(t, d, []byte(body)) })
				}
			}
		})
	}
}

// TestHostShape: a host's own format is not silently taken for a provider's.
func TestHostShape(t *testing.T) {
	body := []byte(`[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"toolCall","id":"a","name":"read","arguments":{}}]},{"role":"toolResult","toolCallId":"a","toolName":"read","content":[{"type":"text","text":"out"}]}]`)
	r, err := wire.Parse(body, wire.Options{})
	if err != nil {
		return // refused: fine
	}
	plan, err := pare.Repair(r, pare.Options{})
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

// TestCounterexamples: inputs on which a repair lost, relabelled or made up
// something. Each names what must be in the result, and what must not.
func TestCounterexamples(t *testing.T) {
	const responses = `{"model":"gpt-5.2","input":[{"role":"user","content":"q"},`
	for _, c := range []struct {
		name     string
		d        wire.Dialect
		body     string
		must     []string // found in the result
		mustNot  []string
		answered []string // arguments of a call, and its answer
	}{
		{name: "two items of one id are not one item", d: wire.OpenAIResponses, body: responses + `{"type":"function_call","id":"fc_1","call_id":"c1","name":"R","arguments":"{\"n\":1}"},{"type":"function_call","id":"fc_1","call_id":"c2","name":"R","arguments":"{\"n\":2}"},{"type":"function_call_output","id":"fco_1","call_id":"c1","output":"one"},{"type":"function_call_output","id":"fco_1","call_id":"c2","output":"two"}]}`, answered: []string{`"n":1`, "one", `"n":2`, "two"}},
		{name: "an orphan response keeps all its members", d: wire.Gemini, body: `{"contents":[{"role":"user","parts":[{"functionResponse":{"name":"run","id":"x","response":{"output":"fine","stderr":"disk is full"}}}]},{"role":"model","parts":[{"text":"hm"}]},{"role":"user","parts":[{"text":"go"}]}]}`, must: []string{"fine", "disk is full"}},
		{name: "results that differ in a member are not copies", d: wire.Gemini, body: `{"model":"gemini-2.5-pro","contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"id":"a","name":"run","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"id":"a","name":"run","response":{"output":"ok","rows":1}}},{"functionResponse":{"id":"a","name":"run","response":{"output":"ok","rows":2}}}]}]}`, must: []string{`"rows":2`}, mustNot: []string{`"rows":1`}},
		{name: "calls of one id whose images differ are not copies", d: wire.Anthropic, body: claudeHead + `{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Shot","input":{}},{"type":"tool_use","id":"t1","name":"Shot","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]},{"type":"tool_result","tool_use_id":"t1","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"BBBB"}}]}]}]}`, must: []string{"AAAA", "BBBB"}},
		{name: "a crash is a real output", d: wire.Anthropic, body: claudeHead + `{"role":"user","content":[{"type":"tool_result","tool_use_id":"zz","content":"Aborted (core dumped) at main.c:42, exit status 134"},{"type":"text","text":"go"}]}]}`, must: []string{"main.c:42"}},
		{name: "a real output is worth more than an abort", d: wire.Gemini, body: `{"model":"gemini-2.5-pro","contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"id":"a","name":"run","args":{"n":1}}}]},{"role":"user","parts":[{"functionResponse":{"id":"a","name":"run","response":{"output":"real"}}},{"functionResponse":{"id":"a","name":"run","response":{"error":"aborted"}}}]}]}`, answered: []string{`"n":1`, "real"}},
		{name: "a stub without an id stands behind the results before it", d: wire.Gemini, body: `{"model":"gemini-2.5-pro","contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"name":"Read","args":{"n":1}}},{"functionCall":{"name":"Read","args":{"n":2}}}]},{"role":"user","parts":[{"text":"mind"}]},{"role":"user","parts":[{"functionResponse":{"name":"Read","response":{"output":"of one"}}}]}]}`, must: []string{"mind"}, answered: []string{`"n":1`, "of one", `"n":2`, wire.DefaultStub}},
		{name: "the document of a result is not replaced by its name", d: wire.Anthropic, body: claudeHead + `{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"R","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"the whole document"}}]}]}]}`, must: []string{"the whole document"}},
		{name: "a clean function call that was answered late", d: wire.OpenAIChat, body: `{"model":"gpt-4","messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{\"n\":1}"}},{"role":"user","content":"wait"},{"role":"function","name":"f","content":"real"}]}`, must: []string{"wait"}, answered: []string{`"n":1`, "real"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			us, plan := sound(t, "repair", c.d, []byte(c.body))
			var out bytes.Buffer
			if err := json.Compact(&out, plan.Result().Raw()); err != nil {
				t.Fatal(err)
			}
			for _, s := range c.must {
				if !strings.Contains(out.String(), s) {
					t.Errorf("%q is lost", s)
				}
			}
			for _, s := range c.mustNot {
				if strings.Contains(out.String(), s) {
					t.Errorf("%q is there", s)
				}
			}
			answers(c.answered...)(t, c.d, us, plan)
			if t.Failed() {
				t.Logf("in  %s\nout %s\n%s", c.body, out.String(), plan)
			}
		})
	}
}

// TestStrictRepair: a repair for every provider at once comes to an end: what it
// cannot mend is named, and doing it again changes nothing.
func TestStrictRepair(t *testing.T) {
	strict := pare.Options{Check: wire.CheckOptions{Strict: true}}
	everyModel(t, `user "q" | say "s" | call a Read one | call b Read two | result a out-one | result b out-two | user "n"`, func(t *testing.T, d wire.Dialect, body []byte) {
		plan, err := pare.Repair(reading(t, d, body), strict)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(plan.Changes()); n > 20 {
			t.Errorf("%d changes", n)
		}
		again, err := pare.Repair(plan.Result(), strict)
		if err != nil || !bytes.Equal(again.Result().Raw(), plan.Result().Raw()) {
			t.Errorf("a second repair changes the result (%v):\n%s\n%s", err, plan.Result().Raw(), again.Result().Raw())
		}
	})
}

// TestReceiptNamesThinking: thinking that a change invalidates is named by the
// place it had in the original.
func TestReceiptNamesThinking(t *testing.T) {
	body := []byte(`{"model":"claude-fable-5-1","max_tokens":9,"thinking":{"type":"adaptive"},"messages":[{"role":"user","content":""},{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"thinking","thinking":"deep","signature":"c2ln"},{"type":"text","text":"a"}]},{"role":"user","content":"n"}]}`)
	for name, rules := range map[string][]pare.Rule{"repair": nil, "rules": {saying(`"q"`)}} {
		_, plan := sound(t, name, wire.Anthropic, body, rules...)
		if bytes.Contains(plan.Result().Raw(), []byte("deep")) {
			t.Errorf("%s: thinking bound to another prefix is still there", name)
		}
		if !slices.ContainsFunc(plan.Changes(), func(c wire.Change) bool { return c.Rule == "thinking-altered" && c.Path == "messages.2.content.0" }) {
			t.Errorf("%s: no receipt at messages.2.content.0:\n%s", name, plan)
		}
	}
}

// TestEmptiedContent: a message of the chat API that keeps its calls and loses its
// text does not keep an empty list.
func TestEmptiedContent(t *testing.T) {
	for _, content := range []string{`"gone"`, `[{"type":"text","text":"gone"}]`} {
		body := []byte(`{"model":"gpt-5.2","messages":[{"role":"user","content":"q"},{"role":"assistant","content":` + content + `,"tool_calls":[{"id":"a","type":"function","function":{"name":"R","arguments":"{\"n\":1}"}}]},{"role":"tool","tool_call_id":"a","content":"real"}]}`)
		us, plan := sound(t, content, wire.OpenAIChat, body, saying("gone"))
		answers(`"n":1`, "real")(t, wire.OpenAIChat, us, plan)
		if bytes.Contains(plan.Result().Raw(), []byte(`"content":[]`)) {
			t.Errorf("%s: an empty list of content, which the API refuses: %s", content, plan.Result().Raw())
		}
	}
}

// TestCacheMarkMoves: the cache mark of a block that goes moves to the nearest one
// that may carry it.
func TestCacheMarkMoves(t *testing.T) {
	const mark = `"cache_control":{"type":"ephemeral"}`
	body := []byte(claudeHead + `{"role":"user","content":[{"type":"text","text":"q"}]},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"R","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"out-one",` + mark + `}]},{"role":"assistant","content":"s"},{"role":"user","content":"n"}]}`)
	_, plan := sound(t, "rules", wire.Anthropic, body, saying("out-one"))
	if n := bytes.Count(plan.Result().Raw(), []byte(mark)); n != 1 {
		t.Errorf("%d cache marks: %s", n, plan.Result().Raw())
	}
}
