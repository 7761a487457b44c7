package rules_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/internal/rulelist"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/jsontree"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// historyCount is how many random histories are tried.
func historyCount() uint64 {
	return uint64(trial.Histories(60))
}

// inflate makes texts long enough to be worth clearing. Equal texts stay equal, and
// failures say so in words, for the dialects that have no mark for them. What a
// write says is short, as in life.
func inflate(s histories.Script) histories.Script {
	s = slices.Clone(s)
	tools := map[string]string{}
	for i := range s {
		switch s[i].Op {
		case histories.Fail:
			s[i].Text = "Error: " + grow(s[i].Text)
		case histories.Result:
			if t := tools[s[i].ID]; t != "Write" && t != "Edit" {
				s[i].Text = grow(s[i].Text)
			}
		case histories.Call:
			tools[s[i].ID] = s[i].Tool
			var args struct{ Path, Content string }
			if json.Unmarshal([]byte(s[i].Args), &args) != nil || args.Content == "" {
				continue
			}
			path, _ := json.Marshal(args.Path)
			content, _ := json.Marshal(grow(args.Content))
			s[i].Args = fmt.Sprintf(`{"path":%s,"content":%s}`, path, content)
		}
	}
	return s
}

func grow(text string) string {
	h := 0
	for _, r := range text {
		h = h*31 + int(r)
	}
	return text + strings.Repeat(fmt.Sprintf("\nline %d of a \"long\" text ü", h%97), 25+abs(h)%40)
}

func abs(n int) int { return max(n, -n) }

func count(n int) *int { return &n }

func must(o rulelist.Options) pare.Rule {
	r, err := o.Rule()
	if err != nil {
		panic(err)
	}
	return r
}

// sets are pipelines that differ in what they do.
func sets() map[string][]pare.Rule {
	all := map[string][]pare.Rule{"standard": rules.Standard()}
	for _, mode := range []string{"clear", "drop"} {
		all[string(mode)] = []pare.Rule{
			must(rules.Deduplication{Mode: mode}),
			must(rules.SupersededWrites{Mode: mode}),
			must(rules.ErrorPurging{Mode: mode}),
			must(rules.Recency{Messages: count(3)}),
		}
	}
	all["everything"] = append(slices.Clone(all["clear"]), must(rules.Oversized{MaxBytes: 1024}),
		must(rules.Protect{Selection: rules.Selection{FirstUser: true, Tools: []string{"grep"}, Paths: []string{"docs/**"}, Markers: []string{"<b>", "please"}}}))
	all["turns"] = append(slices.Clone(all["drop"][:3]), must(rules.Recency{Turns: count(1)}), must(rules.Oversized{MaxBytes: 1024}))
	return all
}

var setNames = []string{"clear", "drop", "everything", "standard", "turns"}

func TestRelations(t *testing.T) {
	all := sets()
	changed := map[string]int{}
	for seed := range historyCount() {
		r := rand.New(rand.NewPCG(seed, 7))
		script := inflate(histories.Random(seed, histories.GenOptions{}))
		if seed%3 == 2 {
			script, _ = histories.Break(r, script)
		}
		name := setNames[seed%uint64(len(setNames))]
		for _, d := range wire.Dialects() {
			body := script.Render(d, histories.RenderOptions{NoIDs: seed%7 == 0})
			at := fmt.Sprintf("seed %d, %s, %s", seed, d, name)
			o := pare.Options{Repair: wire.Repair{Open: seed%5 == 4}}
			plan := relations(t, at, body, all[name], o, r)
			if !plan.Empty() {
				changed[name]++
			}
			if t.Failed() {
				t.Fatalf("%s\n%s", at, plan)
			}
		}
	}
	for _, name := range setNames {
		if changed[name] < int(historyCount())/5 {
			t.Errorf("%s did something to %d bodies only", name, changed[name])
		}
	}
}

