package rules_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// guided returns a history in which five tools show long texts that an agent works by, each with a word
// of its own in the middle, before and after long results of other kinds.
func guided(t *testing.T) (r *wire.Request, guides []string) {
	t.Helper()
	a, long := newTalker(), strings.Repeat("some plain words about nothing.\n", 250)
	for i := range 5 {
		a.call("exec", fmt.Sprintf(`{"cmd":"make part%d"}`, i), long+others[i]+" "+long)
	}
	for i, x := range []struct{ tool, args, head string }{
		{"exec", `{"cmd":"cat skills/a/SKILL.md"}`, ""},
		{"write_stdin", `{"session_id":7,"chars":""}`, "---\nname: pdf\ndescription: Reads PDF files.\n---\n"},
		{"Read", `{"file_path":"/app/CLAUDE.md"}`, ""},
		{"Read", `{"file_path":"/home/ada/.claude/plans/calm.md"}`, ""},
		{"Bash", `{"command":"gh issue view 3"}`, ""},
	} {
		word := []string{"apple", "banana", "cherry", "damson", "elder"}[i]
		a.call(x.tool, x.args, x.head+long+word+" "+long)
		guides = append(guides, word)
	}
	a.run(60)
	return a.parse(t), guides
}

// others are words of the other results; names would be listed.
var others = []string{"walnut", "xenon", "yellow", "zebra", "violet"}

// countWords counts the words that a text has.
func countWords(text string, words []string) (n int) {
	for _, word := range words {
		if strings.Contains(text, word) {
			n++
		}
	}
	return n
}

// TestGuidanceIsNotCutOnArrivalOrAtColdMoments: other results of the same tools are.
func TestGuidanceIsNotCutOnArrivalOrAtColdMoments(t *testing.T) {
	arrival, err := rules.Oversized{Arrival: true}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	cold, err := rules.Hazard{}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range []pare.Rule{arrival, cold} {
		r, guides := guided(t)
		p, err := pare.Compile(rule)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := planner.Prune(context.Background(), p, r, pare.Options{})
		if err != nil {
			t.Fatal(err)
		}
		out := string(plan.Result().Raw())
		if n := countWords(out, guides); n != len(guides) {
			t.Errorf("%s: %d of %d texts that the agent works by are whole", rule.Name, n, len(guides))
		}
		if n := countWords(out, others); n > 0 {
			t.Errorf("%s: %d other results are whole", rule.Name, n)
		}
	}
}

// TestForcedWindowClearsGuidanceLast: a window that has room for it keeps it when other results go.
func TestForcedWindowClearsGuidanceLast(t *testing.T) {
	r, guides := guided(t)
	counter := tokens.For("claude-sonnet-4-5")
	size := r.Tokens(counter)
	for _, c := range []struct{ percent, least, most int }{{60, 5, 5}, {20, 0, 2}} {
		plan, err := planner.Trim(context.Background(), r, pare.Window{Tokens: size * c.percent / 100}, pare.Options{Counter: counter})
		if err != nil {
			t.Fatal(err)
		}
		if n := countWords(string(plan.Result().Raw()), guides); n < c.least || n > c.most {
			t.Errorf("with %d %% of the room %d texts that the agent works by are whole", c.percent, n)
		}
	}
}
