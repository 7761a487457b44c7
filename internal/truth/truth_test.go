package truth

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/oracle"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/summary"
	"github.com/pare-llm/pare/wire"
)

// histories is how many histories are tried.
func histories() int { return trial.Histories(800) }

// everything reports whether known failures are reported, too: PARE_TRUTH=all.
func everything() bool { return os.Getenv("PARE_TRUTH") == "all" }

// A history is a random body, mixed or plain, broken or whole.
func history(seed uint64) (wire.Dialect, []byte, string) {
	rnd := rand.New(rand.NewPCG(seed, 11))
	all := wire.Dialects()
	d := all[rnd.IntN(len(all))]
	breaks := rnd.IntN(4)
	if seed%4 == 0 {
		s := paretest.Random(seed, paretest.GenOptions{})
		var did []string
		for range breaks {
			s, did = paretest.Break(rnd, s)
		}
		return d, mark(s.Render(d, paretest.RenderOptions{NoIDs: rnd.IntN(3) == 0})), fmt.Sprint("random ", did)
	}
	body, did := paretest.Mixed(seed, d, paretest.MixOptions{Breaks: breaks, Escapes: rnd.IntN(4) == 0})
	return d, mark(body), fmt.Sprint("mixed ", did)
}

// mark puts a marker into every leaf.
func mark(body []byte) []byte {
	marked, err := paretest.Mark(body)
	if err != nil {
		panic(err) // what paretest makes is JSON
	}
	return marked
}

// A command is something that is done to a request.
type command struct {
	name   string
	policy func(r *wire.Request, rnd *rand.Rand) *pare.Policy
}

func commands(tb testing.TB) []command {
	standard, err := pare.Compile(rules.Standard()...)
	if err != nil {
		tb.Fatal(err)
	}
	window := func(w func(r *wire.Request, rnd *rand.Rand) pare.Window) func(*wire.Request, *rand.Rand) *pare.Policy {
		return func(r *wire.Request, rnd *rand.Rand) *pare.Policy {
			one := w(r, rnd)
			return &pare.Policy{Window: &one}
		}
	}
	messages := func(r *wire.Request) int { return len(r.Transcript().Messages()) }
	return []command{
		{"fix", func(*wire.Request, *rand.Rand) *pare.Policy { return &pare.Policy{} }},
		{"fix --strict", func(*wire.Request, *rand.Rand) *pare.Policy {
			return &pare.Policy{Check: wire.CheckOptions{Strict: true}}
		}},
		{"prune", func(*wire.Request, *rand.Rand) *pare.Policy { return &pare.Policy{Rules: standard} }},
		{"trim --max-messages", window(func(r *wire.Request, rnd *rand.Rand) pare.Window {
			return pare.Window{Messages: 1 + rnd.IntN(messages(r)+1)}
		})},
		{"trim --max-exchanges", window(func(r *wire.Request, rnd *rand.Rand) pare.Window { return pare.Window{Exchanges: 1 + rnd.IntN(4)} })},
		{"trim --max-turns", window(func(r *wire.Request, rnd *rand.Rand) pare.Window { return pare.Window{Turns: 1 + rnd.IntN(3)} })},
		{"trim --max-tokens", window(func(r *wire.Request, rnd *rand.Rand) pare.Window {
			return pare.Window{Tokens: 1 + len(r.Raw())/4*(10+rnd.IntN(100))/100}
		})},
		{"compact", func(r *wire.Request, rnd *rand.Rand) *pare.Policy {
			return &pare.Policy{Compact: &pare.Compactor{Summarize: summary.Extract(summary.ExtractOptions{}), MinKeep: 1 + rnd.IntN(3), Inside: rnd.IntN(2) == 0}}
		}},
	}
}

// carryOut plans a command, or returns nil if there is no such plan: the window is too
// small, there is nothing to compact.
func carryOut(tb testing.TB, c command, r *wire.Request, seed uint64) *pare.Plan {
	plan, err := c.policy(r, rand.New(rand.NewPCG(seed, 13))).Plan(context.Background(), r)
	var small *pare.WindowTooSmall
	var compaction *pare.CompactionError
	switch {
	case errors.As(err, &small), errors.As(err, &compaction):
		return nil
	case err != nil:
		tb.Fatalf("seed %d, %s: %v\n%s", seed, c.name, err, r.Raw())
	}
	return plan
}

