package wire_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// guests are messages that are wrong somewhere, or make their neighbours so. A number stands for #,
// and the id of a call of the history for ?. What neighbours does for flat dialects, these do for the others.
var guests = map[wire.Dialect][]string{
	wire.Anthropic: {
		`{"role":"user","content":"q#"}`, `{"role":"user","content":[{"type":"text","text":"q#"}]}`, `{"role":"assistant","content":"a#"}`, `{"role":"assistant","content":[{"type":"text","text":" a# "}]}`,
		`{"role":"system","content":"s#"}`, `{"role":"system","content":[{"type":"text","text":"s#"}]}`, `{"role":"strange","content":"x#"}`, `{"role":"user","content":[{"type":"text","text":""}]}`,
		`{"role":"assistant","content":[{"type":"thinking","thinking":"t#","signature":"s#"}]}`, `{"role":"assistant","content":[{"type":"text","text":"a#"},{"type":"thinking","thinking":"t#","signature":"s#"}]}`,
		`{"role":"assistant","content":[{"type":"tool_use","id":"?","name":"Read","input":{}}]}`, `{"role":"assistant","content":[{"type":"tool_use","id":"n#","name":"Read","input":{}},{"type":"text","text":"behind"}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"?","content":"r#"}]}`, `{"role":"user","content":[{"type":"text","text":"first"},{"type":"tool_result","tool_use_id":"?","content":"r#"}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"none","content":"r#"}]}`, `{"role":"assistant","content":[{"type":"tool_result","tool_use_id":"?","content":"r#"}]}`,
		`{"role":"user","content":[{"type":"tool_use","id":"u#","name":"Read","input":{}}]}`, `{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_#","name":"web_search","input":{}}]}`,
		`{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_#","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_#","content":[]},{"type":"text","text":"found"}]}`,
		`{"role":"assistant","content":[{"type":"tool_use","id":"p#","name":"Read","input":{},"caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_1"}}]}`,
		`{"role":"assistant","content":[{"type":"compaction","content":"c#"},{"type":"text","text":"a#"}]}`, `{"role":"assistant","content":[{"type":"text","text":"old"},{"type":"fallback","from":{},"to":{}},{"type":"text","text":"new"}]}`,
	},
	wire.OpenAIChat: {
		`{"role":"user","content":"q#"}`, `{"role":"assistant","content":"a#"}`, `{"role":"assistant","content":"a#","prefix":true}`, `{"role":"system","content":"s#"}`, `{"role":"developer","content":[{"type":"text","text":"s#"}]}`,
		`{"role":"strange","content":"x#"}`, `{"role":"user","content":""}`, `{"role":"assistant","content":[{"type":"text","text":"a#"}]}`, `{"role":"assistant","content":"a#","reasoning_content":"t#"}`,
		`{"role":"assistant","content":null,"tool_calls":[{"id":"?","type":"function","function":{"name":"Read","arguments":"{}"}}]}`,
		`{"role":"assistant","content":"","tool_calls":[{"id":"","type":"function","function":{"name":"Read","arguments":"{]"}},{"id":"","type":"function","function":{"name":"Write","arguments":"{}"}}]}`,
		`{"role":"tool","tool_call_id":"?","content":"r#"}`, `{"role":"tool","tool_call_id":"","content":"r#"}`, `{"role":"tool","content":"r#"}`, `{"role":"tool","tool_call_id":"none","content":"r#"}`,
		`{"role":"assistant","content":null,"function_call":{"name":"Read","arguments":"{}"}}`, `{"role":"function","name":"Read","content":"r#"}`,
		`{"role":"assistant","content":null,"tool_calls":[{"id":"f#","type":"function","function":{"name":"Read","arguments":"{}"}}],"function_call":{"name":"Read","arguments":"{}"}}`, `{"role":"tool","tool_call_id":"f#","content":"r#"}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"?","content":"r#"}]}`,
	},
	wire.Gemini: {
		`{"role":"user","parts":[{"text":"q#"}]}`, `{"role":"model","parts":[{"text":"a#"}]}`, `{"role":"system","parts":[{"text":"s#"}]}`, `{"role":"model","parts":[{"functionCall":{"id":"?","name":"Read","args":{}}}]}`,
		`{"role":"model","parts":[{"functionCall":{"name":"Read","args":{}}}]}`, `{"role":"user","parts":[{"functionResponse":{"id":"?","name":"Read","response":{"output":"r#"}}}]}`, `{"role":"user","parts":[{"functionResponse":{"name":"Read","response":{"output":"r#"}}}]}`,
		`{"role":"user","parts":[{"functionResponse":{"id":"?","name":"Other","response":{"output":"r#"}}},{"text":"beside"}]}`, `{"role":"model","parts":[{"executableCode":{"language":"PYTHON","code":"x"}}]}`, `{"role":"model","parts":[{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"o"}}]}`,
		`{"role":"model","parts":[{"text":"t#","thought":true}]}`, `{"role":"user","parts":[{"text":""}]}`,
	},
	wire.Bedrock: {
		`{"role":"user","content":[{"text":"q#"}]}`, `{"role":"assistant","content":[{"text":"a#"}]}`, `{"role":"system","content":[{"text":"s#"}]}`, `{"role":"user","content":[{"text":""}]}`,
		`{"role":"assistant","content":[{"toolUse":{"toolUseId":"?","name":"Read","input":{}}}]}`, `{"role":"assistant","content":[{"toolUse":{"toolUseId":"n#","name":"Read","input":{}}},{"text":"behind"}]}`,
		`{"role":"user","content":[{"toolResult":{"toolUseId":"?","content":[{"text":"r#"}]}}]}`, `{"role":"user","content":[{"text":"first"},{"toolResult":{"toolUseId":"?","content":[{"text":"r#"}]}}]}`,
		`{"role":"assistant","content":[{"toolResult":{"toolUseId":"?","content":[{"text":"r#"}]}}]}`, `{"role":"user","content":[{"toolUse":{"toolUseId":"u#","name":"Read","input":{}}}]}`,
		`{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"t#","signature":"s#"}}}]}`, `{"role":"assistant","content":[{"text":"a#"},{"reasoningContent":{"reasoningText":{"text":"t#","signature":"s#"}}}]}`,
	},
}

