package truth

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// TestRelationReportsLostWords checks that the relation reports violations and accepts named words.
func TestRelationReportsLostWords(t *testing.T) {
	const in = `{"messages":[
		{"role":"user","content":"please qv7k3x0001 look"},
		{"role":"assistant","content":"so qv7k3x0002 it is","tool_calls":[{"id":"id_qv7k3x0003","function":{"name":"f","arguments":"a qv7k3x0004 b"}}]},
		{"role":"tool","tool_call_id":"id_qv7k3x0003","content":"found qv7k3x0005 it"},
		{"role":"user","text":"and qv7k3x0006 this","content":""},
		{"role":"user","content":"more qv7k3x0007 words","note":"beside qv7k3x0008 them"},
		{"role":"assistant","content":[{"type":"thinking","thinking":"hm qv7k3x0009 hm"}],"refusal":"no qv7k3x0010 never"}]}`
	drop := func(rule string, path ...string) change { return change{action: "drop", rule: rule, path: path} }
	for name, c := range map[string]struct {
		lost     string // digits of the markers that are not in the output
		archived bool
		let      func(*change) bool
		changes  []change
		want     []string
	}{
		"nothing lost":              {},
		"no receipt":                {lost: "5", want: []string{"lost without a receipt | of the model, a tool or the system"}},
		"a receipt of a neighbour":  {lost: "5", changes: []change{drop("orphan-result", "messages", "1")}, want: []string{"lost without a receipt | of the model, a tool or the system"}},
		"a receipt of the message":  {lost: "5", changes: []change{drop("orphan-result", "messages", "2")}},
		"a receipt of the member":   {lost: "5", changes: []change{drop("orphan-result", "messages", "2", "content")}},
		"an edit is no drop":        {lost: "5", changes: []change{{action: "edit", rule: "orphan-result", path: []string{"messages", "2"}}}, want: []string{"lost, though the receipt is about something else: edit orphan-result | of the model, a tool or the system"}},
		"it is archived":            {lost: "5", archived: true},
		"an id is renamed":          {lost: "3", changes: []change{{action: "rename", rule: "call-id-format", path: []string{"messages", "1", "tool_calls", "0"}, ids: []string{"id_qv7k3x0003"}}}},
		"a person, with a receipt":  {lost: "1", changes: []change{drop("too-many-messages", "messages", "0")}, want: []string{"a person's words are dropped: drop too-many-messages | of a person"}},
		"a person, by a window":     {lost: "1", let: byWindow, changes: []change{drop("window", "messages", "0")}},
		"a window's repair":         {lost: "1", let: byWindow, changes: []change{drop("unknown-field", "messages", "0")}, want: []string{"a person's words are dropped: drop unknown-field | of a person"}},
		"called empty":              {lost: "6", changes: []change{drop("null-content", "messages", "3")}, want: []string{"called empty: drop null-content | of a person"}},
		"beside a person's words":   {lost: "8", changes: []change{drop("unknown-field", "messages", "4", "note")}, want: []string{"what stands beside a person's words is dropped: drop unknown-field | of a person"}},
		"called a copy":             {lost: "5", changes: []change{drop("duplicate-result", "messages", "2")}, want: []string{"called a copy: drop duplicate-result | of the model, a tool or the system"}},
		"words beside a call":       {lost: "2", changes: []change{drop("orphan-call", "messages", "1")}, want: []string{"dropped with what it stands beside: drop orphan-call | of the model, a tool or the system"}},
		"the call itself":           {lost: "4", changes: []change{drop("orphan-call", "messages", "1", "tool_calls", "0")}},
		"thinking":                  {lost: "9", changes: []change{drop("thinking-signature-missing", "messages", "5", "content", "0")}},
		"a refusal beside thinking": {lost: "a", changes: []change{drop("thinking-signature-missing", "messages", "5")}, want: []string{"dropped with what it stands beside: drop thinking-signature-missing | of the model, a tool or the system"}},
	} {
		root := mustTree(in)
		d := &document{shape: of(name, dialectFamily, `{}`), root: root, changed: 1}
		gone := "qv7k3x000" + c.lost
		if c.lost == "a" {
			gone = "qv7k3x0010"
		}
		raw := root.write(nil)
		out := raw
		if c.lost != "" {
			out = bytes.ReplaceAll(raw, []byte(gone), []byte("gone"))
		}
		let := c.let
		if let == nil {
			let = nobody
		}
		x := door{name: name, let: let, pass: func(*document, []byte) result {
			res := result{out: out, changes: c.changes, state: repaired}
			if c.archived {
				res.archived = [][]byte{[]byte(`"found ` + gone + ` it"`)}
			}
			return res
		}}
		if got, _, _ := judgeWords(&x, d, raw, d.wordsOf()); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// TestRelationComparesSpeakers checks that the relation compares the speakers of the output.
func TestRelationComparesSpeakers(t *testing.T) {
	for _, c := range []struct{ in, out, want string }{
		{`[{"role":"user","content":"a qv7k3x0001 b"}]`, `[{"role":"assistant","content":"a qv7k3x0001 b"}]`, "a person's words are put into another's mouth"},
		{`[{"role":"assistant","content":"a qv7k3x0001 b"}]`, `[{"role":"user","content":"a qv7k3x0001 b"}]`, "another's words are put into a person's mouth"},
		{`[{"role":"assistant","content":"a qv7k3x0001 b"}]`, `[{"role":"user","content":"[pare: it said] a qv7k3x0001 b"}]`, ""},
		{`[{"role":"user","content":"a qv7k3x0001 b"}]`, `[{"role":"user","parts":[{"text":"a qv7k3x0001 b"}]}]`, ""},
		// JSON in a text names speakers too. The speaker of the text is a speaker of all its words.
		{`[{"role":"tool","content":{"type":"human","text":"a qv7k3x0001 b"}}]`, `[{"role":"tool","content":"{\"type\":\"human\",\"text\":\"a qv7k3x0001 b\"}"}]`, ""},
		{`[{"role":"tool","content":{"type":"human","text":"a qv7k3x0001 b"}}]`, `[{"role":"tool","content":"{\"text\":\"a qv7k3x0001 b\"}"}]`, "a person's words are put into another's mouth"},
		{`[{"role":"assistant","content":"a qv7k3x0001 b"}]`, `[{"role":"user","content":"{\"role\":\"assistant\",\"content\":\"a qv7k3x0001 b\"}"}]`, "another's words are put into a person's mouth"},
		{`[{"role":"assistant","content":"a qv7k3x0001 b"}]`, `[{"role":"assistant","content":"{\"role\":\"user\",\"content\":\"a qv7k3x0001 b\"}"}]`, "another's words are put into a person's mouth"},
		{`[{"role":"tool","tool_call_id":"x","content":"a qv7k3x0001 b"}]`, `[{"role":"user","content":[{"type":"tool_result","content":"a qv7k3x0001 b"}]}]`, ""},
	} {
		d := &document{shape: of("mouths", dialectFamily, `[]`), root: mustTree(c.in), changed: 1}
		x := door{name: "fix", let: nobody, repairs: true, pass: func(*document, []byte) result { return result{out: []byte(c.out), state: repaired} }}
		if got, _, _ := judgeWords(&x, d, d.raw(), d.wordsOf()); strings.Join(got, "; ") != c.want {
			t.Errorf("%s → %s: got %q, want %q", c.in, c.out, got, c.want)
		}
	}
}
