package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

const talk = `
system "be brief"
user "fix it" | call r1 Read path=a.go offset=3 | result r1 package a
call b1 Bash {"command":"go test","n":{"deep":true},"list":[1,2]} | fail b1 exit status 1
say "hm" | user "and now?" | call g1 Grep pattern=x path=docs/b.md | call r2 Read path=b_test.go
result g1 "one match, and a long tail of words that nobody reads" | result r2 ok
user "go on" | call w1 Write path=a.go content=new | result w1 ok
`

// chosen returns the numbers of the exchanges for which an expression holds.
func chosen(t *testing.T, r *wire.Request, when string) ([]int, error) {
	t.Helper()
	p, refused := compile(when)
	if refused != nil {
		t.Fatalf("%s: %s; %s", when, refused.message, refused.hint)
	}
	w := newWalker(p, "x", r, nil)
	var out []int
	for i := range r.Transcript().Exchanges() {
		yes, err := w.holds(i)
		if err != nil {
			return nil, err
		}
		if yes {
			out = append(out, i)
		}
	}
	return out, nil
}

// TestExpressions runs every expression in every dialect: what it chooses is the
// same in all of them.
func TestExpressions(t *testing.T) {
	for _, c := range []struct {
		when string
		want string
	}{
		{`true`, "[0 1 2 3 4]"},
		{`tool == "Read"`, "[0 3]"},
		{`tool in ["Read", "Write"]`, "[0 3 4]"},
		{`tool matches "^(Re|Wr)"`, "[0 3 4]"},
		{`not (tool matches "^R") and not failed`, "[2 4]"},
		{`kind == "read"`, "[0 3]"},
		{`kind == "search" or kind == "run"`, "[1 2]"},
		{`path endsWith "_test.go"`, "[3]"},
		{`path == "a.go"`, "[0 4]"},
		{`path == ""`, "[1]"},
		{`path startsWith "docs/"`, "[2]"},
		{`failed`, "[1]"},
		{`age == 0`, "[4]"},
		{`age == 1`, "[2 3]"},
		{`age >= 2`, "[0 1]"},
		{`index < 2`, "[0 1]"},
		{`last`, "[1 2 3 4]"},
		{`args.path == "a.go"`, "[0 4]"},
		{`args.offset == 3`, ""},
		{`arg("offset") == "3"`, "[0]"},
		{`int(args.offset ?? 0) + 1 == 4`, "[0]"},
		{`args["command"] contains "test"`, "[1]"},
		{`args.n?.deep == true`, "[1]"},
		{`arg("n") contains "deep"`, "[1]"},
		{`2 in (args.list ?? [])`, "[1]"},
		{`"command" in args`, "[1]"},
		{`args.command matches "^go"`, "[1]"},
		{`result contains "match"`, "[2]"},
		{`len(result) > 40`, "[2]"},
		{`lower(result) == "ok"`, "[3 4]"},
		{`result matches "(?i)EXIT STATUS [0-9]"`, "[1]"},
		{`state == "whole"`, "[0 1 2 3 4]"},
		{`server`, "[]"},
		{`tokens >= 0 and size > 0 and args_size > 0`, "[0 1 2 3 4]"},
		{`dialect == "none"`, "[]"},
		{`age_messages > 1000`, "[]"},
		{`tool == "Read" ? age > 1 : false`, "[0]"},
		{`max(size, args_size) >= min(size, args_size)`, "[0 1 2 3 4]"},
	} {
		for _, d := range wire.Dialects() {
			r := parse(t, histories.MustParse(talk).Render(d, histories.RenderOptions{}))
			got, err := chosen(t, r, c.when)
			if err != nil {
				t.Errorf("%s: %s: %v", d, c.when, err)
				continue
			}
			if c.want != "" && fmt.Sprint(got) != c.want {
				t.Errorf("%s: %s holds for %v, want %s", d, c.when, got, c.want)
			}
		}
	}
}

func parse(t testing.TB, body []byte) *wire.Request {
	t.Helper()
	r, err := pare.Parse(body)
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	return r
}

