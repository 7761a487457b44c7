package wire_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// neighbours are elements of the flat dialects that have to do with their neighbours, or look like it.
// A number stands for #, and one of few for ?.
var neighbours = map[wire.Dialect][]string{
	wire.OpenAIResponses: {
		`{"role":"user","content":"q#"}`, `{"type":"message","role":"user","content":[]}`, `{"role":"developer","content":"d#"}`,
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"q#"},{"type":"input_image","image_url":"data:image/png;base64,AA=="}]}`,
		`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a#"}]}`,
		`{"type":"message","id":"msg_#","role":"assistant","content":[{"type":"output_text","text":"a#"},{"type":"output_text","text":"b#"}]}`,
		`{"type":"reasoning","id":"rs_#","summary":[],"encrypted_content":"x#"}`, `{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"t#"}]}`,
		`{"type":"reasoning","id":"rs_?","summary":[]}`, `{"type":"function_call","call_id":"c?","name":"Read","arguments":"{}"}`,
		`{"type":"function_call","id":"fc_#","call_id":"c#","name":"Read","arguments":"{\"path\":\"a#\"}"}`, `{"type":"function_call_output","call_id":"c?","output":"r#"}`,
		`{"type":"function_call_output","call_id":"c?","output":[{"type":"input_text","text":"r#"}]}`, `{"type":"function_call","name":"Read","arguments":"{}"}`,
		`{"type":"function_call_output","output":"r#"}`, `{"type":"custom_tool_call","call_id":"c?","name":"patch","input":"p#"}`,
		`{"type":"custom_tool_call_output","call_id":"c?","output":"done"}`, `{"type":"item_reference","id":"rs_?"}`, `{"type":"item_reference","id":"msg_?"}`,
		`{"type":"compaction","encrypted_content":"x#"}`, `{"type":"web_search_call","id":"ws_#","status":"completed"}`, `{"type":"tool_search_call","call_id":null}`,
		`{"type":"tool_search_output","call_id":null,"tools":[{"name":"found#"}]}`, `{"type":"program","call_id":"p?","code":"x"}`,
		`{"type":"function_call","call_id":"c#","name":"Read","arguments":"{}","caller":{"type":"program","caller_id":"p?"}}`, `{"type":"program_output","call_id":"p?","output":"o"}`,
		`{"type":"mcp_approval_request","id":"m?","name":"f","arguments":"{}"}`, `{"type":"mcp_approval_response","approval_request_id":"m?","approve":true}`, `{"type":"strange","x":[{}]}`,
	},
	wire.GeminiInteractions: {
		`{"type":"user_input","content":[{"type":"text","text":"q#"}]}`, `{"type":"user_input","content":[]}`, `{"type":"text","text":"q#"}`, `{"type":"image","data":"AA==","mime_type":"image/png"}`,
		`{"type":"model_output","content":[{"type":"text","text":"a#"},{"type":"text","text":"b#"}]}`, `{"type":"model_output","content":[]}`,
		`{"type":"thought","signature":"s#","summary":[]}`, `{"type":"thought","signature":"s?"}`, `{"type":"function_call","id":"c?","name":"Read","arguments":{}}`,
		`{"type":"function_call","id":"c#","name":"Read","arguments":{"path":"a#"}}`, `{"type":"function_result","call_id":"c?","name":"Read","result":"r#"}`,
		`{"type":"function_result","call_id":"c?","name":"Read","result":{"output":"r#"}}`, `{"type":"google_search_call","id":"g?","arguments":{}}`,
		`{"type":"google_search_result","call_id":"g?","result":[]}`, `{"role":"model","content":[{"type":"text","text":"a#"}]}`, `{"type":"strange","x":[{}]}`,
	},
}

