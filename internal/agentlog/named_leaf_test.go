package agentlog

import (
	"bytes"
	"testing"

	"github.com/pare-llm/pare/wire"
)

// TestNamedLeafMovesToStub checks a call at a leaf that a last-prompt line names, with a newer
// branch next to it. The line must name the stub, which is the new leaf. Otherwise the stub would
// not be sent, and every run would add more stubs.
func TestNamedLeafMovesToStub(t *testing.T) {
	for name, explicit := range map[string]string{"newer branch": "", "explicit": `,"explicit":true`} {
		raw := []byte(`{"parentUuid":null,"isSidechain":false,"sessionId":"s","version":"2.1.325","type":"user","message":{"role":"user","content":"one"},"uuid":"u1","timestamp":"2026-01-01T00:00:01.000Z"}
{"parentUuid":"u1","isSidechain":false,"sessionId":"s","version":"2.1.325","type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Read","input":{}}]},"uuid":"u2","timestamp":"2026-01-01T00:00:02.000Z"}
{"parentUuid":"u1","isSidechain":false,"sessionId":"s","version":"2.1.325","type":"assistant","message":{"id":"m2","role":"assistant","content":[{"type":"text","text":"another try"}]},"uuid":"u3","timestamp":"2026-01-01T00:00:09.000Z"}
{"type":"last-prompt","lastPrompt":"one","leafUuid":"u2","sessionId":"s"` + explicit + `}
`)
		l, err := Read("a.jsonl", raw, Options{})
		if err != nil {
			t.Fatal(name, err)
		}
		fixed, err := l.Fix(Options{})
		if err != nil || len(fixed.Remaining) > 0 || len(fixed.Changes) != 2 || bytes.Count(fixed.Raw, []byte("\n")) != 5 {
			t.Errorf("%s: %v: %+v\n%s", name, err, fixed.Remaining, fixed.Raw)
			continue
		}
		again, err := Read("a.jsonl", fixed.Raw, Options{})
		if err != nil || Broken(again.Check(wire.CheckOptions{})) {
			t.Errorf("%s: %v: %+v", name, err, again.Check(wire.CheckOptions{}))
		}
		if _, calls, results := again.Count(); calls != 1 || results != 1 {
			t.Errorf("%s: %d calls and %d results are sent", name, calls, results)
		}
	}
}
