package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/wire"
)

// eachTalk has a read, a failed command, a refused permission, and an unanswered call.
const eachTalk = `user "fix it" | call r1 Read path=a.go limit=3 | result r1 package a
call b1 Bash {"command":"go test"} | fail b1 exit status 1
say "hm" | user "and now?" | call w1 Write path=a.go | result w1 "The user doesn't want to proceed with this tool use."
say "I see." | user "go on" | call r2 Read path=b.go | result r2 package b | call r3 Read path=c.go`

// eachPlan lets one function vote on eachTalk.
func eachPlan(t *testing.T, d wire.Dialect, vote func(pare.Exchange) pare.Vote) (*wire.Request, *pare.Plan) {
	t.Helper()
	r, err := wire.Parse(histories.MustParse(eachTalk).Render(d, histories.RenderOptions{}), wire.Options{Dialect: d})
	if err != nil {
		t.Fatal(err)
	}
	p := pare.Policy{Rules: compile(t, pare.Each("mine", "a rule of mine", vote)), Repair: wire.Repair{Open: true}}
	plan, err := p.Plan(context.Background(), r)
	if err != nil {
		t.Fatalf("%s: %v", d, err)
	}
	return r, plan
}

// TestEachSees: in every dialect the function sees the same complete exchanges, and not the
// call that may still be running.
func TestEachSees(t *testing.T) {
	want := []string{
		`Read path="a.go" limit="3" "package a" succeeded age 2 last false`,
		`Bash path="" limit="" "exit status 1" failed age 2 last true`,
		`Write path="a.go" limit="" "The user doesn't want to proceed with this tool use." succeeded age 1 last true`,
		`Read path="b.go" limit="" "package b" succeeded age 0 last false`,
	}
	for _, d := range wire.Dialects() {
		var got []string
		_, plan := eachPlan(t, d, func(x pare.Exchange) pare.Vote {
			if !strings.Contains(string(x.Arguments), x.Argument("path")) {
				t.Errorf("%s: arguments %s do not hold the path %s", d, x.Arguments, x.Argument("path"))
			}
			got = append(got, fmt.Sprintf("%s path=%q limit=%q %q %s age %d last %v", x.Tool, x.Argument("path"), x.Argument("limit"), x.Result, x.Outcome, x.Age, x.Last))
			return pare.Vote{}
		})
		if !slices.Equal(got, want) {
			t.Errorf("%s: the rule saw\n%s\nwant\n%s", d, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if !plan.Empty() {
			t.Errorf("%s: a vote without an opinion changed something:\n%s", d, plan)
		}
	}
}

// TestEachVotes checks each kind of vote in every dialect.
func TestEachVotes(t *testing.T) {
	for _, d := range wire.Dialects() {
		r, plan := eachPlan(t, d, func(x pare.Exchange) pare.Vote {
			switch x.Argument("path") {
			case "a.go":
				return pare.Vote{Drop: true, Replace: "never", Why: "it is old"}
			case "b.go":
				return pare.Vote{Replace: "[short]"}
			}
			return pare.Vote{Protect: true, Drop: true}
		})
		kept := complete(plan.Result())
		want := []string{"Bash exit status 1", "Write The user doesn't want to proceed with this tool use.", "Read [short]"}
		if !slices.Equal(kept, want) {
			t.Errorf("%s: kept %q, want %q", d, kept, want)
		}
		reasons := map[string]bool{}
		for _, c := range plan.Changes() {
			reasons[c.Rule+": "+c.Reason] = true
		}
		if !reasons["mine: it is old"] || !reasons["mine: a rule of mine"] {
			t.Errorf("%s: the plan gives the reasons %v", d, reasons)
		}
		if len(complete(r)) != 4 {
			t.Errorf("%s: planning changed the request", d)
		}
	}
}

// complete lists tool and result of the exchanges that have both.
func complete(r *wire.Request) (all []string) {
	for _, x := range r.Transcript().Exchanges() {
		if len(x.Results) == 1 {
			all = append(all, x.Tool+" "+r.Text(x.Results[0]))
		}
	}
	return all
}

// TestEachProtects checks that no other rule drops an exchange that a function protects.
func TestEachProtects(t *testing.T) {
	for _, d := range wire.Dialects() {
		r := talk(t, d)
		keep := pare.Each("keep", "keep y", func(x pare.Exchange) pare.Vote { return pare.Vote{Protect: x.Argument("path") == "y"} })
		drop := pare.Each("drop", "drop all", func(pare.Exchange) pare.Vote { return pare.Vote{Drop: true} })
		p := pare.Policy{Rules: compile(t, keep, drop)}
		plan, err := p.Plan(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		if got := complete(plan.Result()); !slices.Equal(got, []string{"Read two"}) {
			t.Errorf("%s: %q is left", d, got)
		}
	}
}

// TestEachPanics: a function that panics is an error which names the rule, and its votes do
// not count where failed rules are skipped.
func TestEachPanics(t *testing.T) {
	r := talk(t, wire.Anthropic)
	bad := pare.Each("bad", "drop, then panic", func(x pare.Exchange) pare.Vote {
		if x.Argument("path") == "z" {
			panic("boom")
		}
		return pare.Vote{Drop: true}
	})
	p := pare.Policy{Rules: compile(t, bad)}
	var fault *pare.FaultError
	if _, err := p.Plan(context.Background(), r); !errors.As(err, &fault) || !strings.Contains(err.Error(), "rule bad") {
		t.Errorf("the error is %v", err)
	}
	p.SkipFailedRules = true
	plan, err := p.Plan(context.Background(), r)
	if err != nil || !plan.Empty() || len(plan.Faults()) != 1 {
		t.Errorf("skipped, it leaves %v, %v", plan, err)
	}
}

// TestEachByHand: a function can be tested with an exchange that is written by hand.
func TestEachByHand(t *testing.T) {
	x := pare.Exchange{Tool: "Read", Arguments: []byte(`{"path":"a\u002ego","lines":[1,2],"path2":7}`)}
	for name, want := range map[string]string{"path": "a.go", "lines": "[1,2]", "path2": "7", "none": ""} {
		if got := x.Argument(name); got != want {
			t.Errorf("argument %s is %q, want %q", name, got, want)
		}
	}
	for _, args := range []string{"", "plain text", `[{"path":1}]`, `{"path":`, `{`} {
		x.Arguments = []byte(args)
		if got := x.Argument("path"); got != "" {
			t.Errorf("arguments %q have a path, %q", args, got)
		}
	}
}
