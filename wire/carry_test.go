package wire

import (
	"strings"
	"testing"

	"github.com/pare-llm/pare/transcript"
)

// Messages that nothing touches are carried over, in every dialect that reads an element
// by itself; that they are what a reading gives is proved by all tests of this package.
func TestCarryOver(t *testing.T) {
	long := strings.Repeat("a line of output\\n", 400)
	for name, body := range map[string]string{
		"anthropic": `{"system":"s","messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"t1","name":"Read","input":{}},{"type":"tool_use","id":"t2","name":"Read","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"` + long + `"},{"type":"tool_result","tool_use_id":"t2","content":"` + long + `"}]},{"role":"assistant","content":"done"},{"role":"user","content":"more"}],"tools":[{"name":"Read","input_schema":{}}]}`,
		"openai-chat": `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a","tool_calls":[{"id":"t1","type":"function","function":{"name":"Read","arguments":"{}"}}]},` +
			`{"role":"tool","tool_call_id":"t1","content":"` + long + `"},{"role":"assistant","content":"done"},{"role":"user","content":"more"}]}`,
		"openai-responses": `{"input":[{"role":"user","content":"q"},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"},{"type":"function_call","id":"fc_1","call_id":"t1","name":"Read","arguments":"{}"},` +
			`{"type":"function_call_output","call_id":"t1","output":"` + long + `"},{"role":"assistant","content":"done"},{"role":"user","content":"more"}],"instructions":"behind"}`,
		"gemini-interactions": `{"input":[{"type":"user_input","content":[{"type":"text","text":"q"}]},{"type":"thought","signature":"x"},{"type":"function_call","id":"t1","name":"Read","arguments":{}},` +
			`{"type":"function_result","call_id":"t1","name":"Read","result":"` + long + `"},{"type":"model_output","content":[{"type":"text","text":"done"}]},{"type":"user_input","content":[{"type":"text","text":"more"}]}]}`,
		"gemini": `{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"text":"a"},{"functionCall":{"name":"Read","args":{}}}]},` +
			`{"role":"user","parts":[{"functionResponse":{"name":"Read","response":{"output":"` + long + `"}}}]},{"role":"model","parts":[{"text":"done"}]},{"role":"user","parts":[{"text":"more"}]}]}`,
		"bedrock": `{"messages":[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"t1","name":"Read","input":{}}}]},` +
			`{"role":"user","content":[{"toolResult":{"toolUseId":"t1","content":[{"text":"` + long + `"}]}}]},{"role":"assistant","content":[{"text":"done"}]},{"role":"user","content":[{"text":"more"}]}]}`,
	} {
		r, err := Parse([]byte(body), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Dialect.String() != name {
			t.Fatalf("%s was read as %s", name, r.Dialect)
		}
		last := transcript.BlockID(len(r.t.Blocks()) - 1)
		for what, change := range map[string]func(d *draft){
			"drop the first": func(d *draft) { d.dropBlock(0) },
			"drop the last":  func(d *draft) { d.dropBlock(last) },
			"drop a call":    func(d *draft) { d.dropBlock(2) },
			"insert":         func(d *draft) { d.insertMessage(1, d.g.textMessage(transcript.User, "new"), d.fresh()) },
			"append": func(d *draft) {
				d.insertMessage(len(d.t.Messages()), d.g.textMessage(transcript.User, "new"), d.fresh())
			},
			"edit": func(d *draft) { (&repairer{draft: d, before: r}).say(last-2, "short") },
		} {
			d := newDraft(r)
			change(d)
			raw, step, err := d.render()
			if err != nil {
				t.Fatal(err)
			}
			o := d.o
			next, ok := d.carryOver(raw, o, step.edits)
			if !ok {
				t.Errorf("%s: %s: read as a whole", name, what)
				continue
			}
			o.Structural = true
			fresh, err := Parse(raw, o)
			if err != nil {
				t.Fatal(err)
			}
			fresh.o = next.o
			next.mustEqual(fresh)
		}
	}
}

// A result in other words is not read again if nothing but its text can have changed: also
// where it begins with white space, and where the parser has noted something of its id.
func TestRewords(t *testing.T) {
	chat := func(id, text string) string {
		return `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a","tool_calls":[{"id":"` + id + `","type":"function","function":{"name":"Read","arguments":"{}"}}]},` +
			`{"role":"tool","tool_call_id":"` + id + `","content":` + text + `},{"role":"user","content":"more"}]}`
	}
	responses := func(text string) string {
		return `{"input":[{"role":"user","content":"q"},{"type":"function_call","call_id":"t1","name":"Read","arguments":"{}"},` +
			`{"type":"function_call_output","id":"fco_1","call_id":"t1","output":` + text + `},{"role":"user","content":"more"}]}`
	}
	for _, c := range []struct {
		body  string
		block transcript.BlockID
		want  bool
	}{
		{chat("t1", `"a line"`), 3, true},
		{chat("t1", `"\n\t  a line"`), 3, true},
		{chat(strings.Repeat("t", 50), `" {}"`), 3, true},
		{chat("t1", `"→ a line"`), 3, true},
		{chat("t1", `"\"a\" line"`), 3, true},
		{chat("t1", `"\u8a2d"`), 3, true},
		{chat("t1", `"\u001b[31m"`), 3, true},
		{chat("t1", `" \n"`), 3, false},
		{chat("t1", `"　"`), 3, false},
		{chat("t1", `"\u3000"`), 3, false},
		{chat("t1", `"\f"`), 3, false},
		{chat("t1", `""`), 3, false},
		{chat("t1", `null`), 3, false},
		{chat("t1", `[{"type":"text","text":"a line"}]`), 3, false},
		{responses(`"\ta line"`), 2, true},
		{responses(`"\u0020"`), 2, false},
	} {
		r, err := Parse([]byte(c.body), Options{})
		if err != nil {
			t.Fatal(err)
		}
		d := newDraft(r)
		(&repairer{draft: d, before: r}).say(c.block, "gone")
		raw, step, err := d.render()
		if err != nil {
			t.Fatal(err)
		}
		i := r.t.Block(c.block).Message
		var notes []note
		for _, n := range r.notes {
			if n.message == int32(i) {
				notes = append(notes, n)
			}
		}
		got := d.rewords(&r.t.Messages()[i], step.edits, notes)
		if got != c.want {
			t.Errorf("%s: in other words only: %t, want %t", c.body, got, c.want)
		}
		if _, all := d.reworded(raw, step.edits); all != c.want {
			t.Errorf("%s: the index is shared: %t, want %t", c.body, all, c.want)
		}
		if _, err := d.readBack(raw, step.edits); err != nil { // which proves what was carried over
			t.Error(err)
		}
	}
}

// A message that is known to have no members but those that hold its blocks has no others.
func TestHoldsOnly(t *testing.T) {
	for _, c := range []struct {
		body string
		want []bool
	}{
		{`{"messages":[{"role":"user","content":"q"},{"role":"user","content":"q","name":"bob"},{"role":"assistant","content":"a","refusal":null},` +
			`{"role":"assistant","content":"a","tool_calls":[{"id":"t1","type":"function","function":{"name":"Read","arguments":"{}"}}]},` +
			`{"role":"tool","tool_call_id":"t1","content":"x"},{"role":"tool","tool_call_id":"t1","content":"x","annotations":[1]},` +
			`{"role":"assistant","content":"a","tool_calls":[{"id":"t2","type":"function","function":{"name":"Read","arguments":"{}"}}],"audio":{"id":"a"}},` +
			`{"role":"assistant", "reasoning_content":"r","content":[{"type":"text","text":"a"}]},{"content":"a","role":"assistant","prefix":true}]}`,
			[]bool{true, false, true, true, true, false, true, true, false}},
		{`{"system":"s","messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"text","text":"a"}]},{"role":"user","content":"q","uuid":"1"},` +
			`{"id":"m","role":"assistant","content":[]},{"content":[{"type":"text","text":"a"}],"role":"user"}]}`,
			[]bool{true, true, false, false, true}},
		{`{"input":[{"type":"message","role":"user","content":"q"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]},` +
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}],"status":"completed"},{"id":"msg_1","role":"assistant","content":"a"},` +
			`{"role":"assistant","content":[{"type":"output_text","text":"a"}],"phase":{}}]}`,
			[]bool{true, true, false, false, false}},
	} {
		r, err := Parse([]byte(c.body), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range c.want {
			if got := r.extra[i]&holdsOnly != 0; got != want {
				t.Errorf("%s: nothing but blocks in message %d: %t, want %t", c.body, i, got, want)
			}
		}
	}
}