// residents are messages that are right in front of one of the model's, for those who take them.
var residents = map[wire.Dialect][]string{
	wire.Anthropic:       {`{"role":"system","content":"s#"}`, `{"role":"system","content":"s#"}`, `{"role":"assistant","content":[{"type":"thinking","thinking":"t#","signature":"s#"}]}`},
	wire.OpenAIChat:      {`{"role":"system","content":"s#"}`, `{"role":"developer","content":"s#"}`},
	wire.OpenAIResponses: {`{"role":"developer","content":"s#"}`, `{"type":"reasoning","id":"rs_#","summary":[],"encrypted_content":"x#"}`},
	wire.Bedrock:         {`{"role":"system","content":[{"text":"s#"}]}`},
}

// visited is a clean history with guests in it, and which of its messages are guests.
func visited(rng *rand.Rand, seed uint64, d wire.Dialect, model string) (body []byte, guest []bool, err error) {
	script := paretest.Random(seed, paretest.GenOptions{Turns: 2 + rng.IntN(4), UniqueIDs: rng.IntN(4) > 0, NoThinking: rng.IntN(2) == 0})
	plain := script.Render(d, paretest.RenderOptions{Model: model, NoIDs: rng.IntN(4) == 0})
	r, err := wire.Parse(plain, wire.Options{Dialect: d})
	if err != nil {
		return nil, nil, err
	}
	pool := append(slices.Clone(guests[d]), neighbours[d]...)
	var ids []string
	for _, b := range r.Transcript().Blocks() {
		if b.Kind == transcript.Call && b.CallID != "" {
			ids = append(ids, b.CallID)
		}
	}
	at, home := 0, residents[d]
	if rng.IntN(2) == 0 {
		home = nil
	}
	for i, m := range r.Transcript().Messages() {
		body = append(body, plain[at:m.Span.Start]...)
		at = m.Span.Start
		for rng.IntN(6) == 0 {
			text := strings.ReplaceAll(pool[rng.IntN(len(pool))], "#", fmt.Sprint(100+i))
			id := "c1"
			if len(ids) > 0 {
				id = ids[rng.IntN(len(ids))]
			}
			body, guest = append(append(body, strings.ReplaceAll(text, "?", id)...), ','), append(guest, true)
		}
		if m.Role == transcript.Assistant && home != nil && rng.IntN(4) == 0 {
			text := strings.ReplaceAll(home[rng.IntN(len(home))], "#", fmt.Sprint(500+i))
			body, guest = append(append(body, text...), ','), append(guest, false)
		}
		guest = append(guest, false)
	}
	body = append(body, plain[at:]...)
	switch how := []string{`{"type":"enabled","budget_tokens":1024}`, `{"type":"adaptive"}`}[rng.IntN(2)]; {
	case rng.IntN(2) == 0:
	case d == wire.Bedrock:
		body = slices.Insert(body, 1, []byte(`"additionalModelRequestFields":{"thinking":`+how+`},`)...)
	default:
		body = slices.Insert(body, 1, []byte(`"thinking":`+how+`,`)...)
	}
	return body, guest, nil
}

