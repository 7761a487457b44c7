package rules

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	_ "unsafe" // for linkname

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/wire"
)

// busy writes a history in which few files are read, written and edited again and again, some of
// it in vain, some of it to the letter.
func busy(rng *rand.Rand, steps int) string {
	var b strings.Builder
	b.WriteString(`{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"go on"}`)
	for i := range steps {
		var calls, results []string
		for j := range 1 + rng.IntN(3) {
			tool := []string{"Read", "read", "Write", "Edit", "Bash", "Grep", "TodoWrite", "str_replace_based_edit_tool"}[rng.IntN(8)]
			file := fmt.Sprintf("/src/%d.go", rng.IntN(3))
			args := []string{
				fmt.Sprintf(`{"file_path":%q}`, file), fmt.Sprintf(`{"file_path":%q,"offset":%d,"limit":%d}`, file, rng.IntN(3)*100, 100+rng.IntN(3)*100),
				fmt.Sprintf(`{"limit":200,"file_path":%q,"offset":100}`, file), fmt.Sprintf(`{"file_path":%q,"content":%q}`, file, strings.Repeat("text ", rng.IntN(2)*150)),
				fmt.Sprintf(`{"command":"go test %s"}`, file), fmt.Sprintf(`{"command":"view","path":%q}`, file), fmt.Sprintf(`{"pattern":"x","path":%q}`, file),
				`{"file_path":"` + wire.Mark + `cleared]"}`,
			}[rng.IntN(8)]
			failed, said := "", []string{"ok", "the same", "line\n", "File unchanged"}[rng.IntN(4)]
			if rng.IntN(3) == 0 {
				failed, said = `,"is_error":true`, "Error: no such file"
			}
			said = strings.Repeat(said+" ", 1+rng.IntN(2)*200)
			calls = append(calls, fmt.Sprintf(`{"type":"tool_use","id":"c%d_%d","name":%q,"input":%s}`, i, j, tool, args))
			results = append(results, fmt.Sprintf(`{"type":"tool_result","tool_use_id":"c%d_%d","content":%q%s}`, i, j, said, failed))
		}
		fmt.Fprintf(&b, `,{"role":"assistant","content":[%s]},{"role":"user","content":[%s]}`, strings.Join(calls, ","), strings.Join(results, ","))
	}
	return b.String() + "]}"
}

// TestTapes: what a rule finds in a history that grows is what it finds in the whole of it, also
// if somebody else sees more of it already.
func TestTapes(t *testing.T) {
	proveTapes = true
	defer func() { proveTapes = false }()
	scope := Scope{KeepLast: 3, ProtectPaths: []string{"**/1.go"}}
	var all []pare.Rule
	for _, o := range []Options{
		Deduplication{}, Deduplication{Mode: ModeDrop, Scope: scope}, Deduplication{ExactOnly: true, MinBytes: 1}, SupersededWrites{MinBytes: 1}, SupersededWrites{Mode: ModeDrop, KeepEdits: true, Scope: scope},
		ErrorPurging{MinBytes: 1}, ErrorPurging{Mode: ModeArguments, Scope: scope}, ErrorPurging{Mode: ModeDrop},
	} {
		rule, err := o.Rule()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rule)
	}
	votes := make([]int, len(all))
	for seed := range uint64(trial.Size(60)) {
		r := mustParse(t, busy(rand.New(rand.NewPCG(seed, 7)), 25))
		o := wire.Options{Structural: true}
		begins, err := r.Beginnings(o)
		if err != nil {
			t.Fatal(err)
		}
		order := []int{3, 1, 5} // messages
		for n := 7; n <= len(r.Transcript().Messages()); n += 2 {
			order = append(order, n)
		}
		for _, n := range append(order, 9) {
			q, err := begins.At(n)
			if err != nil {
				t.Fatal(err)
			}
			fresh := mustParse(t, string(q.Raw()))
			for i, rule := range all {
				if _, err := rule.Prepare(q); err != nil {
					t.Fatal(err)
				}
				got, want := decided(t, rule, q), decided(t, rule, fresh)
				if got != want {
					t.Fatalf("seed %d, %d messages, rule %d (%s):\n%s\nafresh:\n%s", seed, n, i, rule.Name, got, want)
				}
				votes[i] += strings.Count(got, "action")
			}
		}
	}
	for i, n := range votes {
		if n == 0 {
			t.Errorf("rule %d (%s) finds nothing", i, all[i].Name)
		}
	}
	t.Log(votes)
}