// clears reports whether a change takes words out and says so: the rules and the rungs
// that put a placeholder, a shorter text or a summary in the place of something.
func clears(c wire.Change) bool {
	return c.Action == "edit" && slices.Contains(clearing, c.Rule)
}

var clearing = func() []string {
	all := []string{"clear-results", "shorten", "squeeze"}
	for _, r := range rules.Standard() {
		all = append(all, r.Name)
	}
	return all
}()

// A class is what failures of one kind have in common.
type class struct {
	name     string
	count    int
	commands map[string]bool
	dialect  wire.Dialect
	command  command
	seed     uint64
	body     []byte // the smallest that failed so
}

// A tally counts failures by class and keeps the smallest of each.
type tally map[string]*class

func (t tally) add(name string, d wire.Dialect, c command, seed uint64, body []byte) {
	k := t[name]
	if k == nil {
		k = &class{name: name, commands: map[string]bool{}}
		t[name] = k
	}
	k.commands[c.name] = true
	if k.count++; k.count == 1 || len(body) < len(k.body) {
		k.dialect, k.command, k.seed, k.body = d, c, seed, body
	}
}

// A judge names what is wrong with a plan, by class; none if nothing is.
type judge func(d wire.Dialect, in *wire.Request, plan *pare.Plan) []string

// judged runs a command on a body and returns the classes of what is wrong.
func judged(tb testing.TB, j judge, d wire.Dialect, body []byte, c command, seed uint64) ([]string, *pare.Plan) {
	r, err := wire.Parse(body, wire.Options{Dialect: d})
	if err != nil {
		return nil, nil // only while a body is shrunk
	}
	plan := carryOut(tb, c, r, seed)
	if plan == nil {
		return nil, nil
	}
	return j(d, r, plan), plan
}

// try judges all commands on all histories.
func try(t *testing.T, j judge) {
	t.Parallel()
	found := tally{}
	changed, all := 0, commands(t)
	for i := range histories() {
		seed := uint64(i)
		d, body, _ := history(seed)
		for _, c := range all {
			classes, plan := judged(t, j, d, body, c, seed)
			if plan != nil && !plan.Empty() {
				changed++
			}
			for _, name := range classes {
				found.add(name, d, c, seed, body)
			}
		}
	}
	t.Logf("%d histories, %d times changed", histories(), changed)
	if changed < histories() {
		t.Errorf("only %d of %d were changed: the histories are too tame", changed, histories())
	}
	found.report(t, j)
}

// report shrinks an example of each class that is not known and prints it.
func (t tally) report(tb testing.TB, j judge) {
	tb.Helper()
	knows := map[string]int{}
	for name, k := range t {
		for _, row := range known {
			if row.class.MatchString(name) && !everything() {
				knows[row.name] += k.count
				delete(t, name)
				break
			}
		}
	}
	for _, row := range known {
		if n := knows[row.name]; n > 0 {
			tb.Logf("known: %s, %d times", row.name, n)
		}
	}
	for _, k := range slices.SortedFunc(maps.Values(t), func(a, b *class) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.name, b.name))
	}) {
		fails := func(body []byte) bool {
			classes, _ := judged(tb, j, k.dialect, body, k.command, k.seed)
			return slices.Contains(classes, k.name)
		}
		small := paretest.Shrink(k.body, fails)
		_, plan := judged(tb, j, k.dialect, small, k.command, k.seed)
		tb.Errorf("%d × %s\ncommands: %s\nseed %d, %s, %s:\n%s\nplan:\n%s", k.count, k.name, strings.Join(slices.Sorted(maps.Keys(k.commands)), ", "), k.seed, k.dialect, k.command.name, small, plan)
	}
}

