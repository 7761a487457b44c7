package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

const broken = `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"run"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"bash","input":{}}]},{"role":"user","content":"and?"}]}`

// continued has the new messages of a conversation that the server holds, and calls answered there.
var continued = []byte(`{"model":"claude-opus-5-5","max_tokens":9,"thread":{"type":"continue","previous_message_id":"msg_1"},"messages":[` + exchange("a") +
	`{"role":"user","content":[{"type":"tool_result","tool_use_id":"z","content":"42"}]},{"role":"assistant","content":"so"},{"role":"user","content":"and?"}]}`)

// long is a clean history with many exchanges.
func long(n int) []byte {
	var b strings.Builder
	b.WriteString(`{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[`)
	for i := range n {
		fmt.Fprintf(&b, `{"role":"user","content":"question %d"},{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"bash","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"%s"}]},{"role":"assistant","content":"answer %d"},`, i, i, i, strings.Repeat("output ", 50), i)
	}
	b.WriteString(`{"role":"user","content":"go on"}]}`)
	return []byte(b.String())
}

// repeated has a call whose result came twice.
var repeated = []byte(`{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"run"},` +
	exchange("a") + exchange("b") + `{"role":"user","content":"and?"}]}`)

func exchange(id string) string {
	return fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":%q,"name":"read_file","input":{"path":"a.go"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q}]},`, id, id, strings.Repeat("the same words ", 50))
}

func report(t *testing.T, r Result) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(r.Report, &m); err != nil {
		t.Fatalf("%v: %s", err, r.Report)
	}
	return m
}