// TestExpressionFails wants an error that names rule and exchange, and a history
// that is as it was.
func TestExpressionFails(t *testing.T) {
	for when, want := range map[string]string{
		`args.n.deep == true`:             "rule x: exchange 0 (Read at messages.1.content.0): cannot fetch deep from <nil>",
		`int(args.command ?? "1") > 0`:    `rule x: exchange 1 (Bash at messages.3.content.0): invalid operation: int(go test)`,
		`args.n matches "x"`:              "rule x: exchange 1 (Bash at messages.3.content.0): matches looks at texts, and this is map[string]interface {}",
		`args.list[7] == 1 and true`:      "rule x: exchange 0 (Read at messages.1.content.0): cannot fetch 7 from <nil>",
		`index % (index - 2) == 0`:        "rule x: exchange 2 (Grep at messages.7.content.0): runtime error: integer divide by zero",
		`args.command ? true : age == 99`: "rule x: exchange 0 (Read at messages.1.content.0): interface conversion: interface {} is nil, not bool",
	} {
		body := histories.MustParse(talk).Render(wire.Anthropic, histories.RenderOptions{})
		before := bytes.Clone(body)
		c := &Config{Expressions: []Expression{{Name: "x", When: when, Action: "drop"}}}
		p, err := c.Pipeline()
		if err != nil {
			t.Errorf("%s: %v", when, err)
			continue
		}
		plan, err := planner.Prune(context.Background(), p, parse(t, body), pare.Options{})
		var eval *EvalError
		if plan != nil || !errors.As(err, &eval) || eval.Rule != "x" {
			t.Errorf("%s: want an error and no plan, got %v", when, err)
			continue
		}
		if !strings.HasPrefix(err.Error(), want) && err.Error() != want {
			t.Errorf("%s:\n got %s\nwant %s", when, err, want)
		}
		if !bytes.Equal(before, body) {
			t.Errorf("%s: the history was changed", when)
		}
	}
}

// TestHostileExpressions wants every one refused or stopped at once.
func TestHostileExpressions(t *testing.T) {
	long := strings.Repeat("a", 1_000_000)
	body := fmt.Sprintf(`{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"x"},
		{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Bash","input":{"a":%q}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":%q}]}]}`, long, long)
	r := parse(t, []byte(body))
	for _, c := range []struct{ when, want string }{
		{`repeat("a", 1000000000) == ""`, "refused"},
		{`repeat(repeat("a", 1000), 1000000) != result`, "refused"},
		{`len(map(1..1000000, map(1..1000000, # * 2))) > 0`, "refused"},
		{`args.list | map(# * 2) | len() > 0`, "refused"},
		{`reduce(1..1000000, #acc + #, 0) > 0`, "refused"},
		{`all(1..1000000, any(1..1000000, # > 0))`, "refused"},
		{`sum(1..1000000000) > 0`, "refused"},
		{`len(1..1000000000) > 0`, "refused"},
		{`3 in 1..1000000000`, "refused"},
		{`len(` + strings.Repeat(`result + `, 100) + `result) > 0`, "refused"},
		{`args.a + args.a == ""`, "refused"},
		{`let a = result; let b = [a,a,a,a]; len(b) > 0`, "refused"},
		{`replace(result, "", result) != ""`, "refused"},
		{`len(split(result, "")) > 0`, "refused"},
		{`toJSON(args) != ""`, "refused"},
		{`now() > now()`, "refused"},
		{`$env == 1`, "refused"},
		{strings.Repeat("(", 2000) + "true" + strings.Repeat(")", 2000), "ran"},
		{strings.Repeat("(", 100_000) + "true" + strings.Repeat(")", 100_000), "refused"},
		{strings.Repeat("[", 4000), "refused"},
		{strings.Repeat("not ", 1000) + "true", "refused"},
		{strings.Repeat("true and ", 400) + "true", "refused"},
		{`result matches "(a*)*b"`, "ran"},
		{`result matches "((a{0,20}){0,20}){0,20}b"`, "refused"},
		{`result matches "a{1000}{1000}"`, "refused"},
		{`result matches "(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)[^a]$"`, "stopped"},
		{`size < 100000 and result matches "(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)[^a]$"`, "ran"},
		{strings.Repeat(`result matches "(a*)*b" or `, 30) + "false", "stopped"},
		{`arg("a") matches result`, "refused"},
		{`lower(upper(lower(upper(lower(upper(result)))))) == ""`, "ran"},
		{`[result, result] == [args.a, args.a]`, "ran"},
		{`9 ** 9 ** 9 ** 9 > 1`, "ran"},
		{`9223372036854775807 + 1 > 0`, "ran"},
		{"tool == \"\x00\xff\"", "ran"},
		{`args.a.b.c.d.e == 1`, "stopped"},
		{`args.a[99999999] == "a"`, "stopped"},
	} {
		p, refused := compile(c.when)
		got := "refused"
		var why error
		if refused == nil {
			got = "ran"
			if _, why = newWalker(p, "x", r, nil).holds(0); why != nil {
				got = "stopped"
			}
		}
		if got != c.want {
			t.Errorf("%.60q %s, want %s: %v", c.when, got, c.want, why)
		}
	}
}

