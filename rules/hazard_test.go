package rules_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// A talker writes the history of an agent that reads files.
type talker struct {
	bytes.Buffer
	n int
}

func newTalker() *talker {
	t := new(talker)
	t.WriteString(`{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"go"}`)
	return t
}

// call adds an exchange.
func (t *talker) call(tool, args, result string) {
	t.n++
	fmt.Fprintf(t, `,{"role":"assistant","content":[{"type":"tool_use","id":"c%d","name":%q,"input":%s}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":%q}]}`,
		t.n, tool, args, t.n, result)
}

func (t *talker) run(n int) {
	for range n {
		t.call("Bash", `{"command":"true"}`, "ok")
	}
}

func (t *talker) parse(tb testing.TB) *wire.Request {
	r, err := wire.Parse([]byte(t.String()+"]}"), wire.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func reuseOdds(tb testing.TB, o rules.Hazard) *pare.Pipeline {
	rule, err := o.Rule()
	if err != nil {
		tb.Fatal(err)
	}
	p, err := pare.Compile(rule)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func pruned(tb testing.TB, r *wire.Request, o rules.Hazard) string {
	plan, err := planner.Prune(context.Background(), reuseOdds(tb, o), r, pare.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	out, err := plan.Apply()
	if err != nil {
		tb.Fatal(err)
	}
	return string(out)
}

// prose is text without names.
func prose(n int) string { return strings.Repeat("some plain words about nothing. ", n) }

// identifiers are so many names.
func identifiers(prefix string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s_%d ", prefix, i)
	}
	return b.String()
}

// TestHazard: what goes is what costs more to carry than to read again, by names that nothing newer
// holds, by age, and by whether it is the newest text of a file.
func TestHazard(t *testing.T) {
	long, named := prose(60), prose(40)+identifiers("frob", 60)
	bash, read := `{"command":"make"}`, `{"file_path":"a.go"}`
	for name, x := range map[string]struct {
		talk func(*talker)
		o    rules.Hazard
		goes bool
	}{
		"old, without names":         {func(a *talker) { a.call("Bash", bash, long); a.run(30) }, rules.Hazard{}, true},
		"new":                        {func(a *talker) { a.run(30); a.call("Bash", bash, long) }, rules.Hazard{}, false},
		"short":                      {func(a *talker) { a.call("Bash", bash, prose(5)); a.run(30) }, rules.Hazard{}, false},
		"with names of its own":      {func(a *talker) { a.call("Bash", bash, named); a.run(6) }, rules.Hazard{Horizon: 50}, false},
		"its names are known since":  {func(a *talker) { a.call("Bash", bash, named); a.call("Bash", bash, named); a.run(4) }, rules.Hazard{Horizon: 50}, true},
		"newest text, young":         {func(a *talker) { a.call("Read", read, long); a.run(25) }, rules.Hazard{}, false},
		"newest text, old":           {func(a *talker) { a.call("Read", read, long); a.run(60) }, rules.Hazard{}, true},
		"newest text, pinned longer": {func(a *talker) { a.call("Read", read, long); a.run(60) }, rules.Hazard{Pin: 64}, false},
		"newest text, not pinned":    {func(a *talker) { a.call("Read", read, long); a.run(25) }, rules.Hazard{Pin: -1}, true},
		"read again since":           {func(a *talker) { a.call("Read", read, long); a.run(12); a.call("Read", read, "x"); a.run(12) }, rules.Hazard{}, true},
		"written since": {func(a *talker) {
			a.call("Read", read, long)
			a.run(12)
			a.call("Write", `{"file_path":"a.go","content":"x"}`, "ok")
			a.run(12)
		}, rules.Hazard{}, true},
		"protected tool": {func(a *talker) { a.call("Task", bash, long); a.run(30) }, rules.Hazard{}, false},
		"protected path": {func(a *talker) { a.call("Read", read, long); a.run(60) }, rules.Hazard{Scope: rules.Scope{ProtectPaths: []string{"a.*"}}}, false},
	} {
		a := newTalker()
		x.talk(a)
		r := a.parse(t)
		if out := pruned(t, r, x.o); (out != string(r.Raw())) != x.goes {
			t.Errorf("%s: %s", name, out)
		}
	}
}

// TestHazardNames: the placeholder lists names that nothing newer holds, the most frequent first, so
// many at most, and at most a quarter of the result.
func TestHazardNames(t *testing.T) {
	for _, o := range []rules.Hazard{{}, {Names: 5}, {Names: -1}} {
		a := newTalker()
		a.call("Bash", `{"command":"make"}`, prose(300)+"known_name often_here often_here "+identifiers("frob", 200))
		a.call("Bash", `{"command":"make"}`, "it is known_name")
		a.run(60)
		out := pruned(t, a.parse(t), o)
		_, list, listed := strings.Cut(out, "It named: ")
		list, _, _ = strings.Cut(list, ".")
		most := map[int]int{0: 60, 5: 5, -1: 0}[o.Names]
		if got := strings.Fields(list); listed != (most > 0) || listed && (len(got) != most || got[0] != "often_here" || strings.Contains(list, "known_name")) {
			t.Errorf("%d: %d names: %s", o.Names, len(got), list)
		}
		if _, err := wire.Parse([]byte(out), wire.Options{}); err != nil {
			t.Error(err)
		}
	}
	a := newTalker()
	a.call("Bash", `{"command":"make"}`, prose(20)+identifiers("frob", 60))
	a.run(80)
	out := pruned(t, a.parse(t), rules.Hazard{})
	_, list, _ := strings.Cut(out, "It named: ")
	if list, _, _ = strings.Cut(list, "."); list == "" || len(list) > (20*32+60*8)/4 {
		t.Errorf("%d bytes: %s", len(list), list)
	}
}

// TestHazardTwice: on its own output the rule has nothing to say, and the same history is cleared in
// the same way.
func TestHazardTwice(t *testing.T) {
	a := newTalker()
	for i := range 20 {
		a.call("Bash", `{"command":"make"}`, prose(60)+identifiers(fmt.Sprintf("n%d", i%7), i))
	}
	a.run(30)
	once := pruned(t, a.parse(t), rules.Hazard{})
	if again := pruned(t, a.parse(t), rules.Hazard{}); again != once {
		t.Error("it is not the same again")
	}
	r, err := wire.Parse([]byte(once), wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if twice := pruned(t, r, rules.Hazard{}); twice != once || len(once) >= a.Len() {
		t.Error("a second run finds more")
	}
}

// TestColdWindow: rules for cold moments change nothing at others, what they did stays done, to the
// byte, while the history grows, and a further cold moment only takes more.
func TestColdWindow(t *testing.T) {
	cold := reuseOdds(t, rules.Hazard{})
	a := newTalker()
	before, cleared := "", 0
	for i := 1; i <= 120; i++ {
		a.call("Bash", `{"command":"make"}`, prose(40)+identifiers(fmt.Sprintf("x%d", i), 3))
		r := a.parse(t)
		w := pare.Window{Tokens: 1_000_000, LowPercent: 50, ColdRules: cold, Cold: []int{}}
		moment := false
		for _, at := range []int{11, 31, 80} {
			if i >= at {
				w.Cold = append(w.Cold, 1+2*at)
			}
			moment = moment || i == at
		}
		plan, err := planner.Trim(context.Background(), r, w, pare.Options{Counter: tokens.For("claude-sonnet-4-5")})
		if err != nil {
			t.Fatal(err)
		}
		out, err := plan.Apply()
		if err != nil {
			t.Fatal(err)
		}
		now := string(out)
		n := strings.Count(now, "cleared by hazard")
		switch {
		case len(w.Cold) == 0 && now != string(r.Raw()):
			t.Fatalf("request %d: changed before any cold moment", i)
		case moment && n <= cleared:
			t.Fatalf("request %d: %d cleared at a cold moment, %d before", i, n, cleared)
		case !moment && before != "" && !strings.HasPrefix(now, strings.TrimSuffix(before, "]}")):
			t.Fatalf("request %d does not begin with the one before", i)
		}
		before, cleared = now, n
	}
}

// TestForcedWindow: where a stable window must be trimmed the rules for cold moments go first, with lists
// of names; in between it is left alone, and what they cleared stays cleared.
func TestForcedWindow(t *testing.T) {
	const limit = 12_000
	w := pare.Window{Tokens: limit, LowPercent: 70, ColdRules: reuseOdds(t, rules.Hazard{}), Cold: []int{}}
	a, counter := newTalker(), tokens.For("claude-sonnet-4-5")
	before, cleared, cuts := "", 0, 0
	for i := 1; i <= 120; i++ {
		a.call("Bash", `{"command":"make"}`, prose(40)+identifiers(fmt.Sprintf("x%d", i), 3))
		r := a.parse(t)
		plan, err := planner.Trim(context.Background(), r, w, pare.Options{Counter: counter})
		if err != nil {
			t.Fatal(err)
		}
		now := string(plan.Result().Raw())
		n := strings.Count(now, "cleared by hazard")
		switch {
		case plan.Result().Tokens(counter) > limit:
			t.Fatalf("request %d: %d tokens", i, plan.Result().Tokens(counter))
		case before == "" || strings.HasPrefix(now, strings.TrimSuffix(before, "]}")):
		case n == 0:
			t.Fatalf("request %d: trimmed, and the rules for cold moments had nothing to say", i)
		default:
			cuts++
		}
		before, cleared = now, max(cleared, n)
	}
	if cuts == 0 || cuts > 12 || cleared < 5 {
		t.Errorf("%d cuts, %d results cleared at once", cuts, cleared)
	}
}

// TestColdWindowProtects: what the rules of the window protect stays at cold moments, too.
func TestColdWindowProtects(t *testing.T) {
	a := newTalker()
	a.call("Bash", `{"command":"make"}`, prose(100))
	a.call("Grep", `{"pattern":"x"}`, prose(100))
	a.run(40)
	r := a.parse(t)
	keep, err := rules.Protect{Selection: rules.Selection{Tools: []string{"Grep"}}}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	protects, err := pare.Compile(keep)
	if err != nil {
		t.Fatal(err)
	}
	w := pare.Window{Tokens: 1_000_000, LowPercent: 50, ColdRules: reuseOdds(t, rules.Hazard{}), Cold: []int{len(r.Transcript().Messages())}, Rules: protects}
	plan, err := planner.Trim(context.Background(), r, w, pare.Options{Counter: tokens.For("claude-sonnet-4-5")})
	if err != nil {
		t.Fatal(err)
	}
	out := string(plan.Result().Raw())
	if strings.Count(out, "cleared by hazard") != 1 || strings.Contains(out, "result of Grep") {
		t.Error(out)
	}
	found := false
	for _, c := range plan.Changes() {
		found = found || c.Rule == "hazard" && strings.Contains(c.Reason, "hardly be needed")
	}
	if !found {
		t.Errorf("no receipt says why: %+v", plan.Changes())
	}
}

// TestHazardLinear: time grows with the history, not with its square.
func TestHazardLinear(t *testing.T) {
	trial.Linear(t, "hazard", 3200, func(n int) func() {
		a := newTalker()
		for i := range n {
			a.call("Read", fmt.Sprintf(`{"file_path":"f%d.go"}`, i%50), prose(20)+identifiers(fmt.Sprintf("y%d", i), 20))
		}
		r, p := a.parse(t), reuseOdds(t, rules.Hazard{})
		return func() {
			if _, err := planner.Prune(context.Background(), p, r, pare.Options{}); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestHazardArguments: what was written to a file goes as what was read of it does, but not the name
// of the file.
func TestHazardArguments(t *testing.T) {
	write := fmt.Sprintf(`{"file_path":"a.go","content":%q}`, prose(60))
	a := newTalker()
	a.call("Write", write, "ok")
	a.run(20)
	if out := pruned(t, a.parse(t), rules.Hazard{}); strings.Contains(out, "cleared by hazard") {
		t.Error("the newest text of a file is pinned, whoever wrote it")
	}
	a.run(40)
	if out := pruned(t, a.parse(t), rules.Hazard{}); !strings.Contains(out, "arguments of Write a.go") || !strings.Contains(out, `"file_path":"a.go"`) {
		t.Error(out)
	}
}

// TestWarmWindow: with prices, what will hardly be needed again also goes from a warm cache, but
// seldom, when it pays, and for good.
func TestWarmWindow(t *testing.T) {
	w := pare.Window{Tokens: 1_000_000, LowPercent: 50, ColdRules: reuseOdds(t, rules.Hazard{}), Cache: tokens.CacheOf("claude-sonnet-4-5")}
	a := newTalker()
	before, cleared, cuts := "", 0, 0
	for i := 1; i <= 120; i++ {
		a.call("Bash", `{"command":"make"}`, prose(40)+identifiers(fmt.Sprintf("x%d", i), 3))
		plan, err := planner.Trim(context.Background(), a.parse(t), w, pare.Options{Counter: tokens.For("claude-sonnet-4-5")})
		if err != nil {
			t.Fatal(err)
		}
		now := string(plan.Result().Raw())
		n := strings.Count(now, "cleared by hazard")
		if before != "" && !strings.HasPrefix(now, strings.TrimSuffix(before, "]}")) {
			if cuts++; n <= cleared {
				t.Fatalf("request %d: rewritten for nothing, %d cleared and %d before", i, n, cleared)
			}
		} else if n != cleared {
			t.Fatalf("request %d: %d cleared, %d before, and yet it begins the same", i, n, cleared)
		}
		for _, b := range plan.Batches() {
			if b.Forced || b.Cold || b.PaysAfter > i/4+1 {
				t.Fatalf("request %d: %+v", i, b)
			}
		}
		before, cleared = now, n
	}
	looks := 0 // at most that often is anything decided
	for at := 1; at <= 121; at += max(at/8, 4) {
		looks++
	}
	if cuts == 0 || cuts > looks {
		t.Errorf("%d cuts at %d looks", cuts, looks)
	}
}

// TestColdWindowIsLinear: a stable window that looks at many earlier requests reads the history once.
func TestColdWindowIsLinear(t *testing.T) {
	counter := tokens.For("claude-sonnet-4-5")
	trial.Linear(t, "trim with rules for cold requests", 12_800, func(n int) func() {
		a := newTalker()
		for i := range n {
			a.call("Read", fmt.Sprintf(`{"file_path":"f%d.go"}`, i%50), prose(20)+identifiers(fmt.Sprintf("y%d", i), 20))
		}
		r := a.parse(t)
		w := pare.Window{Tokens: 6000, LowPercent: 50, ColdRules: reuseOdds(t, rules.Hazard{}), Cold: []int{}}
		return func() {
			if _, err := planner.Trim(context.Background(), r, w, pare.Options{Counter: counter, SkipTokenCounts: true}); err != nil {
				t.Error(err)
			}
		}
	})
}