func compile(t testing.TB, all []pare.Rule) *pare.Pipeline {
	t.Helper()
	p, err := pare.Compile(all...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func relations(t *testing.T, at string, body []byte, all []pare.Rule, o pare.Options, r *rand.Rand) *pare.Plan {
	t.Helper()
	in, err := pare.Parse(body)
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	plan, err := planner.Prune(context.Background(), compile(t, all), in, o)
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	if len(in.Transcript().Messages()) == 0 {
		return plan // nobody knows what to put there
	}
	if len(plan.Remaining()) > 0 {
		t.Errorf("%s: left %v", at, plan.Remaining())
		return plan
	}
	out := plan.Result().Raw()

	// The order in which rules are given does not matter.
	shuffled := slices.Clone(all)
	r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	other, err := planner.Prune(context.Background(), compile(t, shuffled), in, o)
	if err != nil || !bytes.Equal(other.Result().Raw(), out) {
		t.Errorf("%s: another order of rules leads elsewhere, %v", at, err)
	}

	// A second time there is nothing to do.
	again, err := pare.Parse(out)
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	second, err := planner.Prune(context.Background(), compile(t, all), again, o)
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	if !second.Empty() || len(second.Changes()) > 0 {
		t.Errorf("%s: the second time\n%s\n%s", at, second, out)
	}
	onlyWhole(t, at, plan)
	untouched(t, at, plan)
	if !slices.ContainsFunc(plan.Decisions(), func(d pare.Decision) bool { return d.Action == wire.ActionDrop }) && len(out) > len(planner.RepairedRequest(plan).Raw()) {
		t.Errorf("%s: clearing made the history longer", at)
	}
	return plan
}

// onlyWhole: what is decided against is a whole exchange, of the client.
func onlyWhole(t *testing.T, at string, plan *pare.Plan) {
	t.Helper()
	tr := planner.RepairedRequest(plan).Transcript()
	for _, d := range plan.Decisions() {
		if d.Action == wire.ActionKeep {
			continue
		}
		halves := 0
		for _, b := range tr.Atoms()[d.Atom].Blocks {
			id := tr.ExchangeOf(b)
			if id == transcript.NoExchange {
				continue
			}
			halves++
			if x := tr.Exchanges()[id]; x.State != transcript.Whole || x.Server {
				t.Errorf("%s: %s an exchange that is %s", at, d.Action, x.State)
			}
		}
		if halves != 2 && d.Action == wire.ActionDrop && !slices.ContainsFunc(d.Reasons, func(r pare.Reason) bool { return r.Via != d.Atom }) {
			t.Errorf("%s: drop an atom with %d halves", at, halves)
		}
	}
}

// untouched: what is protected, and what people said, leaves as it came.
func untouched(t *testing.T, at string, plan *pare.Plan) {
	t.Helper()
	tr := planner.RepairedRequest(plan).Transcript()
	keep := make([]bool, len(tr.Blocks()))
	for _, d := range plan.Decisions() {
		for _, b := range tr.Atoms()[d.Atom].Blocks {
			keep[b] = d.Protected
		}
	}
	out := plan.Result().Raw()
	for b, blk := range tr.Blocks() {
		person := blk.Kind == transcript.Text && tr.Messages()[blk.Message].Role == transcript.User
		if (keep[b] || person) && !bytes.Contains(out, tr.Bytes(blk.Body)) {
			t.Errorf("%s: what is protected is not there any more: %s", at, tr.Bytes(blk.Body))
			return
		}
	}
}

// TestLatestStays compares deduplication with what is plain to see in a script.
func TestLatestStays(t *testing.T) {
	p := compile(t, []pare.Rule{must(rules.Deduplication{ExactOnly: true})})
	for seed := range historyCount() {
		script := inflate(histories.Random(seed, histories.GenOptions{UniqueIDs: true}))
		latest := map[string]int{}
		calls := map[string]int{}
		want := map[string]bool{} // ids that are repeated later
		for i, s := range script {
			switch s.Op {
			case histories.Call:
				calls[s.ID] = i
			case histories.Result, histories.Fail:
				c := script[calls[s.ID]]
				if len(s.Text) < 512 {
					continue // cheaper than a placeholder
				}
				key := fmt.Sprint(c.Tool, c.Args, s.Op, s.Text)
				// Parallel results may come in another order than their calls.
				if j, ok := latest[key]; ok {
					old := min(j, calls[s.ID])
					want[script[old].ID] = true
				}
				latest[key] = max(latest[key], calls[s.ID])
			}
		}
		for _, d := range wire.Dialects() {
			var got []string
			for line := range strings.Lines(play(t, script, p, d)) {
				if f := strings.Fields(line); f[0] == "archive" {
					got = append(got, f[2])
				}
			}
			for _, id := range got {
				if !want[id] {
					t.Fatalf("seed %d, %s: %s was cleared and is not repeated later", seed, d, id)
				}
				delete(want, id)
			}
			if len(want) > 0 {
				t.Fatalf("seed %d, %s: %v were not cleared", seed, d, want)
			}
			for _, id := range got {
				want[id] = true
			}
		}
	}
}

// TestSpelling: how the JSON is written changes no decision.
func TestSpelling(t *testing.T) {
	p := compile(t, sets()["everything"])
	for seed := range historyCount() / 4 {
		script := inflate(histories.Random(seed, histories.GenOptions{}))
		for _, d := range wire.Dialects() {
			body := script.Render(d, histories.RenderOptions{})
			want := verdicts(planOf(t, body, p))
			for _, s := range []jsontree.Spelling{
				{Indent: "  "}, {Keys: jsontree.KeysReversed}, {Indent: "\t", Keys: jsontree.KeysSorted, Escapes: jsontree.EscapeNonASCII}, {Escapes: jsontree.EscapeAll},
			} {
				again, err := jsontree.Respell(body, s)
				if err != nil {
					t.Fatal(err)
				}
				if got := verdicts(planOf(t, again, p)); got != want {
					t.Fatalf("seed %d, %s, %+v: got\n%s\nwant\n%s", seed, d, s, got, want)
				}
			}
		}
	}
}

func verdicts(p *pare.Plan) string {
	var b strings.Builder
	for _, d := range p.Decisions() {
		if d.Action != wire.ActionKeep {
			fmt.Fprintln(&b, d.Atom, d.Action, d.Reasons)
		}
	}
	return b.String()
}

// TestDamaged: whatever a body looks like, no rule panics, and what comes out
// settles.
func TestDamaged(t *testing.T) {
	all := sets()
	for seed := range historyCount() {
		r := rand.New(rand.NewPCG(seed, 9))
		script := inflate(histories.Random(seed, histories.GenOptions{}))
		d := wire.Dialects()[seed%5]
		body := script.Render(d, histories.RenderOptions{})
		for range 4 {
			body, _ = histories.Corrupt(r, body)
			in, err := wire.Parse(body, wire.Options{Dialect: d})
			if err != nil {
				break
			}
			if _, err := planner.Prune(context.Background(), compile(t, all[setNames[seed/5%5]]), in, pare.Options{}); err != nil {
				t.Errorf("seed %d, %s: %v", seed, d, err)
			}
		}
	}
}
