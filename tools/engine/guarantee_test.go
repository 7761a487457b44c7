package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/summary"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// cutters returns policies that remove as much as they can, by every means that Pare has.
func cutters(t *testing.T, rnd *rand.Rand, r *wire.Request) map[string]*pare.Policy {
	t.Helper()
	greedy := func(name string, edit bool) *pare.Pipeline {
		salt := rnd.Uint64()
		p, err := pare.Compile(pare.Rule{Name: name, Doc: "drops blocks at random", Prepare: func(r *wire.Request) (pare.Process, error) {
			return func(b *pare.Ballot) {
				coin := rand.New(rand.NewPCG(salt, 3))
				for i, blk := range r.Transcript().Blocks() {
					switch n := coin.IntN(5); {
					case n == 0:
					case edit && blk.Kind == transcript.Text:
						b.Edit(transcript.BlockID(i), "shorter", "a test")
					default:
						b.Drop(r.Transcript().AtomOf(transcript.BlockID(i)), "a test")
					}
				}
			}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	extract := &pare.Compactor{Summarize: summary.Extract(summary.ExtractOptions{}), MinKeep: 1 + rnd.IntN(4), MaxTokens: 200}
	tokens := max(50, len(r.Raw())/(4+rnd.IntN(12)))
	return map[string]*pare.Policy{
		"rules that drop":       {Rules: greedy("dropping", false)},
		"rules that edit":       {Rules: greedy("editing", true)},
		"turns":                 {Window: &pare.Window{Turns: 1 + rnd.IntN(2), AllowTiny: true}},
		"messages":              {Window: &pare.Window{Messages: 1 + rnd.IntN(8), AllowTiny: true, MiddleOut: rnd.IntN(2) == 0}},
		"exchanges":             {Window: &pare.Window{Exchanges: 1 + rnd.IntN(2), AllowTiny: true}},
		"tokens":                {Window: &pare.Window{Tokens: tokens, AllowTiny: true}},
		"tokens and rules":      {Window: &pare.Window{Tokens: tokens, AllowTiny: true}, Rules: greedy("both", false)},
		"stable window":         {Window: &pare.Window{Tokens: tokens, LowPercent: 50, AllowTiny: true, Cold: []int{len(r.Transcript().Messages())}}},
		"summaries in a window": {Window: &pare.Window{Tokens: 2 * tokens, AllowTiny: true}, Compact: extract},
		"compaction":            {Compact: extract},
	}
}

// personTexts returns the texts of the user, read with encoding/json, without those that Pare and
// clients write.
func personTexts(t *testing.T, d wire.Dialect, body []byte) (all []string) {
	t.Helper()
	for _, u := range utterances(t, d, body) {
		// Each part is a line, and a part that is not text is JSON.
		lines := slices.DeleteFunc(strings.Split(u.text, "\n"), func(line string) bool { return strings.HasPrefix(line, "{") })
		text := strings.TrimSpace(strings.Join(lines, "\n"))
		isWritten := strings.HasPrefix(text, wording.Mark) || strings.HasPrefix(text, "<system-reminder") || strings.HasPrefix(text, "[A result") || strings.HasPrefix(text, "[A tool result")
		if u.who == "user" && text != "" && !isWritten {
			all = append(all, text)
		}
	}
	return all
}

// outside returns the members of a body other than the history.
func outside(t *testing.T, body []byte) map[string]json.RawMessage {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal(body, &all); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"messages", "input", "contents"} {
		delete(all, name)
	}
	return all
}

// withCompanions returns a body with a block that is not text after the results in each message
// that has some.
func withCompanions(t *testing.T, d wire.Dialect, body []byte) []byte {
	t.Helper()
	list, member, result, companion := "messages", "content", "tool_result", `{"type":"mystery_block","n":1}`
	switch d {
	case wire.Bedrock:
		result, companion = "toolResult", `{"cachePoint":{"type":"default"}}`
	case wire.Gemini:
		list, member, result, companion = "contents", "parts", "functionResponse", `{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}`
	case wire.Anthropic:
	default:
		return body // results are messages or items of their own
	}
	var root map[string]json.RawMessage
	var messages []map[string]json.RawMessage
	if err := json.Unmarshal(body, &root); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(root[list], &messages); err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		var blocks []json.RawMessage
		if json.Unmarshal(m[member], &blocks) == nil && strings.Contains(string(m[member]), result) {
			m[member], _ = json.Marshal(append(blocks, json.RawMessage(companion)))
		}
	}
	root[list], _ = json.Marshal(messages)
	out, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestPersonsWordsSurviveEveryPolicy: whatever a rule, a window or a summary removes from a
// history, whole or broken, the task and the newest words of the user are in the result, and the
// system prompt, the tools and the parameters have the same bytes as after a repair alone.
func TestPersonsWordsSurviveEveryPolicy(t *testing.T) {
	n := historyCount(t) / 20
	done := make(map[string]int)
	for seed := range uint64(n) {
		d, body, did := history(seed)
		if seed%2 == 1 {
			body = withCompanions(t, d, body)
		}
		r := reading(t, d, body)
		spoken := personTexts(t, d, body)
		if len(spoken) == 0 {
			continue
		}
		repaired, err := (&pare.Policy{}).Plan(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		for name, p := range cutters(t, rand.New(rand.NewPCG(seed, 99)), r) {
			plan, err := p.Plan(context.Background(), r)
			var fault *pare.FaultError
			if errors.As(err, &fault) {
				t.Fatalf("seed %d, %s, %v, %s: %v\n%s", seed, d, did, name, err, body)
			}
			if err != nil || plan.Empty() {
				continue
			}
			done[name]++
			at := fmt.Sprintf("seed %d, %s, %v, %s", seed, d, did, name)
			out := plan.Result().Raw()
			left := strings.Join(personTexts(t, d, out), "\x00")
			for _, text := range []string{spoken[0], spoken[len(spoken)-1]} {
				if !strings.Contains(left, text) {
					t.Fatalf("%s: %q is lost\n%s\n%s", at, text, body, out)
				}
			}
			if len(plan.Remaining()) == 0 && !reflect.DeepEqual(outside(t, out), outside(t, repaired.Result().Raw())) {
				t.Fatalf("%s: something outside of the history has changed\n%s\n%s", at, body, out)
			}
		}
	}
	t.Log(done)
	for name := range cutters(t, rand.New(rand.NewPCG(0, 0)), reading(t, wire.Anthropic, []byte(`{"model":"claude-opus-4-6","messages":[{"role":"user","content":"a"}]}`))) {
		if done[name] < n/20 {
			t.Errorf("%s changed only %d of %d histories", name, done[name], n)
		}
	}
}

// TestRulesKeepTaskAndNewestWords checks that a rule that drops everything is overruled for the
// task and the newest words of the user, and that the plan reports it.
func TestRulesKeepTaskAndNewestWords(t *testing.T) {
	all, err := pare.Compile(pare.Rule{Name: "all", Doc: "drops everything", Prepare: func(r *wire.Request) (pare.Process, error) {
		return func(b *pare.Ballot) {
			for a := range r.Transcript().Atoms() {
				b.Drop(transcript.AtomID(a), "a test")
			}
		}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := reading(t, wire.Anthropic, []byte(`{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"TASK"},{"role":"assistant","content":"a"},{"role":"user","content":"MIDDLE"},{"role":"assistant","content":"b"},{"role":"user","content":"NEWEST"},{"role":"assistant","content":"c"}]}`))
	plan, err := (&pare.Policy{Rules: all}).Plan(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	if got := personTexts(t, wire.Anthropic, plan.Result().Raw()); !slices.Equal(got, []string{"TASK", "NEWEST"}) {
		t.Errorf("left: %q", got)
	}
	for _, d := range plan.Decisions() {
		if d.Protected && !slices.ContainsFunc(d.Reasons, func(why pare.Reason) bool { return strings.Contains(why.Text, "the newest words of the user stay") }) {
			t.Errorf("%+v", d)
		}
	}
}

// TestWindowKeepsTaskAfterOrphans: in a history that begins with results whose calls are gone, the
// task is the first text of the user, however short it is, and not the quoted results or a block of
// an unknown type.
func TestWindowKeepsTaskAfterOrphans(t *testing.T) {
	body := []byte(`{"model":"claude-opus-4-6","max_tokens":9,"messages":[
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"gone","content":"it fits"},{"type":"mystery_block","n":1}]},
		{"role":"assistant","content":"a"},{"role":"user","content":"it"},
		{"role":"assistant","content":"b"},{"role":"user","content":"wait for it"},
		{"role":"assistant","content":"c"},{"role":"user","content":"NEWEST"}]}`)
	r := reading(t, wire.Anthropic, body)
	for n := 1; n <= 4; n++ {
		plan, err := (&pare.Policy{Window: &pare.Window{Messages: n, AllowTiny: true}}).Plan(context.Background(), r)
		if err != nil {
			continue
		}
		if got := personTexts(t, wire.Anthropic, plan.Result().Raw()); !slices.Contains(got, "it") || got[len(got)-1] != "NEWEST" {
			t.Errorf("%d messages: left: %q", n, got)
		}
	}
	plan, err := (&pare.Policy{Window: &pare.Window{Messages: 4, AllowTiny: true}}).Plan(context.Background(), r)
	if err != nil || plan.Empty() {
		t.Errorf("a window of four messages is met: %v", err)
	}
}
