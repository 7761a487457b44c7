package config

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/wire"
)

const planned = `user "go" | call p1 Read PLAN.md | result p1 "the plan" | call a1 Edit a.go new=1 | result a1 "edited a" | call b1 Edit b.go new=1 | result b1 "edited b" | say "done" | user "and now?"`

// TestConstraints wants what a constraint says to hold in every dialect, whatever the
// other rules vote for.
func TestConstraints(t *testing.T) {
	rule := func(name, when, action string) string {
		return fmt.Sprintf("[[expression]]\nname = '%s'\nwhen = '%s'\naction = '%s'\n", name, when, action)
	}
	const needs = "[[constraint]]\nname = 'plan'\nkeep = { tools = ['Edit'] }\nneeds = { paths = ['PLAN.md'] }\n"
	const together = "[[constraint]]\nname = 'edits'\ntogether = { tools = ['Edit'] }\n"
	dropPlan, dropA := rule("x", `path == "PLAN.md"`, "drop"), rule("y", `path == "a.go"`, "drop")
	for _, c := range []struct{ what, file, stays, goes string }{
		{"without a constraint", dropPlan, "edited a, edited b", "the plan"},
		{"what needs the plan goes with it", needs + dropPlan, "", "the plan, edited a, edited b"},
		{"what is protected keeps what it needs", needs + dropPlan + rule("z", `path == "b.go"`, "protect"), "the plan, edited a, edited b", ""},
		{"nothing needs an edit", needs + dropA, "the plan, edited b", "edited a"},
		{"switched off", needs + "enabled = false\n" + dropPlan, "edited a, edited b", "the plan"},
		{"one fate: all go", together + dropA, "the plan", "edited a, edited b"},
		{"one fate: all stay", together + dropA + rule("z", `path == "b.go"`, "protect"), "the plan, edited a, edited b", ""},
		{"by a condition", "[[constraint]]\nname = 'c'\nkeep = { when = 'path == \"b.go\"' }\nneeds = { when = 'path == \"a.go\"' }\n" + dropA, "the plan", "edited a, edited b"},
		{"by a condition or a tool", "[[constraint]]\nname = 'c'\ntogether = { when = 'path == \"b.go\"', tools = ['read'] }\n" + dropPlan, "edited a", "the plan, edited b"},
		{"by a role", "[[constraint]]\nname = 'c'\nkeep = { roles = ['user'] }\nneeds = { paths = ['PLAN.md'] }\n[pin]\nfirst_user = true\n" + dropPlan, "the plan, edited a, edited b", ""},
	} {
		conf := mustParse(t, "pare.toml", "keep_recent = 0\n"+order(c.file))
		checkGood(t, conf)
		for _, d := range wire.Dialects() {
			out := string(result(t, conf, histories.MustParse(planned).Render(d, histories.RenderOptions{})))
			for _, text := range strings.Split(c.stays, ", ") {
				if !strings.Contains(out, text) {
					t.Errorf("%s: %s: %q is gone", d, c.what, text)
				}
			}
			for _, text := range strings.Split(c.goes, ", ") {
				if text != "" && strings.Contains(out, text) {
					t.Errorf("%s: %s: %q is still there", d, c.what, text)
				}
			}
		}
	}
}

// order puts the table pin in front of lists of tables, as it reads best.
func order(file string) string {
	head, pin, ok := strings.Cut(file, "[pin]\n")
	if !ok {
		return file
	}
	line, rest, _ := strings.Cut(pin, "\n")
	return "[pin]\n" + line + "\n" + head + rest
}

// TestConstraintInAWindow wants a window to let go together what belongs together.
func TestConstraintInAWindow(t *testing.T) {
	conf := mustParse(t, "pare.toml", "keep_recent = 0\n[[constraint]]\nname = 'edits'\ntogether = { tools = ['Edit'] }\n")
	p, err := conf.Pipeline()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range wire.Dialects() {
		r := parse(t, histories.MustParse(planned).Render(d, histories.RenderOptions{}))
		for limit := 1; limit <= 3; limit++ {
			plan, err := planner.Trim(context.Background(), r, pare.Window{Exchanges: limit, Rules: p}, pare.Options{})
			if err != nil {
				t.Fatal(err)
			}
			out := string(plan.Result().Raw())
			if a, b := strings.Contains(out, "edited a"), strings.Contains(out, "edited b"); a != b {
				t.Errorf("%s: %d exchanges: one of two that belong together is gone: a %t, b %t", d, limit, a, b)
			}
		}
	}
}

// TestConstraintBounded wants a constraint that ties everything to everything to be
// refused, and one that ties all to one to be cheap.
func TestConstraintBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString(`user "go"`)
	for i := range 2_000 {
		fmt.Fprintf(&b, ` | call c%d Bash command=%d | result c%d ok`, i, i, i)
	}
	r := parse(t, histories.MustParse(b.String()).Render(wire.Anthropic, histories.RenderOptions{}))
	for keep, refused := range map[string]bool{"tools = ['Bash']": true, "first_user = true": false} {
		conf := mustParse(t, "pare.toml", "[[constraint]]\nname = 'a'\nkeep = { "+keep+" }\nneeds = { tools = ['Bash'] }\n")
		p, err := conf.Pipeline()
		if err != nil {
			t.Fatal(err)
		}
		_, err = planner.Prune(context.Background(), p, r, pare.Options{})
		var many *TiesError
		if errors.As(err, &many) != refused || err != nil && !refused {
			t.Errorf("%s: %v", keep, err)
		}
	}
	all := mustParse(t, "pare.toml", "[[constraint]]\nname = 'a'\ntogether = { tools = ['*'] }\n")
	p, _ := all.Pipeline()
	if _, err := planner.Prune(context.Background(), p, r, pare.Options{}); err != nil {
		t.Errorf("a fate of thousands: %v", err)
	}
}
