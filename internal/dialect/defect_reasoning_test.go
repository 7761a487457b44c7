package dialect_test

import (
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/transcript"
)

// TestDroppedReasoningTakesIDs: an item that keeps the id the server gave it is refused without the
// reasoning that led to it. All that came of a reasoning item that goes lose their ids, and
// nothing of another one does.
func TestDroppedReasoningTakesIDs(t *testing.T) {
	const (
		lost  = `{"type":"reasoning","id":"rs_1","summary":[]}`
		whole = `{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"gAAA"}`
	)
	call := func(n string) string {
		return `{"type":"function_call","id":"fc_` + n + `","call_id":"call_` + n + `","name":"f","arguments":"{}"}`
	}
	custom := `{"type":"custom_tool_call","id":"ctc_1","call_id":"call_c","name":"f","input":"x"}`
	said := `{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"so","annotations":[]}]}`
	out := func(n string) string {
		return `{"type":"function_call_output","call_id":"call_` + n + `","output":"y"}`
	}
	customOut := `{"type":"custom_tool_call_output","call_id":"call_c","output":"y"}`
	for name, c := range map[string]struct {
		items      []string
		gone, kept string
	}{
		"one call":              {[]string{lost, call("1"), out("1")}, "rs_1 fc_1", "call_1"},
		"calls side by side":    {[]string{lost, call("1"), call("2"), call("3"), out("1"), out("2"), out("3")}, "rs_1 fc_1 fc_2 fc_3", "call_1 call_2 call_3"},
		"a message and calls":   {[]string{lost, said, call("1"), custom, out("1"), customOut}, "rs_1 msg_1 fc_1 ctc_1", "call_1 call_c"},
		"of the next reasoning": {[]string{lost, call("1"), whole, call("2"), out("1"), out("2")}, "rs_1 fc_1", "rs_2 fc_2"},
		"of the next turn":      {[]string{lost, call("1"), out("1"), whole, call("2"), out("2")}, "rs_1 fc_1", "rs_2 fc_2"},
		"behind somebody":       {[]string{lost, call("1"), out("1"), call("2"), out("2")}, "rs_1 fc_1", "fc_2"},
		"parted from them":      {[]string{lost, `{"role":"user","content":"hm"}`, call("1"), call("2"), out("1"), out("2"), call("3"), out("3")}, "rs_1 fc_1 fc_2", "fc_3 call_1 call_2"},
		"parted, of the next":   {[]string{lost, `{"role":"user","content":"hm"}`, whole, call("2"), out("2")}, "rs_1", "rs_2 fc_2"},
	} {
		body := `{"model":"gpt-5","store":false,"input":[{"role":"user","content":"q"},` + strings.Join(c.items, ",") + `]}`
		r, err := dialect.Parse([]byte(body), dialect.Options{})
		if err != nil {
			t.Fatal(err)
		}
		fixed, err := dialect.RepairRequest(r, dialect.Repair{}, dialect.CheckOptions{})
		if err != nil || len(fixed.Left) > 0 {
			t.Fatalf("%s: %v, left %v", name, err, fixed.Left)
		}
		raw := string(fixed.Request.Raw())
		for _, id := range strings.Fields(c.gone) {
			if strings.Contains(raw, `"`+id+`"`) {
				t.Errorf("%s: %s is still there:\n%s", name, id, raw)
			}
		}
		for _, id := range strings.Fields(c.kept) {
			if !strings.Contains(raw, `"`+id+`"`) {
				t.Errorf("%s: %s is gone:\n%s", name, id, raw)
			}
		}
		if strings.Count(body, `"output":"y"`) != strings.Count(raw, `"output":"y"`) {
			t.Errorf("%s: a result is lost:\n%s", name, raw)
		}
	}
}

// TestDefectP5MultiAgent: what the provider's own agents did is a pair that stays together
// and that the client does not answer.
func TestDefectP5MultiAgent(t *testing.T) {
	const (
		call = `{"type":"multi_agent_call","id":"mac_1","call_id":"m1","action":"spawn_agent","arguments":"{}"}`
		out  = `{"type":"multi_agent_call_output","call_id":"m1","action":"spawn_agent","output":[{"type":"output_text","text":"done"}]}`
		says = `{"type":"agent_message","author":"scout","recipient":"root","content":[{"type":"input_text","text":"here"}]}`
	)
	for name, items := range map[string]string{"pair": call + "," + out, "parted": call + "," + says + "," + out, "open": call, "output": out} {
		body := `{"model":"gpt-5.6","input":[{"role":"user","content":"q"},` + items + `,{"role":"user","content":"n"}]}`
		r, err := dialect.Parse([]byte(body), dialect.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, strict := range []bool{false, true} {
			if found := r.Check(dialect.CheckOptions{Strict: strict}); len(found) > 0 {
				t.Errorf("%s: found %v", name, found)
			}
		}
		tr := r.Transcript()
		if x := tr.Exchanges(); len(x) != 1 || !x[0].Server {
			t.Errorf("%s: exchanges %v", name, x)
		} else if whole := x[0].State == transcript.Whole; whole != (name == "pair" || name == "parted") || whole && (tr.AtomOf(x[0].Call) != tr.AtomOf(x[0].Results[0])) {
			t.Errorf("%s: %v", name, x)
		}
	}
}