// odd writes a history of such elements.
func odd(rng *rand.Rand, d wire.Dialect) []byte {
	comma := []string{",", ", ", ",\n  "}[rng.IntN(3)]
	all := make([]string, 3+rng.IntN(30))
	for i := range all {
		text := neighbours[d][rng.IntN(len(neighbours[d]))]
		text = strings.ReplaceAll(strings.ReplaceAll(text, "#", fmt.Sprint(100+i)), "?", fmt.Sprint(rng.IntN(4)))
		all[i] = text
		if rng.IntN(8) == 0 {
			all[i] += " "
		}
	}
	if d == wire.OpenAIResponses && rng.IntN(12) == 0 { // what is answered is told by all in front
		all[rng.IntN(len(all))] = `{"type":"local_shell_call","id":"lsh_1","call_id":"c1","action":{}}`
	}
	return []byte(`{"model":"m","input":[` + strings.Join(all, comma) + `],"store":false}`)
}

// TestScribeAnything: whatever is dropped and edited from one request to the next, more of it or
// less, in whatever dialect, what is taken over from the last result is what rewriting all gives:
// all tests of this package prove it. Much of it is taken over.
func TestScribeAnything(t *testing.T) {
	t.Parallel()
	type share struct{ wrote, size int }
	shares := make([]share, len(wire.Dialects()))
	for seed := range trial.Histories(2_000) {
		rng := rand.New(rand.NewPCG(uint64(seed), 9))
		k := seed % len(shares)
		d := wire.Dialects()[k]
		var body []byte
		usual := len(neighbours[d]) == 0 || rng.IntN(2) == 0
		if usual {
			script := paretest.Random(uint64(seed), paretest.GenOptions{Turns: 1 + rng.IntN(3)})
			if rng.IntN(4) == 0 {
				script, _ = paretest.Break(rng, script)
			}
			body = script.Render(d, paretest.RenderOptions{NoIDs: rng.IntN(4) == 0})
		} else {
			body = odd(rng, d)
		}
		r, err := wire.Parse(body, wire.Options{Dialect: d})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		all, err := r.Beginnings(wire.Options{Dialect: d, Model: r.Model(), Structural: len(r.Check(wire.CheckOptions{})) == 0 || rng.IntN(2) == 0})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		s := wire.Scribe{Lend: rng.IntN(3) > 0}
		var kept wire.Docket // which is told of what changes
		keeps := s.Lend && rng.IntN(2) == 0
		messages, level := len(r.Transcript().Messages()), make([]int, len(r.Transcript().Blocks()))
		for n := 1 + rng.IntN(6); n <= messages; n += 1 + rng.IntN(3) {
			q, err := all.At(n)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			blocks := len(q.Transcript().Blocks())
			ways := 2
			if !usual {
				ways = 6 // many of these are not known to begin as the one before
			}
			for range 1 + rng.IntN(ways) { // the same one in several ways
				var changed []transcript.BlockID
				for range rng.IntN(4) {
					if blocks > 0 {
						b := rng.IntN(blocks)
						level[b], changed = rng.IntN(5), append(changed, transcript.BlockID(b))
					}
				}
				slices.Sort(changed)
				ask := func(b transcript.BlockID) (text string, edited, gone bool) {
					if v := level[b]; v == 3 {
						gone = true
					} else if (v == 1 || v == 2) && q.Editable(b) {
						text, edited = []string{`{"note":"other"}`, "shorter"}[v-1], true
					}
					return text, edited, gone
				}
				var drop []transcript.BlockID
				var edits []wire.BlockEdit
				for b := range transcript.BlockID(blocks) {
					if text, edited, gone := ask(b); gone {
						drop = append(drop, b)
					} else if edited {
						edits = append(edits, wire.BlockEdit{Block: b, Text: text})
					}
				}
				rewrite := func() (*wire.Request, []wire.Change, error) { return s.Rewrite(q, q, drop, edits) }
				if kept.Change(slices.Compact(changed), ask); keeps {
					if !slices.Equal(kept.Drop, drop) || !slices.Equal(kept.Edits, edits) {
						t.Fatalf("seed %d: a docket says %v and %v, it should be %v and %v", seed, kept.Drop, kept.Edits, drop, edits)
					}
					if rng.IntN(8) > 0 { // or another one is read in between
						rewrite = func() (*wire.Request, []wire.Change, error) { return s.RewriteAs(q, q, &kept) }
					}
				}
				next, _, err := rewrite()
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if usual && s.Lend && len(drop)+len(edits) > 0 {
					shares[k].size += next.Size()
				}
				next.Check(wire.CheckOptions{}) // which is proved, too
			}
		}
		if usual && s.Lend {
			shares[k].wrote += s.Wrote()
		}
	}
	for k, x := range shares {
		t.Logf("%s: %d of %d bytes were written", wire.Dialects()[k], x.wrote, x.size)
		if x.wrote > x.size*3/4 {
			t.Errorf("%s: %d of %d bytes were written", wire.Dialects()[k], x.wrote, x.size)
		}
	}
}

