package picture

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/wire"
)

const talk = `{"messages":[{"role":"user","content":"go 🚀"},
{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"g","arguments":"{}"}}]},
{"role":"tool","tool_call_id":"c1","content":"ok"},{"role":"user","content":"and?"}]}`

func parse(t *testing.T, body string) *wire.Request {
	t.Helper()
	r, err := wire.Parse([]byte(body), wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestExcerptShowsBothHalvesOfAPair(t *testing.T) {
	r := parse(t, talk)
	findings := r.Check(wire.CheckOptions{})
	if len(findings) != 1 {
		t.Fatalf("%d findings", len(findings))
	}
	for _, c := range []struct {
		most int
		line func(int) int
		want string
	}{
		{4, nil, `
      0  user       “go 🚀”
    ▶ 1  assistant  call f(c1)  ✗ call g(c2)
                                ╰─ call c2 ──✗ no result follows
      2  tool       result ← c1
`},
		{2, func(m int) int { return 10 * (m + 1) }, `
      10  user       “go 🚀”
    ▶ 20  assistant  call f(c1)  ✗ call g(c2)
                                 ╰─ call c2 ──✗ no result follows
`},
	} {
		var b bytes.Buffer
		NewFindingExcerpt(Style{Width: 80}, r, findings, c.most, c.line).Draw(&b)
		if got := b.String(); got != c.want {
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		}
	}
}

func TestLargePlanIsRenderedInLinearTime(t *testing.T) {
	for name, call := range map[string]string{"ids": `{"id":"c %d",`, "no ids": `{`} {
		trial.Linear(t, name, 4000, func(n int) func() {
			var calls, results []string
			for i := range n {
				calls = append(calls, strings.ReplaceAll(call, "%d", fmt.Sprint(i))+`"type":"function","function":{"name":"f","arguments":"{}"}}`)
				results = append(results, fmt.Sprintf(`{"role":"tool","tool_call_id":"c %d","content":"r"}`, i))
			}
			r := parse(t, `{"model":"mistral-large-latest","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"","tool_calls":[`+strings.Join(calls, ",")+`]},`+strings.Join(results, ",")+`]}`)
			plan, err := planner.Repair(context.Background(), r, pare.Options{})
			if err != nil || len(plan.Changes()) < n {
				t.Fatal(err, len(plan.Changes()))
			}
			return func() { Plan{Style: Style{Width: 80}, Request: r, Plan: plan}.Render("-") }
		})
	}
}

func TestExcerptsFitTheWidth(t *testing.T) {
	long := strings.Repeat("wide 日本語 ✅ ", 100)
	r := parse(t, `{"model":"claude-opus-4-8","messages":[{"role":"user","content":[`+strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"`+long+`"},`, 80), ",")+`]}]}`)
	for _, width := range []int{60, 80, 110} {
		var b bytes.Buffer
		NewExcerpt(Style{Width: width}, r.Transcript(), -1, nil).DrawEnds(&b, 0, 1, 1)
		for line := range strings.Lines(b.String()) {
			if n := screen.Columns(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("%d columns of %d: %s", n, width, line)
			}
		}
		if !strings.Contains(b.String(), "more") {
			t.Errorf("it says nothing of what is left out: %s", b.String())
		}
	}
}

func TestTextStartReadsAFewBytes(t *testing.T) {
	r := parse(t, `{"messages":[{"role":"user","content":"one\n\ttwo \u001b[31m`+strings.Repeat("é", 1000)+`"}]}`)
	got := TextStart(r.Transcript(), r.Transcript().Block(0).Body, 10)
	if !strings.HasPrefix(got, "one two ·[31mé") || len(got) > 100 {
		t.Errorf("%q", got)
	}
}

func TestEqualChangesAreOneEntry(t *testing.T) {
	var all []agentlog.Change
	for line := range 9 {
		change := agentlog.Change{Change: wire.Change{Action: wire.ActionDrop, Rule: "drop-turns", Reason: "a turn", Bytes: -10}, Line: line + 3}
		if line >= 6 {
			change.Reason = "another"
		}
		all = append(all, change)
	}
	var b bytes.Buffer
	Style{Width: 80, Paint: screen.Palette(false)}.WriteChanges(&b, SessionName{Shown: "s.jsonl"}, all)
	one := func(line int) string {
		return fmt.Sprintf("s.jsonl:%d: drop  drop-turns  -10 bytes\n    another\n", line)
	}
	want := "s.jsonl:3–8: drop  drop-turns ×6  -60 bytes\n    a turn\n" + one(9) + one(10) + one(11)
	if got := b.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
