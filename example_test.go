package pare_test

import (
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

// Repair puts in a result that says that the outcome is unknown; what the user said
// stays.
func ExampleRepair() {
	r, _ := pare.Parse([]byte(broken))
	plan, err := pare.Repair(r, pare.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(plan)
	body, err := plan.Apply()
	fmt.Println(len(body) > len(broken), err)
	// Output:
	// insert  messages.1.content.0         orphan-call: a stub: The outcome of this call is unknown: no result was recorded.
	// true <nil>
}

// The standard rules clear what the history can do without. Nothing to do gives back
// the very same bytes.
func ExamplePipeline_Plan() {
	p, err := pare.Compile(rules.Standard()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	body := []byte(`{"model":"gpt-5","messages":[{"role":"user","content":"hello"}]}`)
	r, _ := pare.Parse(body)
	plan, err := p.Plan(r, pare.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	out, _ := plan.Apply()
	fmt.Println(plan.Empty(), &out[0] == &body[0])
	// Output: true true
}

// A rule of one's own votes on atoms, so it cannot break a pair: dropping a call
// drops its result.
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
	plan, _ := p.Plan(r, pare.Options{})
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