// TestLeaves: every leaf is in the output or lies under a change that says it is gone.
func TestLeaves(t *testing.T) {
	try(t, func(d wire.Dialect, in *wire.Request, plan *pare.Plan) []string {
		var all []string
		for _, l := range paretest.Lost(paretest.Leaves(in.Raw()), plan.Result().Raw(), plan.Changes(), clears) {
			all = append(all, fmt.Sprintf("%s: %s by %q", d, l.Kind, l.By))
		}
		return all
	})
}

// TestTrail: every receipt leads to something in the input, or is about something new.
func TestTrail(t *testing.T) {
	try(t, func(d wire.Dialect, in *wire.Request, plan *pare.Plan) []string {
		var all []string
		for _, c := range paretest.Unresolved(in.Raw(), plan.Changes()) {
			where := "a path that is not there"
			if c.Path == "" {
				where = "no path"
			}
			all = append(all, fmt.Sprintf("%s: %s %s has %s", d, c.Action, c.Rule, where))
		}
		return all
	})
}

// TestWhole: what the provider takes, by its documentation, has no finding.
func TestWhole(t *testing.T) {
	t.Parallel()
	found := tally{}
	judgeWhole := func(d wire.Dialect, in *wire.Request, _ *pare.Plan) []string {
		var all []string
		for _, f := range in.Check(wire.CheckOptions{}) {
			all = append(all, fmt.Sprintf("%s: %s in a whole history", d, f.Rule))
		}
		return all
	}
	fix := commands(t)[0]
	for i := range histories() {
		d := wire.Dialects()[i%len(wire.Dialects())]
		body, _ := paretest.Mixed(uint64(i), d, paretest.MixOptions{Escapes: i%3 == 0})
		classes, _ := judged(t, judgeWhole, d, body, fix, uint64(i))
		for _, name := range classes {
			found.add(name, d, fix, uint64(i), body)
		}
	}
	found.report(t, judgeWhole)
}

// pairSlugs are the findings that are about pairs.
var pairSlugs = []string{"orphan-call", "orphan-result", "displaced-result", "duplicate-result", "duplicate-call-id", "server-tool-unpaired", "result-wrong-role", "call-wrong-role", "split-results"}

// TestOracle: the oracle and the check agree about the pairs of what goes in, and the
// oracle has nothing against the pairs of what comes out.
func TestOracle(t *testing.T) {
	try(t, func(d wire.Dialect, in *wire.Request, plan *pare.Plan) []string {
		var all []string
		before, err := oracle.Judge(d.String(), in.Raw())
		if err != nil {
			return nil
		}
		found := in.Check(wire.CheckOptions{})
		if len(before) > 0 && len(found) == 0 {
			all = append(all, fmt.Sprintf("%s: the check is clean, the oracle says %s", d, before[0].Kind))
		}
		if len(before) == 0 {
			for _, f := range found {
				if slices.Contains(pairSlugs, f.Rule) {
					all = append(all, fmt.Sprintf("%s: the check says %s, the oracle nothing", d, f.Rule))
				}
			}
		}
		after, err := oracle.Judge(d.String(), plan.Result().Raw())
		if err == nil && len(after) > 0 && len(plan.Left()) == 0 {
			all = append(all, fmt.Sprintf("%s: the oracle says %s of the output", d, after[0].Kind))
		}
		return all
	})
}

// TestEdits: the edits of a plan, applied to the input by nothing but cutting and joining,
// give the output.
func TestEdits(t *testing.T) {
	try(t, func(d wire.Dialect, in *wire.Request, plan *pare.Plan) []string {
		var out []byte
		raw, last := in.Raw(), 0
		for _, e := range plan.Edits() {
			if e.Start < last || e.End < e.Start || e.End > len(raw) {
				return []string{fmt.Sprintf("%s: edits that are not in order", d)}
			}
			out = append(append(out, raw[last:e.Start]...), e.New...)
			last = e.End
		}
		out = append(out, raw[last:]...)
		if !bytes.Equal(out, plan.Result().Raw()) {
			return []string{fmt.Sprintf("%s: the edits give other bytes", d)}
		}
		return nil
	})
}
