package engine

import (
	"context"
	"reflect"
	"sync"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/internal/plain"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// TestReceiptsDoNotDependOnSink checks that receipts do not depend on a sink.
func TestReceiptsDoNotDependOnSink(t *testing.T) {
	standard, err := pare.Compile(rules.Standard()...)
	if err != nil {
		t.Fatal(err)
	}
	for _, shape := range benchdata.Shapes {
		body := benchdata.Dense(shape, 226_000) // rules find nothing in it
		r := mustParse(t, body)
		most := r.Tokens(tokens.For(r.Model())) / 3
		for name, p := range map[string]*pare.Policy{
			"repair": {}, "prune": {Rules: standard}, "trim": {Window: &pare.Window{Tokens: most}},
			"both": {Rules: standard, Window: &pare.Window{Tokens: most}}, "uncounted": {Window: &pare.Window{Tokens: most}, SkipTokenCounts: true},
		} {
			later, err := p.Plan(context.Background(), mustParse(t, body))
			if err != nil {
				t.Fatal(err)
			}
			var heard []pare.Event
			p.Sink = func(e pare.Event) { heard = append(heard, e) }
			now, err := p.Plan(context.Background(), mustParse(t, body))
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() {
					if i%2 == 0 && !reflect.DeepEqual(later.Events(), heard) {
						t.Errorf("%v, %s: %v when asked, %v at once", shape, name, later.Events(), heard)
					}
					if i%2 == 1 && !reflect.DeepEqual(later.Changes(), now.Changes()) {
						t.Errorf("%v, %s: %v when asked, %v at once", shape, name, later.Changes(), now.Changes())
					}
				})
			}
			wg.Wait()
			if now.Empty() != (name == "repair" || name == "prune") {
				t.Errorf("%v, %s: changes: %d", shape, name, len(now.Changes()))
			}
		}
	}
}

// TestReceiptLinesAreJSON checks that a receipt line is the JSON of the change.
func TestReceiptLinesAreJSON(t *testing.T) {
	odd := []string{"", "plain", "tab\t", "a\"b", `a\b`, "<&>", "caf\u00e9", "\u2028", "\x7f", "\xff", "\u202e", "a longer text", "a longer tex\t", "a\"longer text", "eight by", "eight b\n"}
	var all []wire.Change
	var lines []byte
	for i, s := range odd {
		for _, ids := range [][]string{nil, {}, {"toolu_1"}, {"a", s}} {
			c := wire.Change{Action: "drop", Rule: odd[(i+1)%len(odd)], Path: "messages.1", IDs: ids, Reason: s, Tokens: -i, Bytes: i * 1000}
			want, err := plain.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, '\n')
			if got, err := planner.ReceiptLines(c); err != nil || string(got) != string(want) {
				t.Errorf("%s %v, want %s", got, err, want)
			}
			all, lines = append(all, c, c), append(append(lines, want...), want...)
		}
	}
	if got, err := planner.ReceiptLines(all...); err != nil || string(got) != string(lines) {
		t.Errorf("%s %v, want %s", got, err, lines)
	}
}

// TestReceiptsOfWhatIsNew checks that content that a repair put in, and a window took out again,
// has no receipt.
func TestReceiptsOfWhatIsNew(t *testing.T) {
	for content, gone := range map[string]int{``: 2, `"content":"",`: 3} {
		r := mustParse(t, []byte(`{"model":"gpt-5","messages":[{"role":"user","content":"task"},{"role":"assistant",`+content+`"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"r"},{"role":"assistant","content":"a"},{"role":"user","content":"n"}]}`))
		plan, err := (&pare.Policy{Check: wire.CheckOptions{Strict: true}, Window: &pare.Window{Messages: 4}}).Plan(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		var dropped []string
		for _, c := range plan.Changes() {
			if c.Action == "drop" {
				dropped = append(dropped, c.Path)
			}
		}
		if len(dropped) != gone {
			t.Errorf("content %q: dropped %v", content, dropped)
		}
	}
}