func TestCalls(t *testing.T) {
	seed, err := os.ReadFile("../../examples/seed-incident.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, options string
		body          []byte
		changed       bool
		has           string // in the report
	}{
		{"fix", "", long(3), false, ""},
		{"fix", "", []byte(broken), true, `"rule":"orphan-call"`},
		{"fix", "", seed, true, `"rule":"orphan-result"`},
		{"fix", `{"orphan_call":"drop"}`, []byte(broken), true, `"action":"drop"`},
		{"fit", `{"max_tokens":1000}`, long(20), true, `"changes":[`},
		{"fit", `{"max_messages":5}`, long(20), true, `"changes":[`},
		{"fit", "", long(3), false, ""},
		{"fit", `{"config":{"window":{"tokens":1000}}}`, long(20), true, `"changes":[`},
		{"trim", `{"max_tokens":1000}`, long(20), true, `"changes":[`},
		{"prune", "", []byte(broken), true, `"rule":"orphan-call"`},
		{"prune", `{"rules":["oversized"]}`, long(3), false, ""},
		{"prune", `{"keep_recent":0}`, repeated, true, `"rule":"deduplication"`},
		{"compact", `{"min_keep":4,"max_summary":100}`, long(9), true, `"rule":"compaction"`},
		{"pairs", "", []byte(broken), false, `"pairs":[{"id":"t1","tool":"bash","state":"orphan-call","call":"messages.1.content.0","results":[]}]`},
		{"check", "", []byte(broken), false, `"rule":"orphan-call"`},
		{"check", "", long(1), false, `"findings":[]`},
		{"count", `{"by_message":true}`, long(1), false, `"by_message":[`},
		{"split", `{"part":"tail","min_keep":4}`, long(9), true, `"cut":32`},
		{"split", "", long(1), false, `"cut":0`},
		{"compact", `{"summary":"It was about questions.","min_keep":4}`, long(9), true, `"rule":"compaction"`},
		{"compact", `{"min_keep":4}`, long(9), true, `"conserved":`},
		{"fix", `{"orphan_result":"drop"}`, continued, false, ""},
		{"fit", `{"max_tokens":5}`, continued, false, ""},
		{"prune", "", continued, false, ""},
		{"compact", `{"min_keep":1}`, continued, false, ""},
		{"check", "", continued, false, `"delta":"thread","findings":[]`},
		{"split", `{"min_keep":1}`, continued, false, `"cuts":[]`},
	} {
		before := bytes.Clone(c.body)
		r, err := Call(c.name, c.body, []byte(c.options), Callbacks{})
		if err != nil {
			t.Errorf("%s %s: %v", c.name, c.options, err)
			continue
		}
		if (r.Body != nil) != c.changed || !bytes.Contains(r.Report, []byte(c.has)) || c.has == "" && r.Report != nil {
			t.Errorf("%s %s: body %.80s, report %s", c.name, c.options, r.Body, r.Report)
		}
		if !bytes.Equal(before, c.body) {
			t.Errorf("%s wrote into the body", c.name)
		}
		if r.Body != nil {
			if again, err := Call("check", r.Body, nil, Callbacks{}); err != nil || len(report(t, again)["findings"].([]any)) > 0 {
				t.Errorf("%s %s: what came out is not clean: %v %s", c.name, c.options, err, again.Report)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, body, options, want string }{
		{"fixx", broken, "", `unknown_call: there is no call "fixx": the calls are fix, fit,`},
		{"fix", "", `{"strict":true}`, "unreadable: the body is empty"},
		{"fix", "{", "", "unreadable: "},
		{"fix", `{"no":1}`, "", "unreadable: "},
		{"fit", broken, `{"max_token":5}`, `options: fit has no option "max_token"; did you mean max_tokens`},
		{"check", broken, `{"max_tokens":5}`, `options: check has no option "max_tokens"`},
		{"compact", broken, `{"max_summary":0}`, `options: max_summary is 0: expected a number from 1 on`},
		{"fit", broken, `{"max_tokens":0}`, "options: max_tokens is 0: expected a number from 1 on"},
		{"fit", broken, `{"max_tokens":"5"}`, `options: the option "max_tokens" cannot be a string`},
		{"fit", broken, `{"max_tokens":1}`, "window_too_small: "},
		{"fit", `{"model":"nobody","messages":[{"role":"user","content":"x"}]}`, "", "unknown_model: "},
		{"fix", broken, `{"orphan_call":"text"}`, `options: orphan_call is "text": expected stub or drop`},
		{"fix", broken, `{"rules":["nonsense"]}`, "options: rules: unknown rule"},
		{"fix", broken, `{"config":{"windows":{}}}`, "options: "},
		{"fix", broken, `[]`, "options: "},
	} {
		_, err := Call(c.name, []byte(c.body), []byte(c.options), Callbacks{})
		var e *Error
		if !errors.As(err, &e) || !strings.HasPrefix(e.Type+": "+e.Message, c.want) {
			t.Errorf("%s %s: %v, want %s", c.name, c.options, err, c.want)
		}
	}
}

func TestCallbacks(t *testing.T) {
	asked := 0
	byWords := Callbacks{Count: func(text []byte) (int, error) { asked++; return len(bytes.Fields(text)), nil }}
	if r, err := Call("count", long(2), nil, byWords); err != nil || asked == 0 {
		t.Errorf("count: %v %s", err, r.Report)
	}
	if r, err := Call("fit", long(30), []byte(`{"max_tokens":400}`), byWords); err != nil || r.Body == nil {
		t.Errorf("fit: %v", err)
	}
	rule := Callbacks{Rule: func(in []byte) ([]byte, error) {
		var blocks []block
		if err := json.Unmarshal(in, &blocks); err != nil {
			return nil, err
		}
		var votes []vote
		for _, b := range blocks {
			if b.CallID == "t1" {
				votes = append(votes, vote{Block: b.Block, Vote: "drop", Reason: "not needed"})
			}
			if b.Text == "answer 0" {
				votes = append(votes, vote{Block: b.Block, Vote: "edit", Text: "yes", Reason: "shorter"})
			}
		}
		return json.Marshal(votes)
	}}
	r, err := Call("fix", long(3), nil, rule)
	if err != nil || bytes.Contains(r.Body, []byte(`"t1"`)) || !bytes.Contains(r.Body, []byte(`"yes"`)) || !bytes.Contains(r.Report, []byte("not needed")) {
		t.Errorf("rule: %v %s", err, r.Report)
	}
	sum := Callbacks{Summarize: func(in []byte) ([]byte, error) {
		if !bytes.Contains(in, []byte("question 3")) {
			return nil, errors.New("it is not told what goes")
		}
		return []byte("All questions were answered."), nil
	}}
	if r, err := Call("compact", long(9), []byte(`{"min_keep":4}`), sum); err != nil || !bytes.Contains(r.Body, []byte("All questions were answered.")) {
		t.Errorf("summarize: %v", err)
	}
	fails := func([]byte) ([]byte, error) { return nil, errors.New("boom") }
	for _, c := range []struct {
		name, options, want string
		cb                  Callbacks
	}{
		{"count", "", "the counter failed: boom", Callbacks{Count: func([]byte) (int, error) { return 0, errors.New("boom") }}},
		{"fit", `{"max_tokens":400}`, "the counter failed: a text cannot have -1 tokens", Callbacks{Count: func([]byte) (int, error) { return -1, nil }}},
		{"fix", "", "the rule failed: boom", Callbacks{Rule: fails}},
		{"fix", "", "the rule failed: vote 0 is about block 99999, and there are", Callbacks{Rule: func([]byte) ([]byte, error) { return []byte(`[{"block":99999,"vote":"drop"}]`), nil }}},
		{"fix", "", `the rule failed: vote 0 is "eat": expected drop, protect or edit`, Callbacks{Rule: func([]byte) ([]byte, error) { return []byte(`[{"block":0,"vote":"eat"}]`), nil }}},
		{"compact", `{"min_keep":4}`, "the summarizer failed: boom", Callbacks{Summarize: fails}},
	} {
		_, err := Call(c.name, long(30), []byte(c.options), c.cb)
		var e *Error
		if !errors.As(err, &e) || e.Type != "callback" || !strings.HasPrefix(e.Message, c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// TestHosts: the list of a program goes in and comes out in its shape, by every call.
func TestHosts(t *testing.T) {
	var b strings.Builder
	for i := range 8 {
		fmt.Fprintf(&b, `{"role":"user","content":"question %d"},{"role":"assistant","content":[{"type":"tool-call","toolCallId":"t%d","toolName":"bash","input":{}}],"mine":%d},{"role":"tool","content":[{"type":"tool-result","toolCallId":"t%d","toolName":"bash","output":{"type":"text","value":"%s"}}]},`, i, i, i, i, strings.Repeat("output ", 50))
	}
	clean := []byte("[" + b.String() + `{"role":"user","content":"go on"}]`)
	torn := []byte("[" + b.String() + `{"role":"assistant","content":[{"type":"tool-call","toolCallId":"open","toolName":"bash","input":{}}]},{"role":"user","content":"go on"}]`)
	for _, c := range []struct {
		name, options string
		body          []byte
		has           string // in what comes out; "": nothing does
		report        string
	}{
		{"fix", "", clean, "", ""},
		{"fix", "", torn, `"toolCallId":"open","toolName":"bash","output":{"type":"error-text"`, `"path":"24.content.0"`},
		{"fix", `{"as":"ai-sdk","orphan_call":"drop"}`, torn, `"mine":7`, `"dialect":"ai-sdk"`},
		{"fit", `{"max_tokens":600}`, clean, `"mine":7`, `"dialect":"ai-sdk"`},
		{"check", "", clean, "", `"findings":[]`},
		{"check", `{"as":"pi"}`, clean, "", `"rule":"unknown-role"`},
		{"count", "", clean, "", `"dialect":"ai-sdk"`},
		{"split", `{"part":"tail","min_keep":4}`, clean, `[{"role":"user","content":"question 7"}`, `"cut":21`},
		{"split", `{"part":"head","min_keep":4}`, clean, `"question 6"`, `"head":21`},
		{"compact", `{"min_keep":4,"summary":"Seven questions."}`, clean, "Seven questions.", `"compaction"`},
	} {
		r, err := Call(c.name, c.body, []byte(c.options), Callbacks{})
		if err != nil || (r.Body != nil) != (c.has != "") || !bytes.Contains(r.Body, []byte(c.has)) || !bytes.Contains(r.Report, []byte(c.report)) {
			t.Errorf("%s %s: %v, body %.900s, report %.900s", c.name, c.options, err, r.Body, r.Report)
		}
	}
	for _, c := range []struct{ body, options, want string }{
		{`{"a":1}`, `{"as":"pi"}`, "unreadable: no list of that shape: expected the live list of pi"},
		{`[{"role"`, `{"as":"pi"}`, "unreadable: "},
		{`[]`, `{"as":"pie"}`, "options: as: unknown dialect"},
	} {
		_, err := Call("fix", []byte(c.body), []byte(c.options), Callbacks{})
		var e *Error
		if !errors.As(err, &e) || !strings.HasPrefix(e.Type+": "+e.Message, c.want) {
			t.Errorf("%s: %v, want %s", c.body, err, c.want)
		}
	}
	if r, err := Call("fix", torn, nil, Callbacks{Rule: func(in []byte) ([]byte, error) { return []byte("[]"), nil }}); err != nil || r.Body == nil {
		t.Errorf("with a rule: %v", err)
	}
}
