package rules_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/wire"
)

// arrivals is a growing history: so many exchanges, in which long and short results alternate.
func arrivals(n int, model string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `{"model":%q,"max_tokens":100,"messages":[{"role":"user","content":"go"}`, model)
	for i := range n {
		said := strings.Repeat(fmt.Sprintf("ok case_%d\\n", i), 30+i%4*400)
		command := []string{"make test", "cat a.go"}[i%8/4]
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"thinking","thinking":"hm %d","signature":"c2ln"},{"type":"tool_use","id":"c%d","name":"Bash","input":{"command":%q}}]}`, i, i, command)
		fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":"%s"}]}`, i, said)
	}
	b.WriteString("]}")
	return []byte(b.String())
}

type kept map[string]archive.Item

func (k kept) Put(_ context.Context, items ...archive.Item) error {
	for _, i := range items {
		k[i.ID] = i
	}
	return nil
}

// arriving is a policy that shortens what arrives, beside the standard rules.
func arriving(t *testing.T, w *pare.Window, keeper pare.ArchiveWriter) *pare.Policy {
	rule, err := rules.Oversized{Arrival: true}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	p, err := pare.Compile(append(rules.Standard(), rule)...)
	if err != nil {
		t.Fatal(err)
	}
	return &pare.Policy{Rules: p, Window: w, Archive: keeper}
}

// TestArrival: a result is shortened in the first request that has it and in the same way in all
// that follow, however recent or old it is, in a window or not; what shows a file is left alone, and
// the whole is in the archive under the name that is left.
func TestArrival(t *testing.T) {
	for name, w := range map[string]*pare.Window{"no window": nil, "a window that all fits": {Tokens: 1 << 20, Low: 1 << 19}, "no low mark": {Tokens: 1 << 20}} {
		k := make(kept)
		before := ""
		for n := 1; n <= 12; n++ {
			r, err := pare.Parse(arrivals(n, "claude-sonnet-4-5"))
			if err != nil {
				t.Fatal(err)
			}
			p := arriving(t, w, k)
			if w == nil {
				p.Rules = planner.Arriving(p.Rules) // the others vote on what is old
			}
			plan, err := p.Plan(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			body, err := plan.Apply()
			if err != nil {
				t.Fatal(err)
			}
			got := strings.TrimSuffix(string(body), "]}")
			if !strings.HasPrefix(got, before) {
				t.Fatalf("%s, request %d does not begin with what was sent before", name, n)
			}
			before = got
			if shortened := strings.Count(got, "left out here by oversized"); shortened != n/8*3+min(n%8, 4)-min(n%8, 1) {
				t.Errorf("%s, request %d: %d are shortened", name, n, shortened)
			}
			if thoughts := strings.Count(got, `"thinking":"hm`); thoughts != n {
				t.Errorf("%s, request %d: %d thoughts", name, n, thoughts)
			}
		}
		if len(k) != 6 {
			t.Errorf("%s: %d items are kept", name, len(k))
		}
		for id, item := range k {
			if !item.Genuine() || !strings.Contains(before, "; pare recall "+id+" prints it") {
				t.Errorf("%s: nothing names %s", name, id)
			}
		}
	}
}

// TestArrivalProtects: what a rule protects stays as it is.
func TestArrivalProtects(t *testing.T) {
	first, _ := rules.Oversized{Arrival: true}.Rule()
	hold, _ := rules.Protect{Selection: rules.Selection{Tools: []string{"Bash"}}}.Rule()
	p, err := pare.Compile(first, hold)
	if err != nil {
		t.Fatal(err)
	}
	r, err := pare.Parse(arrivals(4, "claude-sonnet-4-5"))
	if err != nil {
		t.Fatal(err)
	}
	if plan, err := (&pare.Policy{Rules: p}).Plan(t.Context(), r); err != nil || !plan.Empty() {
		t.Errorf("%v, %v", plan, err)
	}
}

// TestArrivalBoundThinking: thinking that a model binds to what stands in front of it is bound to what was
// sent, so it stays.
func TestArrivalBoundThinking(t *testing.T) {
	body := arrivals(6, "claude-fable-5-1")
	r, err := wire.Parse(body, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !dialect.BindsThinking(&r.Profile) {
		t.Fatal("the model does not bind thinking")
	}
	plan, err := arriving(t, &pare.Window{Tokens: 1 << 20, Low: 1 << 19}, nil).Plan(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(plan.Result().Raw()); strings.Count(got, `"thinking":"hm`) != 6 || !strings.Contains(got, "left out here") {
		t.Error(got)
	}
}