// together lists blocks of which a history can do without: an atom with calls, or what was said since
// a person spoke and before one does again.
func together(rng *rand.Rand, t *transcript.Transcript) (all []transcript.BlockID) {
	if rng.IntN(2) == 0 {
		if x := t.Exchanges(); len(x) > 0 {
			if x := x[rng.IntN(len(x))]; x.State == transcript.Whole {
				return t.Atoms()[t.AtomOf(x.Call)].Blocks
			}
		}
		return nil
	}
	var begins []transcript.BlockID
	for _, m := range t.Messages() {
		if m.Begins {
			begins = append(begins, m.First)
		}
	}
	if len(begins) < 2 {
		return nil
	}
	i := rng.IntN(len(begins) - 1)
	for b := begins[i]; b < begins[i+1]; b++ {
		all = append(all, b)
	}
	return all
}

// pick picks a block at random: any, one beside another that is gone, or one that has much to do
// with its neighbours.
func pick(rng *rand.Rand, blocks []transcript.Block, gone []bool) int {
	b, how := rng.IntN(len(blocks)), rng.IntN(3)
	for tries := 0; tries < 100; tries++ {
		if how == 0 || how == 1 && b > 0 && gone[b-1] != gone[b] || how == 2 && b > 0 && (blocks[b-1].Kind == transcript.Thinking || blocks[b].Kind == transcript.Thinking || blocks[b].Kind == transcript.Text) {
			break
		}
		b = rng.IntN(len(blocks))
	}
	return b
}

