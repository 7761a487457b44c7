package dialect_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/dialect"
)

const (
	userTask      = `{"role":"user","content":"task"}`
	program       = `{"type":"program","id":"prog_1","call_id":"p1","code":"f()","fingerprint":"z"}`
	programOutput = `{"type":"program_output","id":"po_1","call_id":"p1","result":"done","status":"completed"}`
	programCall   = `{"type":"function_call","call_id":"c1","name":"f","arguments":"{}","caller":{"type":"program","caller_id":"p1"}}`
	programResult = `{"type":"function_call_output","call_id":"c1","output":"r1","caller":{"type":"program","caller_id":"p1"}}`
)

func items(all ...string) string {
	return `{"model":"gpt-5.6","input":[` + strings.Join(all, ",") + `]}`
}

// The provider runs programs, and the client answers what they call: while that goes on, a
// program has no output, and is no call that nobody answered.
func TestDefectP22Programs(t *testing.T) {
	long := strings.Repeat("p", 70)
	for _, d := range []defect{
		{name: "running", body: items(userTask, program, programCall, programResult)},
		{name: "running, two calls", body: items(userTask, program, programCall, programResult, strings.ReplaceAll(programCall, "c1", "c2"), strings.ReplaceAll(programResult, "c1", "c2"))},
		{name: "ended", body: items(userTask, program, programCall, programResult, programOutput)},
		{name: "running, a call without output", body: items(userTask, program, programCall), found: []string{"orphan-call"},
			keeps: []string{program, programCall, `"type":"function_call_output","call_id":"c1"`, `"caller":{"type":"program","caller_id":"p1"}}]`}},
		{name: "given up", body: items(userTask, program, programCall, programResult, `{"role":"user","content":"next"}`), found: []string{"orphan-call"},
			keeps: []string{`{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}`, `{"type":"function_call_output","call_id":"c1","output":"r1"}`}, loses: []string{program, "caller"}},
		{name: "called nothing", body: items(userTask, program, `{"role":"user","content":"next"}`), found: []string{"orphan-call"}, loses: []string{"prog_1"}},
		{name: "another id", body: strings.ReplaceAll(items(userTask, program, programCall, programResult, programOutput), `"p1"`, `"`+long+`"`), found: []string{"call-id-format", "call-id-format"},
			loses: []string{long}},
	} {
		d.run(t)
	}
}

// The code of a program is no JSON, and nobody wants it to be: it has no arguments.
func TestProgramsCodeIsFree(t *testing.T) {
	for _, o := range []struct {
		profile string
		strict  bool
	}{{"", true}, {"other", false}} {
		body := items(userTask, program, programCall, programResult, programOutput)
		r, err := dialect.Parse([]byte(body), dialect.Options{Profile: o.profile})
		if err != nil {
			t.Fatal(err)
		}
		m, err := dialect.RepairRequest(r, dialect.Repair{}, dialect.CheckOptions{Strict: o.strict})
		if err != nil || len(m.Found) > 0 || string(m.Request.Raw()) != body {
			t.Errorf("%+v: %v, found %v: %s", o, err, m.Found, m.Request.Raw())
		}
	}
}

// A program and what it called are one thing, and so are a search that the provider ran
// and what it found.
func TestDefectP13ItemsTogether(t *testing.T) {
	search := func(id string) string {
		return `{"type":"tool_search_call","call_id":` + id + `,"execution":"server","status":"completed","arguments":{"query":"x"}}`
	}
	found := func(id string) string {
		return `{"type":"tool_search_output","call_id":` + id + `,"execution":"server","status":"completed","tools":[{"type":"function","name":"g"}]}`
	}
	for name, c := range map[string]struct {
		items []string
		atoms [][]int // of messages
	}{
		"a program":             {[]string{userTask, program, programCall, programResult, programOutput}, [][]int{{0}, {1, 2, 3, 4}}},
		"a program of the past": {[]string{userTask, programCall, programResult}, [][]int{{0}, {1, 2}}},
		"a search":              {[]string{userTask, search("null"), found("null")}, [][]int{{0}, {1, 2}}},
		"two searches":          {[]string{userTask, search("null"), found("null"), search("null"), found("null")}, [][]int{{0}, {1, 2}, {3, 4}}},
		"two at once":           {[]string{userTask, search(`"a"`), search(`"b"`), found(`"b"`), found(`"a"`)}, [][]int{{0}, {1, 4}, {2, 3}}},
		"an output alone":       {[]string{userTask, found("null"), search("null")}, [][]int{{0}, {1}, {2}}},
	} {
		r, err := dialect.Parse([]byte(items(c.items...)), dialect.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got [][]int
		for _, a := range r.Transcript().Atoms() {
			var in []int
			for _, b := range a.Blocks {
				in = append(in, r.Transcript().Block(b).Message)
			}
			slices.Sort(in)
			got = append(got, in)
		}
		slices.SortFunc(got, slices.Compare)
		if !slices.EqualFunc(got, c.atoms, slices.Equal) {
			t.Errorf("%s: %v, not %v", name, got, c.atoms)
		}
	}
}

// The official types give the output of a local shell no call_id: its id is that of the
// call, or of the call's item.
func TestDefectP22LocalShell(t *testing.T) {
	call := func(id, callID string) string {
		return `{"type":"local_shell_call","id":"` + id + `","call_id":"` + callID + `","status":"completed","action":{"type":"exec","command":["ls"],"env":{}}}`
	}
	out := func(id, text string) string {
		return `{"type":"local_shell_call_output","id":"` + id + `","output":"` + text + `"}`
	}
	long := strings.Repeat("c", 70)
	for _, d := range []defect{
		{name: "by call_id", body: items(userTask, call("lsh_1", "a"), out("a", "r1"))},
		{name: "by item", body: items(userTask, call("lsh_1", "a"), out("lsh_1", "r1"))},
		{name: "two", body: items(userTask, call("lsh_1", "a"), call("lsh_2", "b"), out("lsh_2", "r2"), out("a", "r1"))},
		{name: "null", body: items(userTask, call("lsh_1", "a"), strings.Replace(out("a", "r1"), `"output"`, `"call_id":null,"output"`, 1))},
		{name: "both", body: items(userTask, call("lsh_1", "a"), strings.Replace(out("lso_1", "r1"), `"output"`, `"call_id":"a","output"`, 1))},
		{name: "twice", body: items(userTask, call("lsh_1", "a"), out("a", "r1"), out("lsh_1", "r2")), found: []string{"duplicate-result"}, keeps: []string{"r1", "r2"}},
		{name: "of no call", body: items(userTask, out("a", "r1")), found: []string{"orphan-result"}, keeps: []string{"r1"}},
		{name: "too long", body: items(userTask, call("lsh_1", long), out("lsh_1", "r1")), found: []string{"call-id-format", "call-id-format"}, keeps: []string{`"output":"r1"`}, loses: []string{long}},
	} {
		d.run(t)
	}
}

// A second output of a program that says something else is quoted; a copy goes.
func TestDefectT6ProgramOutputs(t *testing.T) {
	other := strings.ReplaceAll(strings.ReplaceAll(programOutput, "po_1", "po_2"), "done", "words of the second")
	defect{
		name: "another output", body: items(userTask, program, programOutput, other, userTask),
		found: []string{"duplicate-result"}, keeps: []string{"words of the second", programOutput},
	}.run(t)
	defect{
		name: "a copy", body: items(userTask, program, programOutput, programOutput, userTask),
		found: []string{"duplicate-result", "duplicate-item-id"}, keeps: []string{programOutput}, loses: []string{"quoted"},
	}.run(t)
}
