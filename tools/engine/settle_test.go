package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// voter is a rule whose votes are a function of the transcript.
func voter(name string, after []string, vote func(*pare.Ballot, *transcript.Transcript)) pare.Rule {
	return pare.Rule{Name: name, Doc: name, After: after, Prepare: func(r *wire.Request) (pare.Process, error) {
		return func(b *pare.Ballot) { vote(b, r.Transcript()) }, nil
	}}
}

// talk is a short history in every dialect: three exchanges with texts around them.
func talk(t *testing.T, d wire.Dialect) *wire.Request {
	t.Helper()
	s := histories.MustParse(`user "go" | call a Read x | result a one | call b Read y | result b two | call c Read z | result c three | say "done" | user "thanks"`)
	r, err := wire.Parse(s.Render(d, histories.RenderOptions{}), wire.Options{Dialect: d})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// atom returns the atom of the nth exchange.
func atom(t *transcript.Transcript, n int) transcript.AtomID { return t.AtomOf(t.Exchanges()[n].Call) }

func decide(t *testing.T, r *wire.Request, rules ...pare.Rule) *pare.Plan {
	t.Helper()
	plan, err := planner.Prune(context.Background(), compile(t, rules...), r, pare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// TestSettlement checks that protection beats drops and spreads to needed atoms, that drops spread
// to dependent atoms, and that all reasons are kept.
func TestSettlement(t *testing.T) {
	for _, d := range wire.Dialects() {
		r := talk(t, d)
		tr := r.Transcript()
		a, b, c := atom(tr, 0), atom(tr, 1), atom(tr, 2)
		plan := decide(t, r,
			voter("drops", nil, func(v *pare.Ballot, _ *transcript.Transcript) {
				v.Drop(a, "first")
				v.Drop(a, "again")
				v.Drop(b, "second")
			}),
			voter("keeps", nil, func(v *pare.Ballot, _ *transcript.Transcript) {
				v.Protect(c, "third")
				v.Needs(c, b) // so the second is protected too
			}))
		got := plan.Decisions()
		if got[a].Action != wire.ActionDrop || len(got[a].Reasons) != 2 {
			t.Errorf("%s: first: %+v, want a drop with two reasons", d, got[a])
		}
		if got[b].Action != wire.ActionKeep || !got[b].Protected || got[b].Reasons[0].Via != c {
			t.Errorf("%s: second: %+v, want it protected via the third", d, got[b])
		}
		back := decide(t, r, voter("x", nil, func(v *pare.Ballot, _ *transcript.Transcript) {
			v.Together(a, c)
			v.Drop(a, "first")
		}))
		if got := back.Decisions()[c]; got.Action != wire.ActionDrop || got.Reasons[0].Via != a {
			t.Errorf("%s: third: %+v, want it dropped via the first", d, got)
		}
	}
}

// TestEdits checks that the shortest edit wins, and that protected and dropped atoms are not
// edited.
func TestEdits(t *testing.T) {
	for _, d := range wire.Dialects() {
		r := talk(t, d)
		tr := r.Transcript()
		result := func(n int) transcript.BlockID { return tr.Exchanges()[n].Results[0] }
		plan := decide(t, r, voter("edits", nil, func(v *pare.Ballot, _ *transcript.Transcript) {
			v.Edit(result(0), "a longer text", "long")
			v.Edit(result(0), "short", "short")
			v.Edit(result(1), "never", "protected")
			v.Protect(atom(tr, 1), "kept")
			v.Edit(result(2), "never", "dropped")
			v.Drop(atom(tr, 2), "dropped")
		}))
		body, err := plan.Apply()
		if err != nil {
			t.Fatalf("%s: %v", d, err)
		}
		for text, want := range map[string]bool{"short": true, "a longer text": false, "never": false, "two": true, "three": false} {
			if strings.Contains(string(body), text) != want {
				t.Errorf("%s: %q in the result: %v, want %v\n%s", d, text, !want, want, body)
			}
		}
	}
}

// TestOrder: an order is derived from the constraints and does not depend on how
// the rules were given; a rule sees the votes of those it comes after only.
func TestOrder(t *testing.T) {
	r := talk(t, wire.Anthropic)
	var saw []bool
	first := voter("z-first", nil, func(v *pare.Ballot, tr *transcript.Transcript) { v.Drop(atom(tr, 0), "x") })
	second := voter("m-second", []string{"z-first", "?absent"}, func(v *pare.Ballot, tr *transcript.Transcript) { saw = append(saw, v.Dropped(atom(tr, 0))) })
	other := voter("a-other", nil, func(v *pare.Ballot, tr *transcript.Transcript) { saw = append(saw, v.Dropped(atom(tr, 0))) })
	for _, rules := range [][]pare.Rule{{first, second, other}, {other, second, first}, {second, first, other}} {
		var names []string
		for _, rule := range compile(t, rules...).Rules() {
			names = append(names, rule.Name)
		}
		if want := []string{"a-other", "z-first", "m-second"}; !slices.Equal(names, want) {
			t.Errorf("order %v, want %v", names, want)
		}
	}
	decide(t, r, first, second, other)
	if !slices.Equal(saw, []bool{false, true}) {
		t.Errorf("who saw the drop: %v, want only the rule that comes after it", saw)
	}
}

// TestCompileRefuses checks that rules that cannot run together are an error that names them.
func TestCompileRefuses(t *testing.T) {
	rule := func(name string, change func(*pare.Rule)) pare.Rule {
		r := voter(name, nil, func(*pare.Ballot, *transcript.Transcript) {})
		change(&r)
		return r
	}
	nothing := func(*pare.Rule) {}
	for _, c := range []struct {
		rules []pare.Rule
		want  []string
	}{
		{[]pare.Rule{rule("a", nothing), rule("a", nothing)}, []string{"a"}},
		{[]pare.Rule{rule("", nothing)}, []string{""}},
		{[]pare.Rule{{Name: "a"}}, []string{"a"}},
		{[]pare.Rule{rule("a", func(r *pare.Rule) { r.Before = []string{"b"} })}, []string{"a", "b"}},
		{[]pare.Rule{rule("a", func(r *pare.Rule) { r.Excludes = []string{"b"} }), rule("b", nothing)}, []string{"a", "b"}},
		{[]pare.Rule{
			rule("a", func(r *pare.Rule) { r.After = []string{"b"} }),
			rule("b", func(r *pare.Rule) { r.After = []string{"c"} }),
			rule("c", func(r *pare.Rule) { r.After = []string{"a"} }),
		}, []string{"a", "b", "c"}},
	} {
		_, err := pare.Compile(c.rules...)
		var bad *pare.PipelineError
		if !errors.As(err, &bad) || !slices.Equal(bad.Rules, c.want) {
			t.Errorf("error %v names %v, want %v", err, bad, c.want)
			continue
		}
		for _, name := range c.want {
			if !strings.Contains(err.Error(), name) {
				t.Errorf("error %q does not name %q", err, name)
			}
		}
	}
}

// TestPrepareFails: an error of a rule names it and nothing is changed.
func TestPrepareFails(t *testing.T) {
	p := compile(t, pare.Rule{Name: "sick", Prepare: func(*wire.Request) (pare.Process, error) { return nil, errors.New("no luck") }})
	_, err := planner.Prune(context.Background(), p, talk(t, wire.Gemini), pare.Options{})
	if err == nil || err.Error() != "rule sick: no luck" {
		t.Errorf("error %v", err)
	}
}

// TestEvents: one sink gets every event, in one shape.
func TestEvents(t *testing.T) {
	var types []string
	r, err := pare.Parse([]byte(broken))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := planner.Repair(context.Background(), r, pare.Options{Sink: func(e pare.Event) { types = append(types, string(e.Type)) }})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"tool_pair_repaired", "plan_made"}; !slices.Equal(types, want) || len(plan.Events()) != 2 {
		t.Errorf("events %v, want %v", types, want)
	}
}
