package pare_test

import (
	"context"
	"fmt"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// broken is a history whose first call nobody answered.
const broken = `{"model":"claude-sonnet-4-5","messages":[
{"role":"user","content":"list the files"},
{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}]},
{"role":"user","content":"never mind, just say hello"}]}`

// A history is checked against the rules of the provider that its model belongs to.
func ExampleParse() {
	r, err := pare.Parse([]byte(broken))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range r.Check(wire.CheckOptions{}) {
		fmt.Println(f.Rule, "at", f.Path)
	}
	// Output: orphan-call at messages.1.content.0
}

// The zero policy repairs. An unanswered call gets a result that says that the outcome is
// unknown, or goes away if the policy says so.
func ExamplePolicy_repair() {
	r, err := pare.Parse([]byte(broken))
	if err != nil {
		fmt.Println(err)
		return
	}
	policy := pare.Policy{Repair: wire.Repair{OrphanCall: wire.RemedyDrop}}
	plan, err := policy.Plan(context.Background(), r)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(plan)
	// Output: drop    messages.1.content.0         orphan-call: a tool call without a result
}

// The standard rules clear what the history can do without. Where there is nothing to
// do, the very same bytes come back.
func ExamplePolicy_rules() {
	standard, err := pare.Compile(rules.Standard()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	body := []byte(`{"model":"gpt-5","messages":[{"role":"user","content":"hello"}]}`)
	r, err := pare.Parse(body)
	if err != nil {
		fmt.Println(err)
		return
	}
	policy := pare.Policy{Rules: standard}
	plan, err := policy.Plan(context.Background(), r)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := plan.Apply()
	fmt.Println(plan.Empty(), &out[0] == &body[0], err)
	// Output: true true <nil>
}

// A rule of five lines: what is said about one exchange is said about all of them.
func ExampleEach() {
	listings := pare.Each("listings", "a listing that nobody needs any more", func(x pare.Exchange) pare.Vote {
		return pare.Vote{Drop: x.Tool == "Bash" && x.Argument("command") == "ls" && x.Age > 0}
	})
	mine, err := pare.Compile(listings)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := pare.Parse([]byte(`{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"list the files"},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"a.go"}]},` +
		`{"role":"assistant","content":"There is one."},{"role":"user","content":"thanks"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	policy := pare.Policy{Rules: mine}
	plan, err := policy.Plan(context.Background(), r)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(plan)
	// Output:
	// drop    messages.1.content.0         listings: a listing that nobody needs any more
	// drop    messages.2.content.0         listings: a listing that nobody needs any more
}

// A rule with a Prepare of its own may look at the whole history. It votes on atoms, so it
// cannot break a pair: dropping a call drops its result.
func ExampleRule() {
	noBash := pare.Rule{
		Name: "no-bash",
		Doc:  "drop shell calls",
		Prepare: func(r *wire.Request) (pare.Process, error) {
			t := r.Transcript()
			return func(b *pare.Ballot) {
				for _, x := range t.Exchanges() {
					if x.Tool == "Bash" && x.State == transcript.Whole {
						b.Drop(t.AtomOf(x.Call), "a shell call")
					}
				}
			}, nil
		},
	}
	p, _ := pare.Compile(noBash)
	r, _ := pare.Parse([]byte(`{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"list the files"},` +
		`{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"a.go"},{"type":"text","text":"thanks"}]}]}`))
	policy := pare.Policy{Rules: p}
	plan, _ := policy.Plan(context.Background(), r)
	body, err := plan.Apply()
	fmt.Println(string(body), err)
	// Output: {"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"list the files"},{"role":"assistant","content":[{"type":"text","text":"I look."}]},{"role":"user","content":[{"type":"text","text":"thanks"}]}]} <nil>
}

// Compile refuses rules that cannot run together, and names them.
func ExampleCompile() {
	rule := func(name string, after ...string) pare.Rule {
		return pare.Rule{Name: name, After: after, Prepare: func(*wire.Request) (pare.Process, error) { return nil, nil }}
	}
	_, err := pare.Compile(rule("a", "b"), rule("b", "a"))
	fmt.Println(err)
	_, err = pare.Compile(rule("a", "c"))
	fmt.Println(err)
	// Output:
	// compile rules: rules wait for each other in a circle: a → b → a
	// compile rules: rule "a" wants to run after "c", which is not in the pipeline; the rules are a
}

// DropOrphans is the smallest thing: it drops the halves of pairs and nothing else.
func ExampleDropOrphans() {
	r, _ := pare.Parse([]byte(broken))
	_, removed, event, err := pare.DropOrphans(r)
	fmt.Println(removed[0].Kind, removed[0].Path, event.Type, err)
	// Output: orphan_tool_call messages.1.content.0 tool_pair_pruned <nil>
}