// TestCheckStretches: a check that passes over what the last result had finds what a check of a
// fresh reading finds, word for word, whatever comes, goes or changes between the stretches: guests
// come and go between results that are clean, pairs are parted, texts edited.
func TestCheckStretches(t *testing.T) {
	t.Parallel()
	models := map[wire.Dialect][]string{
		wire.Anthropic:       {"claude-sonnet-4-5", "claude-opus-4-6", "claude-opus-4-8", "claude-opus-5", "deepseek-chat", "kimi-k2"},
		wire.OpenAIChat:      {"gpt-5", "mistral-large", "deepseek-reasoner", "MiniMax-M2", "qwen3-max", "kimi-k2", "gemma-3", "strange"},
		wire.OpenAIResponses: {"gpt-5", "deepseek-chat", "strange"}, wire.Gemini: {"gemini-2.5-pro", "gemini-3-pro"}, wire.GeminiInteractions: {"gemini-2.5-pro", "gemini-3-pro"},
		wire.Bedrock: {"anthropic.claude-sonnet-4-5-v1:0", "anthropic.claude-opus-5-v1:0", "amazon.nova-pro-v1:0", "meta.llama3-70b-instruct-v1:0"},
	}
	ways := []wire.CheckOptions{{}, {Strict: true}, {Advice: true}, {Strict: true, Advice: true}}
	type count struct{ checks, apart, found int }
	counts, rules := make([]count, len(wire.Dialects())), make(map[string]int)
	histories := trial.Histories(360)
	for n := range histories {
		seed := trial.First() + uint64(n)
		rng := rand.New(rand.NewPCG(seed, 17))
		k := n % len(counts)
		d := wire.Dialects()[k]
		model := models[d][rng.IntN(len(models[d]))]
		body, guest, err := visited(rng, seed, d, model)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		o := wire.Options{Dialect: d, Model: model, Structural: true}
		r, err := wire.Parse(body, o)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		all, err := r.Beginnings(o)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		s := wire.Scribe{Lend: true}
		gone := make([]bool, len(r.Transcript().Blocks()))
		for b, blk := range r.Transcript().Blocks() {
			gone[b] = guest[blk.Message]
		}
		for m := len(guest) / 2; m <= len(guest); m += 1 + rng.IntN(16) {
			for role := transcript.Assistant; m < len(guest) && rng.IntN(8) > 0 && (role == transcript.Assistant || guest[m-1]); m++ {
				role = r.Transcript().Messages()[m].Role // requests mostly end with what the model has not said
			}
			q, err := all.At(m)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			blocks := q.Transcript().Blocks()
			for way := range 9 {
				now, before := slices.Clone(gone[:len(blocks)]), slices.Clone(gone)
				var edits []wire.BlockEdit
				if way%2 == 0 && way > 0 { // what belongs together goes or comes back, for good
					back := rng.IntN(2) == 0
					for _, b := range together(rng, q.Transcript()) {
						if !guest[blocks[b].Message] {
							now[b], gone[b] = !back, !back
						}
					}
				} else if way > 0 && len(blocks) > 0 { // for this time, something is wrong
					for range 1 + rng.IntN(3) {
						b := pick(rng, blocks, now)
						now[b] = !now[b]
						if e := transcript.BlockID(rng.IntN(len(blocks))); rng.IntN(4) == 0 && !now[e] && q.Editable(e) && len(edits) == 0 {
							edits = append(edits, wire.BlockEdit{Block: e, Text: []string{"", " ", "other"}[rng.IntN(3)]})
						}
					}
					for b := range blocks {
						if guest[blocks[b].Message] && rng.IntN(8) == 0 {
							now[b] = false
						}
					}
				}
				var drop []transcript.BlockID
				for b := range now {
					if now[b] {
						drop = append(drop, transcript.BlockID(b))
					}
				}
				edits = slices.DeleteFunc(edits, func(e wire.BlockEdit) bool { return now[e.Block] })
				next, _, err := s.Rewrite(q, q, drop, edits)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if next == q {
					continue
				}
				if len(next.Check(ways[0])) > 0 {
					if gone = before; way == 0 && rng.IntN(8) > 0 {
						break // nothing would be known
					}
				}
				fresh, err := wire.Parse(bytes.Clone(next.Raw()), o)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				for _, way := range ways {
					passed, found, want := next.Stretches(way), next.Check(way), fresh.Check(way)
					if !reflect.DeepEqual(found, want) {
						t.Fatalf("seed %d, %v, %v: found %v, want %v in %s", seed, d, way, found, want, next.Raw())
					}
					counts[k].checks++
					if passed > 1 {
						counts[k].apart++
						if len(found) > 0 {
							counts[k].found++
						}
						for i := range found {
							rules[found[i].Source]++
						}
					}
				}
			}
		}
	}
	for k, c := range counts {
		t.Logf("%s: %d checks, %d passed over several stretches, %d of these found something", wire.Dialects()[k], c.checks, c.apart, c.found)
		if c.found <= c.checks/400 {
			t.Errorf("%s: of %d checks, %d passed over several stretches and %d of these found something", wire.Dialects()[k], c.checks, c.apart, c.found)
		}
	}
	t.Logf("%d rules were broken beside stretches", len(rules))
}

// rewrites makes a scribe rewrite a history of calls twice, the first time without some messages, the
// second time without others as well, and returns what is found then. The first result is clean.
func rewrites(t *testing.T, d wire.Dialect, model, head string, messages []string, first, then []int) []wire.Finding {
	t.Helper()
	o := wire.Options{Dialect: d, Model: model, Structural: true}
	r, err := wire.Parse([]byte(`{`+head+`"`+d.List()+`":[`+strings.Join(messages, ",")+`]}`), o)
	if err != nil {
		t.Fatal(err)
	}
	all, err := r.Beginnings(o)
	if err != nil {
		t.Fatal(err)
	}
	q, err := all.At(len(messages))
	if err != nil {
		t.Fatal(err)
	}
	s, drop := wire.Scribe{Lend: true}, []transcript.BlockID(nil)
	for _, list := range [][]int{first, then} {
		for _, i := range list {
			for b := q.Transcript().Messages()[i].First; b < q.Transcript().Messages()[i].End; b++ {
				drop = append(drop, b)
			}
		}
		next, _, err := s.Rewrite(q, q, drop, nil)
		if err != nil {
			t.Fatal(err)
		}
		if found := next.Check(wire.CheckOptions{}); &list[0] == &then[0] {
			if next.Stretches(wire.CheckOptions{}) == 0 {
				t.Fatal("the check did not pass over anything")
			}
			return found
		} else if len(found) > 0 {
			t.Fatalf("found %v", found)
		}
	}
	return nil
}

