package agentlog

import (
	"fmt"
	"strings"
	"testing"
)

// TestMovedResultLeavesTheRest checks that a late result moves to its call without the rest of its
// event or message: the user's words keep their order, and results of other calls stay with their
// calls.
func TestMovedResultLeavesTheRest(t *testing.T) {
	adkEvent := func(id int, role, parts string) string {
		return fmt.Sprintf(`{"invocation_id":"i","author":"a","id":"e%d","timestamp":%d,"content":{"role":"%s","parts":[%s]}}`, id, id, role, parts)
	}
	adkCall := func(id string) string { return `{"function_call":{"id":"` + id + `","name":"f","args":{}}}` }
	adkResult := func(id string) string {
		return `{"function_response":{"id":"` + id + `","name":"f","response":{"r":"out ` + id + `"}}}`
	}
	adkText := func(text string) string { return `{"text":"` + text + `"}` }
	gooseMessage := func(id int, role, content string) string {
		return fmt.Sprintf(`{"id":"m%d","role":"%s","created":%d,"content":[%s],"metadata":{"userVisible":true,"agentVisible":true}}`, id, role, id, content)
	}
	gooseCall := func(id string) string {
		return `{"type":"toolRequest","id":"` + id + `","toolCall":{"status":"success","value":{"name":"f","arguments":{}}}}`
	}
	gooseResult := func(id string) string {
		return `{"type":"toolResponse","id":"` + id + `","toolResult":{"status":"success","value":[{"type":"text","text":"out ` + id + `"}]}}`
	}
	gooseText := func(text string) string { return `{"type":"text","text":"` + text + `"}` }
	for name, f := range map[string]struct {
		file               string
		model              string
		unit               func(id int, role, content string) string
		call, result, text func(string) string
		join               func(units []string) string
	}{
		"adk": {"session.json", "model", adkEvent, adkCall, adkResult, adkText, func(all []string) string {
			return `{"id":"s","appName":"a","userId":"u","events":[` + strings.Join(all, ",") + "]}"
		}},
		"goose": {"s.jsonl", "assistant", gooseMessage, gooseCall, gooseResult, gooseText, func(all []string) string {
			return `{"working_dir":"/p","description":"d","message_count":4}` + "\n" + strings.Join(all, "\n") + "\n"
		}},
	} {
		raw := f.join([]string{
			f.unit(1, "user", f.text("begin")),
			f.unit(2, f.model, f.call("a")),
			f.unit(3, "user", f.text("meanwhile")),
			f.unit(4, f.model, f.call("b")+","+f.call("c")),
			f.unit(5, "user", f.result("b")+","+f.result("a")+","+f.text("at last")+","+f.result("c")),
		})
		_, found, fixed := fix(t, f.file, []byte(raw))
		if !Broken(found) || Broken(fixed.Remaining) {
			t.Errorf("%s: %+v, left %+v\n%s", name, found, fixed.Remaining, fixed.Raw)
		}
		said := sentText(mustRead(t, f.file, fixed.Raw))
		at := 0
		for _, word := range []string{"begin", "out a", "meanwhile", "out b", "at last", "out c"} {
			i := strings.Index(said[at:], word)
			if i < 0 {
				t.Errorf("%s: %q is not where it was:\n%s", name, word, said)
				break
			}
			at += i
		}
		for _, c := range fixed.Changes {
			if c.Action != "move" {
				t.Errorf("%s: %+v", name, c)
			}
		}
	}
}