// proveVotes has what rules that went on said compared with what they say of the whole.
//
//go:linkname proveVotes github.com/pare-llm/pare.proveVotes
var proveVotes bool

// TestGoOn: rules that go on from what they said of the request before, alone and together,
// decide what they would decide if there had been none.
func TestGoOn(t *testing.T) {
	proveTapes, proveVotes = true, true
	defer func() { proveTapes, proveVotes = false, false }()
	scope := Scope{KeepLast: 3, ProtectPaths: []string{"**/1.go"}}
	three := 3
	sets := [][]Options{
		{Deduplication{}, SupersededWrites{}, ErrorPurging{}, Recency{}},
		{Deduplication{ExactOnly: true, MinBytes: 1}, SupersededWrites{MinBytes: 1, Scope: scope}, ErrorPurging{MinBytes: 1, Scope: scope}, Oversized{MaxBytes: 1024}, Protect{Selection{Tools: []string{"Edit"}}}},
		{Oversized{MaxBytes: 1024, Scope: scope}, Recency{Exchanges: &three}, Protect{Selection{Messages: []int{-4}, FirstUser: true}}, Deduplication{Scope: scope}},
		{Deduplication{Mode: ModeDrop}, SupersededWrites{Mode: ModeDrop, Scope: scope}, ErrorPurging{Mode: ModeDrop}, Recency{Messages: &three}},
		{ErrorPurging{Mode: ModeArguments, MinBytes: 1}}, {Recency{}}, {Oversized{}},
	}
	changed := make([]int, len(sets))
	for seed := range uint64(trial.Size(20)) {
		r := mustParse(t, busy(rand.New(rand.NewPCG(seed, 8)), 30))
		begins, err := r.Beginnings(wire.Options{Structural: true})
		if err != nil {
			t.Fatal(err)
		}
		var order []int // messages
		rng := rand.New(rand.NewPCG(seed, 9))
		for n := 1; n <= len(r.Transcript().Messages()); n += 2 * (1 + rng.IntN(3)/2) {
			if order = append(order, n); rng.IntN(10) == 0 {
				order = append(order, max(1, n-2*rng.IntN(4))) // back, and on from there
			}
		}
		all := make([]*pare.Policy, len(sets))
		for i, set := range sets {
			var rules []pare.Rule
			for _, o := range set {
				rule, err := o.Rule()
				if err != nil {
					t.Fatal(err)
				}
				rules = append(rules, rule)
			}
			p, err := pare.Compile(rules...)
			if err != nil {
				t.Fatal(err)
			}
			all[i] = &pare.Policy{Rules: p, Past: &pare.Past{Lend: true}}
		}
		for _, n := range order {
			q, err := begins.At(n)
			if err != nil {
				t.Fatal(err)
			}
			fresh := mustParse(t, string(q.Raw()))
			for i, p := range all {
				got, want := planned(t, p, q), planned(t, &pare.Policy{Rules: p.Rules}, fresh)
				if got != want {
					t.Fatalf("seed %d, %d messages, rules %d:\n%s\nafresh:\n%s", seed, n, i, got, want)
				}
				changed[i] += strings.Count(got, `"action":"edit"`) + strings.Count(got, `"action":"drop"`)
			}
		}
	}
	for i, n := range changed[:len(changed)-2] {
		if n == 0 {
			t.Errorf("rules %d change nothing", i)
		}
	}
	t.Log(changed)
}

// planned is what a policy makes of a request, and why.
func planned(t *testing.T, p *pare.Policy, r *wire.Request) string {
	t.Helper()
	plan, err := p.Plan(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := plan.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + string(plan.Result().Raw())
}

// decided is what a rule alone decides.
func decided(t *testing.T, rule pare.Rule, r *wire.Request) string {
	t.Helper()
	rule.Before, rule.After = nil, nil
	p, err := pare.Compile(rule)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := p.Plan(r, pare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := plan.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
