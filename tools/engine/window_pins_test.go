package engine

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/planner"
)

func trimmed(t *testing.T, body string, w pare.Window) string {
	t.Helper()
	r, err := pare.Parse([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := planner.Trim(context.Background(), r, w, pare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := plan.Apply()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestWindowDoesNotPinRepairs checks that a window pins the words of the user, and not the text of
// a repair.
func TestWindowDoesNotPinRepairs(t *testing.T) {
	tail := `{"model":"claude-opus-4-8","max_tokens":9,"messages":[{"role":"user","content":"Build the parser."},{"role":"assistant","content":"ok"},{"role":"user","content":"Now use tabs, never spaces."},{"role":"assistant","content":"fine"}]}`
	for _, w := range []pare.Window{{Messages: 2}, {Messages: 3}, {Messages: 4}, {Turns: 2}} {
		out := trimmed(t, tail, w)
		if !strings.Contains(out, "Build the parser.") || !strings.Contains(out, "Now use tabs, never spaces.") {
			t.Errorf("%+v: %s", w, out)
		}
		if n := strings.Count(out, `"role"`); w.Messages > 0 && n > w.Messages {
			t.Errorf("%+v: %d messages", w, n)
		}
	}
	// A quoted stray is nobody's word either.
	stray := `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"The task."},{"role":"assistant","content":"a"},{"role":"user","content":"The newest words."},{"role":"assistant","content":"b"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"lost","content":"stray"}]}]}`
	if out := trimmed(t, stray, pare.Window{Messages: 3}); !strings.Contains(out, "The task.") || !strings.Contains(out, "The newest words.") {
		t.Errorf("%s", out)
	}
}

// TestUserTextBesideResultsIsPinned checks that the words of the user in a message with results are
// pinned.
func TestUserTextBesideResultsIsPinned(t *testing.T) {
	const head = `{"model":"claude-sonnet-4-5","max_tokens":9,"tools":[{"name":"run","input_schema":{"type":"object"}}],"messages":[`
	call := func(id string) string {
		return `{"role":"assistant","content":[{"type":"tool_use","id":"` + id + `","name":"run","input":{}}]}`
	}
	result := func(id, more string) string {
		return `{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + id + `","content":"ok"}` + more + `]}`
	}
	stop := `,{"type":"text","text":"Stop, use port 9090"}`
	body := head + strings.Join([]string{`{"role":"user","content":"Start."}`, call("a"), result("a", stop), call("b"), result("b", ""), call("c"), result("c", "")}, ",") + `]}`
	for _, w := range []pare.Window{{Messages: 4}, {Messages: 5}, {Messages: 6}, {Turns: 1, Unpin: pare.PinTask}, {Exchanges: 1}} {
		if out := trimmed(t, body, w); !strings.Contains(out, "Stop, use port 9090") {
			t.Errorf("%+v: %s", w, out)
		}
	}
	// What a client puts beside results by itself begins no turn.
	reminded := strings.ReplaceAll(body, "Stop, use port 9090", "<system-reminder>\\nbe nice</system-reminder>")
	if out := trimmed(t, reminded, pare.Window{Turns: 1}); !strings.Contains(out, "Start.") {
		t.Errorf("%s", out)
	}
}

// TestMinimumCountsJoinedMessages checks that the minimum number of messages is that of the result,
// in which joined neighbors count as one.
func TestMinimumCountsJoinedMessages(t *testing.T) {
	body := `{"modelId":"us.amazon.nova-pro-v1:0","toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{}}}}]},"messages":[{"role":"user","content":[{"text":"The task."}]},{"role":"assistant","content":[{"text":"a"}]},{"role":"user","content":[{"text":"The newest words."}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"t1","name":"f","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"t1","content":[{"text":"x"}]}}]}]}`
	r, err := pare.Parse([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	var small *pare.WindowTooSmall
	if _, err := planner.Trim(context.Background(), r, pare.Window{Messages: 2}, pare.Options{}); !errors.As(err, &small) || small.Minimum != 3 {
		t.Fatalf("%v, want a minimum of 3", err)
	}
	for _, n := range []int{3, 4} {
		out := trimmed(t, body, pare.Window{Messages: n})
		if got := strings.Count(out, `"role"`); got != 3 || !strings.Contains(out, "The task.") || !strings.Contains(out, "The newest words.") {
			t.Errorf("%d messages allowed, %d came: %s", n, got, out)
		}
	}
}

// TestStableLaterCallsStay checks that a trim of a stable window removes no later content: the
// newest exchange stays, and the declaration of its tool comes back.
func TestStableLaterCallsStay(t *testing.T) {
	call := func(id, tool string) string {
		return `{"type":"function_call","call_id":"` + id + `","name":"` + tool + `","arguments":"{}"},{"type":"function_call_output","call_id":"` + id + `","output":"` + id + `: thirty days"}`
	}
	const said = `{"role":"assistant","content":"`
	var all []string
	all = append(all, `{"role":"user","content":"May I return it?"},`+call("c1", "load"),
		`{"type":"additional_tools","role":"developer","tools":[{"type":"function","name":"policy","parameters":{"type":"object"}}]},`+call("c2", "policy"),
		said+strings.Repeat("Thirty days from the day of purchase. ", 12)+`"},{"role":"user","content":"And the other one?"}`,
		said+`I look it up."},`+call("c3", "policy"), said+`Thirty days, too."},{"role":"user","content":"Thanks."}`, said+`Gladly."},{"role":"user","content":"Bye."}`)
	w := pare.Window{Tokens: 160, Low: 60}
	sent := ""
	for i := range all {
		r, err := pare.Parse([]byte(`{"model":"gpt-5","tools":[{"type":"function","name":"load","parameters":{"type":"object"}}],"input":[` + strings.Join(all[:i+1], ",") + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		plan, err := planner.Trim(context.Background(), r, w, pare.Options{Counter: quarters{}})
		if err != nil {
			t.Fatal(err)
		}
		out := string(plan.Result().Raw())
		declared := strings.Contains(out, "additional_tools")
		switch i {
		case 2:
			if declared || len(plan.Batches()) != 1 {
				t.Errorf("request %d: no batch drops the declaration: %v\n%s", i, plan.Batches(), out)
			}
		case 3, 4, 5:
			if !declared || strings.Count(out, `"call_id":"c3"`) != 2 || len(plan.Batches()) != 1 {
				t.Errorf("request %d: %v\n%s", i, plan.Batches(), out)
			}
		}
		if end := strings.LastIndex(sent, "]"); i > 3 && !strings.HasPrefix(out, sent[:end]) {
			t.Errorf("request %d does not begin with the one before:\n%s\n%s", i, sent, out)
		}
		sent = out
	}
}