// TestScribeMoves: where much comes and goes near the beginning, and much is written, what stays
// moves in the memory of earlier results, and those are gathered now and then.
func TestScribeMoves(t *testing.T) {
	t.Parallel()
	for k, shape := range benchdata.Shapes {
		rng := rand.New(rand.NewPCG(uint64(k), 17))
		r, err := wire.Parse(benchdata.Dense(shape, 100_000), wire.Options{})
		if err != nil {
			t.Fatal(err)
		}
		all, err := r.Beginnings(wire.Options{Dialect: r.Dialect, Model: r.Model(), Structural: true})
		if err != nil {
			t.Fatal(err)
		}
		s := wire.Scribe{Lend: true}
		exchanges := r.Transcript().Exchanges()
		for step := range trial.Size(200) {
			q, err := all.At(len(r.Transcript().Messages()) - rng.IntN(3))
			if err != nil {
				t.Fatal(err)
			}
			gone, blocks := rng.IntN(5), len(q.Transcript().Blocks())
			var drop []transcript.BlockID
			var edits []wire.BlockEdit
			for i, x := range exchanges {
				switch last := x.Results[len(x.Results)-1]; {
				case int(last) >= blocks:
				case i < gone:
					drop = append(append(drop, x.Call), x.Results...)
				case i == 6+step/8%(len(exchanges)-8):
					edits = append(edits, wire.BlockEdit{Block: x.Results[0], Text: strings.Repeat("long ", 20_000+step)})
				case i%5 == 0:
					edits = append(edits, wire.BlockEdit{Block: x.Results[0], Text: "short"})
				}
			}
			slices.Sort(drop)
			slices.SortFunc(edits, func(a, b wire.BlockEdit) int { return int(a.Block - b.Block) })
			if _, _, err := s.Rewrite(q, q, drop, edits); err != nil { // which is proved
				t.Fatal(err)
			}
		}
		if s.Wrote() < trial.Size(200)*50_000 {
			t.Errorf("only %d bytes were written", s.Wrote())
		}
	}
}

// TestScribeSlides: exchanges go near the beginning or come back there, so that the lists of a room
// begin elsewhere, while as many as stand there come back or go far behind them.
func TestScribeSlides(t *testing.T) {
	t.Parallel()
	for k, shape := range benchdata.Shapes {
		rng := rand.New(rand.NewPCG(uint64(k), 23))
		r, err := wire.Parse(benchdata.Dense(shape, 200_000), wire.Options{})
		if err != nil {
			t.Fatal(err)
		}
		all, err := r.Beginnings(wire.Options{Dialect: r.Dialect, Model: r.Model(), Structural: true})
		if err != nil {
			t.Fatal(err)
		}
		s := wire.Scribe{Lend: true}
		exchanges := r.Transcript().Exchanges()
		gone := make([]bool, len(exchanges))
		for step := range trial.Size(2_000) {
			q, err := all.At(len(r.Transcript().Messages()) - rng.IntN(2))
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < 6 && step%3 == 0; i++ { // else all rooms come to hold the same
				gone[i] = rng.IntN(2) == 0
			}
			for range rng.IntN(3) * (1 - min(1, step%3)) {
				goes, from := rng.IntN(2) == 0, 6+rng.IntN(len(gone)-6)
				for i := from; i < min(from+10, len(gone)); i++ {
					gone[i] = goes
				}
			}
			var drop []transcript.BlockID
			for i, x := range exchanges {
				if gone[i] && int(x.Results[0]) < len(q.Transcript().Blocks()) {
					drop = append(append(drop, x.Call), x.Results...)
				}
			}
			slices.Sort(drop)
			if _, _, err := s.Rewrite(q, q, drop, nil); err != nil { // which is proved
				t.Fatal(err)
			}
		}
	}
}
