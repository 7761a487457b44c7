package hosts

import (
	"context"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/wire"
)

// repairWithReceipts returns the repaired list and everything that the receipts report as removed.
func repairWithReceipts(t *testing.T, raw string, p *pare.Policy) (out, removed string) {
	t.Helper()
	l := read(t, []byte(raw))
	plan, err := p.Plan(context.Background(), l.Request)
	if err != nil {
		t.Fatal(err)
	}
	repaired, err := l.Rewrite(plan)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range l.Changes(plan.Changes()) {
		removed += c.Removed + "\n"
	}
	if repaired == nil {
		repaired = l.raw
	}
	return string(repaired), removed
}

const (
	agentsText   = `{"schema":"agents-api.message","version":1,"type":"text","role":"user","content":"go on","payload":{},"metadata":{}}`
	agentsCallA  = `{"schema":"agents-api.message","version":1,"type":"tool_call","role":"assistant","content":"","payload":{"tool_name":"get","parameters":{}},"metadata":{"tool_call_id":"a"}}`
	agentsEmptyB = `{"schema":"agents-api.message","version":1,"type":"tool_result","role":"user","content":"","payload":{"tool_name":"list_orders","result":{"order":"4711"}},"metadata":{"at":"noon"}}`
)

// TestEmptyContentKeepsPayload checks a result whose text is in its payload and not in its content.
func TestEmptyContentKeepsPayload(t *testing.T) {
	out, removed := repairWithReceipts(t, `[`+agentsText+`,`+agentsEmptyB+`,`+agentsText+`]`, &pare.Policy{})
	if !strings.Contains(out, `{\"order\":\"4711\"}`) {
		t.Errorf("the payload is not quoted: %s", out)
	}
	if removed != agentsEmptyB+"\n" {
		t.Errorf("the receipt has %s", removed)
	}
}

// TestReceiptHasRemovedElement checks that a receipt contains a removed element as the host wrote
// it.
func TestReceiptHasRemovedElement(t *testing.T) {
	drop := &pare.Policy{Repair: wire.Repair{OrphanCall: wire.RemedyDrop, OrphanResult: wire.RemedyDrop}}
	out, removed := repairWithReceipts(t, `[`+agentsText+`,`+agentsCallA+`,`+agentsText+`,`+agentsEmptyB+`,`+agentsText+`]`, drop)
	if strings.Contains(out, "tool_") || !strings.Contains(removed, agentsCallA) || !strings.Contains(removed, agentsEmptyB) {
		t.Errorf("%s\nreceipts: %s", out, removed)
	}
}

// TestSecondResultKeepsItsPayload checks that a result that differs only in its payload is not a
// copy.
func TestSecondResultKeepsItsPayload(t *testing.T) {
	result := func(data string) string {
		return `{"schema":"agents-api.message","version":1,"type":"tool_result","role":"user","content":"done","payload":{"tool_name":"get","result":"` + data + `"},"metadata":{"tool_call_id":"a"}}`
	}
	l := read(t, []byte(`[`+agentsText+`,`+agentsCallA+`,`+result("one")+`,`+result("two")+`,`+agentsText+`]`))
	plan, err := (&pare.Policy{}).Plan(context.Background(), l.Request)
	if err != nil {
		t.Fatal(err)
	}
	all := l.Changes(plan.Changes())
	if len(all) == 0 || strings.Contains(all[0].Reason, "says all of it") || all[0].Removed != result("two") {
		t.Errorf("receipts: %v", all)
	}
}

// TestJoinedResultKeepsItsParts checks that joined results keep their parts other than texts.
func TestJoinedResultKeepsItsParts(t *testing.T) {
	for name, raw := range map[string]string{
		"ai-sdk":        `[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool-call","toolCallId":"a","toolName":"get","input":{}}]},{"role":"tool","content":[{"type":"tool-result","toolCallId":"a","toolName":"get","output":{"type":"content","value":[{"type":"text","text":"one"},{"type":"media","data":"PICTURE","mediaType":"image/png"},{"type":"zork","of":"ROSES"}]}},{"type":"tool-result","toolCallId":"a","toolName":"get","output":{"type":"text","value":"two"}}]}]`,
		"ai-sdk media":  `[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool-call","toolCallId":"a","toolName":"get","input":{}}]},{"role":"tool","content":[{"type":"tool-result","toolCallId":"a","toolName":"get","output":{"type":"content","value":[{"type":"media","data":"PICTURE ROSES","mediaType":"image/png"}]}},{"type":"tool-result","toolCallId":"a","toolName":"get","output":{"type":"text","value":"one\n\ntwo"}}]}]`,
		"openai-agents": `[{"role":"user","content":"hi"},{"type":"function_call","callId":"a","name":"get","arguments":"{}"},{"type":"function_call_result","callId":"a","name":"get","output":[{"type":"input_text","text":"one"},{"type":"input_image","image":"PICTURE"},{"type":"zork","of":"ROSES"}]},{"type":"function_call_result","callId":"a","name":"get","output":"two"}]`,
	} {
		out, _ := repairWithReceipts(t, raw, &pare.Policy{})
		for _, word := range []string{`one\n\ntwo`, "PICTURE", "ROSES"} {
			if !strings.Contains(out, word) {
				t.Errorf("%s: %s is gone: %s", name, word, out)
			}
		}
	}
}
