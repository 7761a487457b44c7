package engine

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/jsontree"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/wire"
)

// A peerCase is an input on which a well-known repairer loses a user's message,
// throws away a real result, invents a call, or gives a result to another call.
type peerCase struct {
	input, peer, theirs string
	script              string
	user                []string // what users say
	pairs               []string // argument of a call, and what must answer it
	stray               string   // a result that must not answer anything
	byID                bool     // only ids tell what answers what
}

const unknown = wording.Stub

var peerCases = []peerCase{
	{
		input: "calls a and b, a user message, result a", peer: "LiteLLM", theirs: "the user's message disappears",
		script: `user "go" | call a Read one | call b Read two | user "and mind the tests" | result a out-one`,
		user:   []string{"go", "and mind the tests"}, pairs: []string{"one", "out-one", "two", unknown},
	},
	{
		input: "call a, assistant text, late result a", peer: "LiteLLM", theirs: "the real result is thrown away for a stub",
		script: `user "go" | call a Read one | say "I wait." | result a out-one`,
		user:   []string{"go"}, pairs: []string{"one", "out-one"},
	},
	{
		input: "three unanswered calls", peer: "LiteLLM", theirs: "the order of the stubs differs between processes",
		script: `user "go" | call a Read one | call b Read two | call c Read three | user "well?"`,
		user:   []string{"go", "well?"}, pairs: []string{"one", unknown, "two", unknown, "three", unknown},
	},
	{
		input: "call a, user text, model text, late result a", peer: "gemini-cli", theirs: "says the result was lost, and invents a second call for it",
		script: `user "go" | call a Read one | user "wait" | say "I wait." | result a out-one | user "well?"`,
		user:   []string{"go", "wait", "well?"}, pairs: []string{"one", "out-one"},
	},
	{
		input: "two results for one call", peer: "gemini-cli", theirs: "passes them both",
		script: `user "go" | call a Read one | result a "aborted" | result a out-one | user "well?"`,
		user:   []string{"go", "well?"}, pairs: []string{"one", "out-one"},
	},
	{
		input: "a stray result and result b, for calls a and b", peer: "Roo", theirs: "the stray becomes the answer to a",
		script: `user "go" | call a Read one | call b Read two | orphan z9 from-another-turn | result b out-two | user "well?"`,
		user:   []string{"go", "well?", "from-another-turn"}, pairs: []string{"one", unknown, "two", "out-two"}, stray: "from-another-turn", byID: true,
	},
	{
		input: "call a, user text, late result a", peer: "Strands", theirs: "a stub and the real one: two results for one call",
		script: `user "go" | call a Read one | user "wait" | result a out-one`,
		user:   []string{"go", "wait"}, pairs: []string{"one", "out-one"},
	},
	{
		input: "an orphan result in the middle", peer: "Strands", theirs: "left in place",
		script: `user "go" | say "s" | user "n" | orphan z9 from-nowhere | say "s2" | user "well?"`,
		user:   []string{"go", "n", "well?", "from-nowhere"}, stray: "from-nowhere",
	},
}

// peerBodies renders a case in all dialects and for all models.
func (c peerCase) bodies() (names []string, ds []wire.Dialect, bodies [][]byte) {
	s := histories.MustParse(c.script)
	add := func(name string, d wire.Dialect, o histories.RenderOptions) {
		names, ds, bodies = append(names, name), append(ds, d), append(bodies, s.Render(d, o))
	}
	if !c.byID {
		add("gemini, no ids", wire.Gemini, histories.RenderOptions{Model: "gemini-2.5-pro", NoIDs: true})
	}
	for _, d := range wire.Dialects() {
		add(d.String(), d, histories.RenderOptions{})
		add(d.String()+", a bare list, indented", d, histories.RenderOptions{Bare: true, Spelling: jsontree.Spelling{Indent: "\t"}})
		for _, m := range models[d] {
			if m != "" {
				add(d.String()+", "+m, d, histories.RenderOptions{Model: m})
			}
		}
	}
	return names, ds, bodies
}

// outcome is the result of the operations of a scenario.
func (c peerCase) outcome(t testing.TB, d wire.Dialect, body []byte) (said []string, problems []string) {
	r, err := wire.Parse(body, wire.Options{Dialect: d})
	if err != nil {
		return nil, []string{err.Error()}
	}
	plan, err := planner.Repair(context.Background(), r, pare.Options{})
	if err != nil {
		return nil, []string{err.Error()}
	}
	out, err := plan.Apply()
	if err != nil {
		problems = append(problems, err.Error())
		out = plan.Result().Raw()
	}
	in, us := utterances(t, d, body), utterances(t, d, out)
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	for _, s := range c.user {
		if !holds(heard(us, "user"), s) {
			wrong("the user's %q is lost", s)
		}
	}
	said = append(said, "every word of the user kept")
	real, stubs := 0, 0
	for i := 0; i < len(c.pairs); i += 2 {
		got := answerTo(us, c.pairs[i])
		switch {
		case len(got) != 1 || got[0] != c.pairs[i+1]:
			wrong("call %s is answered by %q, want %q", c.pairs[i], got, c.pairs[i+1])
		case got[0] == unknown:
			stubs++
		default:
			real++
		}
	}
	if real > 0 {
		said = append(said, fmt.Sprintf("%d real %s with its own call", real, map[bool]string{true: "result", false: "results"}[real == 1]))
	}
	if stubs > 0 {
		said = append(said, fmt.Sprintf("%d %s: outcome unknown", stubs, map[bool]string{true: "stub", false: "stubs"}[stubs == 1]))
	}
	if c.stray != "" {
		if holds(heard(us, "result"), c.stray) {
			wrong("the stray result is given as an answer")
		}
		said = append(said, "the stray quoted as text")
	}
	// No call is invented, none is lost.
	if a, b := heard(in, "call"), heard(us, "call"); !slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))) {
		wrong("calls %q become %q", a, b)
	}
	if a, b := len(heard(us, "call")), len(heard(us, "result")); a != b {
		wrong("%d calls and %d results", a, b)
	}
	for _, s := range heard(us, "assistant") {
		if !slices.Contains(heard(in, "assistant"), s) && s != "." {
			wrong("%q is put into the assistant's mouth", s)
		}
	}
	return said, problems
}