// TestExpressionRules runs random expression rules over random histories, whole and
// broken, in every dialect: whatever they choose, the output is clean, a second run
// finds nothing to do, and what is protected stays.
func TestExpressionRules(t *testing.T) {
	whens := []string{
		`true`, `failed`, `age > 0`, `tool == "Read"`, `size > 20`, `index % 2 == 0`, `not last`, `path endsWith ".go"`, `result contains "a"`, `tokens > 5 and age_messages > 2`,
	}
	for seed := range uint64(trial.Size(120)) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		script := histories.Random(seed, histories.GenOptions{})
		if seed%2 == 1 {
			script, _ = histories.Break(rnd, script)
		}
		recent := rnd.IntN(4)
		c := &Config{KeepRecent: &recent}
		for i := range 1 + rnd.IntN(3) {
			zero := rnd.IntN(10)
			e := Expression{Name: fmt.Sprintf("e%d", i), When: whens[rnd.IntN(len(whens))], Action: []string{"drop", "clear", "shorten", "protect"}[rnd.IntN(4)], KeepLast: rnd.IntN(3)}
			if e.Action == "shorten" {
				e.Head, e.Tail = &zero, &zero
			}
			if e.Action == "clear" {
				e.Part = []string{"result", "arguments", "both"}[rnd.IntN(3)]
			}
			c.Expressions = append(c.Expressions, e)
		}
		p, err := c.Pipeline()
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range wire.Dialects() {
			checkRun(t, seed, c, p, script.Render(d, histories.RenderOptions{}))
		}
	}
}

func checkRun(t *testing.T, seed uint64, c *Config, p *pare.Pipeline, body []byte) {
	t.Helper()
	plan, err := planner.Prune(context.Background(), p, parse(t, body), pare.Options{})
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
		return
	}
	out, err := plan.Apply()
	if err != nil {
		t.Errorf("seed %d: %v\n%s", seed, err, plan)
		return
	}
	if found := parse(t, out).Check(wire.CheckOptions{}); len(found) > 0 {
		t.Errorf("seed %d: %v", seed, found[0])
	}
	for _, d := range plan.Decisions() {
		if d.Protected && d.Action != wire.ActionKeep {
			t.Errorf("seed %d: atom %d is protected and %s", seed, d.Atom, d.Action)
		}
	}
	again, err := planner.Prune(context.Background(), p, parse(t, bytes.Clone(body)), pare.Options{})
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
		return
	}
	if same, _ := again.Apply(); !bytes.Equal(same, out) {
		t.Errorf("seed %d: two runs differ", seed)
	}
}

// TestTwice wants clearing and shortening to find nothing to do in their own output.
func TestTwice(t *testing.T) {
	few := 8
	for _, e := range []Expression{
		{Action: "clear"}, {Action: "clear", Part: "arguments"}, {Action: "clear", Part: "both"}, {Action: "shorten", Head: &few, Tail: &few},
	} {
		e.Name, e.When = "x", "true"
		zero := 0
		c := &Config{KeepRecent: &zero, Expressions: []Expression{e}}
		p, err := c.Pipeline()
		if err != nil {
			t.Fatal(err)
		}
		long := strings.Repeat("wörds ", 200)
		script := histories.MustParse(fmt.Sprintf("user \"x\" | call a Bash {\"command\":%q} | result a %q | user \"y\"", long, long))
		for _, d := range wire.Dialects() {
			body := script.Render(d, histories.RenderOptions{})
			once := result(t, c, body)
			if len(once) >= len(body)-1000 {
				t.Errorf("%s: %s %s: %d bytes become %d", d, e.Action, e.Part, len(body), len(once))
			}
			plan, err := planner.Prune(context.Background(), p, parse(t, once), pare.Options{})
			if err != nil || !plan.Empty() {
				t.Errorf("%s: %s %s: not done the first time: %v\n%s", d, e.Action, e.Part, err, plan)
			}
		}
	}
}

func TestShorten(t *testing.T) {
	for _, s := range []string{"", "short", strings.Repeat("x", 900), strings.Repeat("äöü", 500), strings.Repeat("👩‍👩‍👧‍👦", 50)} {
		for head := range 9 {
			tail := 5
			e := Expression{Name: "x", Head: &head, Tail: &tail}
			x := transcript.Exchange{CallID: strings.Repeat("é", head*50)}
			once := e.shorten(s, x)
			if len(once) > len(s) || once != strings.ToValidUTF8(once, "?") {
				t.Errorf("%q becomes %q", s, once)
			}
			if twice := e.shorten(once, x); twice != once {
				t.Errorf("%q becomes %q the second time", once, twice)
			}
		}
	}
}