// TestCheckBehindSystem: who spoke last may have spoken in front of a stretch, and the system in
// between does not count.
func TestCheckBehindSystem(t *testing.T) {
	t.Parallel()
	var all []string
	for i := range 12 {
		all = append(all, `{"role":"user","content":"q"}`)
		if i == 6 {
			all = append(all, `{"role":"system","content":"s"}`)
		}
		call := fmt.Sprintf(`{"id":"c%d","type":"function","function":{"name":"f","arguments":"{}"}}`, i)
		all = append(all, `{"role":"assistant","content":"","reasoning_content":"r","tool_calls":[`+call+`]}`, fmt.Sprintf(`{"role":"tool","tool_call_id":"c%d","content":"r"}`, i))
		if i < 11 {
			all = append(all, `{"role":"assistant","content":"a"}`)
		}
	}
	found := rewrites(t, wire.OpenAIChat, "deepseek-reasoner", "", all, []int{4, 5, 6, 7}, []int{24})
	if len(found) != 1 || found[0].Rule != "role-alternation" {
		t.Errorf("found %v", found)
	}
}

// TestCheckOpenLoop: the loop that a request continues may have begun far in front, in what is passed
// over. There everything is as it must be; in the loops before it, it need not be.
func TestCheckOpenLoop(t *testing.T) {
	t.Parallel()
	for d, x := range map[wire.Dialect]struct {
		model, head           string
		user, thinks          string // thinks stands in front of the first call of the last loop, or of all of them
		call, answer, replies string
	}{
		wire.Anthropic: {"claude-sonnet-4-5", `"thinking":{"type":"enabled","budget_tokens":1024},`, `{"role":"user","content":"q"}`, `{"type":"thinking","thinking":"t","signature":"s"},`,
			`{"role":"assistant","content":[^{"type":"tool_use","id":"c#","name":"f","input":{}}]}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c#","content":"r"}]}`, `{"role":"assistant","content":"a"}`},
		wire.Bedrock: {"anthropic.claude-sonnet-4-5-v1:0", `"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":1024}},"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{}}}}]},`,
			`{"role":"user","content":[{"text":"q"}]}`, `{"reasoningContent":{"reasoningText":{"text":"t","signature":"s"}}},`,
			`{"role":"assistant","content":[^{"toolUse":{"toolUseId":"c#","name":"f","input":{}}}]}`, `{"role":"user","content":[{"toolResult":{"toolUseId":"c#","content":[{"text":"r"}]}}]}`, `{"role":"assistant","content":[{"text":"a"}]}`},
		wire.Gemini: {"gemini-3-pro", "", `{"role":"user","parts":[{"text":"q"}]}`, `"thoughtSignature":"s",`,
			`{"role":"model","parts":[{^"functionCall":{"id":"c#","name":"f","args":{}}}]}`, `{"role":"user","parts":[{"functionResponse":{"id":"c#","name":"f","response":{"output":"r"}}}]}`, `{"role":"model","parts":[{"text":"a"}]}`},
		wire.GeminiInteractions: {"gemini-3-pro", "", `{"type":"user_input","content":[{"type":"text","text":"q"}]}`, `{"type":"thought","signature":"s"},`,
			`^{"type":"function_call","id":"c#","name":"f","arguments":{}}`, `{"type":"function_result","call_id":"c#","name":"f","result":"r"}`, `{"type":"model_output","content":[{"type":"text","text":"a"}]}`},
	} {
		const loops, steps = 6, 6
		var all []string
		calls := make(map[int]int) // where each is
		flat := d == wire.GeminiInteractions
		for i := range loops * steps {
			loop, step := i/steps, i%steps
			if step == 0 {
				all = append(all, x.user)
			}
			thinks := ""
			if loop == loops-1 && (step == 0 || flat || d == wire.Gemini) {
				thinks = x.thinks
			}
			if flat && thinks != "" {
				all, thinks = append(all, strings.TrimSuffix(thinks, ",")), ""
			}
			calls[i] = len(all)
			for _, text := range []string{strings.Replace(x.call, "^", thinks, 1), x.answer} {
				all = append(all, strings.ReplaceAll(text, "#", fmt.Sprint(i)))
			}
			if step == steps-1 && loop < loops-1 {
				all = append(all, x.replies)
			}
		}
		if found := rewrites(t, d, x.model, x.head, all, []int{calls[1], calls[1] + 1}, []int{calls[9], calls[9] + 1}); len(found) > 0 {
			t.Errorf("%s: found %v", d, found)
		}
	}
}