// TestPeers: ours keeps all of it, in every dialect.
func TestPeers(t *testing.T) {
	var table strings.Builder
	table.WriteString("| input | what a peer does | what pare does |\n| --- | --- | --- |\n")
	for _, c := range peerCases {
		var all []string
		t.Run(c.input, func(t *testing.T) {
			names, ds, bodies := c.bodies()
			for i, body := range bodies {
				t.Run(names[i], func(t *testing.T) {
					said, problems := c.outcome(t, ds[i], body)
					for _, p := range problems {
						t.Error(p)
					}
					us, plan := sound(t, "repair", ds[i], body)
					if holds(c.pairs, unknown) && !strings.HasSuffix(names[i], "no ids") {
						// The stubs stand in the order of their calls.
						var stubbed, order []string
						for _, u := range us {
							if u.who == "call" {
								order = append(order, u.id)
							}
							if u.who == "result" && u.text == unknown {
								stubbed = append(stubbed, u.id)
							}
						}
						order = slices.DeleteFunc(order, func(id string) bool { return !slices.Contains(stubbed, id) })
						if !slices.Equal(order, stubbed) {
							t.Errorf("stubs for %q, calls in the order %q", stubbed, order)
						}
					}
					if t.Failed() {
						t.Logf("in  %s\nout %s\n%s", body, plan.Result().Raw(), plan)
					} else if s := strings.Join(said, "; "); !slices.Contains(all, s) {
						all = append(all, s)
					}
				})
			}
		})
		fmt.Fprintf(&table, "| %s | %s: %s | %s |\n", c.input, c.peer, c.theirs, strings.Join(all, " / "))
	}
	t.Logf("\n%s", table.String())
}

const peersChild = "PARE_PEERS_CHILD"

// TestPeersAcrossProcesses: the same history gives the same bytes in every process.
func TestPeersAcrossProcesses(t *testing.T) {
	if os.Getenv(peersChild) != "" {
		for _, c := range peerCases {
			_, ds, bodies := c.bodies()
			for i, body := range bodies {
				r, err := wire.Parse(body, wire.Options{Dialect: ds[i]})
				if err != nil {
					t.Fatal(err)
				}
				plan, err := planner.Repair(context.Background(), r, pare.Options{})
				if err != nil {
					t.Fatal(err)
				}
				fmt.Printf("%s\n%s", plan.Result().Raw(), plan)
			}
		}
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var first []byte
	for range 3 {
		cmd := exec.Command(exe, "-test.run=^TestPeersAcrossProcesses$", "-test.count=1")
		cmd.Env = append(os.Environ(), peersChild+"=1")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		out, _, _ = bytes.Cut(out, []byte("\nPASS"))
		switch {
		case len(out) < 1000:
			t.Fatalf("the child says %q", out)
		case first == nil:
			first = out
		case !bytes.Equal(first, out):
			t.Fatal("two processes give different bytes")
		}
	}
}

// The eight inputs on which well-known repairers lose or invent something.
func Example_peers() {
	for _, c := range peerCases {
		all := make(map[string]bool)
		for _, d := range wire.Dialects() {
			said, problems := c.outcome(&testing.B{}, d, histories.MustParse(c.script).Render(d, histories.RenderOptions{}))
			all[strings.Join(append(said, problems...), "; ")] = true
		}
		for s := range all {
			fmt.Printf("%s:\n  %s\n", c.input, s)
		}
	}
	// Output:
	// calls a and b, a user message, result a:
	//   every word of the user kept; 1 real result with its own call; 1 stub: outcome unknown
	// call a, assistant text, late result a:
	//   every word of the user kept; 1 real result with its own call
	// three unanswered calls:
	//   every word of the user kept; 3 stubs: outcome unknown
	// call a, user text, model text, late result a:
	//   every word of the user kept; 1 real result with its own call
	// two results for one call:
	//   every word of the user kept; 1 real result with its own call
	// a stray result and result b, for calls a and b:
	//   every word of the user kept; 1 real result with its own call; 1 stub: outcome unknown; the stray quoted as text
	// call a, user text, late result a:
	//   every word of the user kept; 1 real result with its own call
	// an orphan result in the middle:
	//   every word of the user kept; the stray quoted as text
}
