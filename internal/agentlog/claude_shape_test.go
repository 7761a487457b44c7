package agentlog

import (
	"strings"
	"testing"
)

// TestClaudeLinesAreIndependent checks that a line is read in the same way after any other line:
// one with other white space, other values, another order or damage.
func TestClaudeLinesAreIndependent(t *testing.T) {
	lines := []string{
		`{"type":"user","uuid":"a","sessionId":"s","n":1,"message":{"role":"user","content":"hi"}}`,
		`{"type": "user","uuid" :"a","sessionId": "s","n": 1,"message": {"role": "user","content": "hi"}}`,
		`{"type":"user","uuid":"a","sessionId":"s","n":12,"message":{"role":"user","content":"hi"}}`,
		`{"type":"user","uuid":"a","sessionId":"st","n":1.5,"message":{"role":"user","content":"h"}}`,
		`{"type":"assistant","uuid":"b","sessionId":"s","n":1,"message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"c"}]}}`,
		`{"type":"assistant","uuid":"b","sessionId":"s","n":1,"message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"c"}] }}`,
		`{"uuid":"a","type":"user","sessionId":"s","message":"error","n":1}`,
		`{"type":"user","uuid":"\u0061","sessionId":"s","n":1,"message":{"role":"user","content":"\ud800"}}`,
		`{"type":"user","uuid":"a"`, `{"type":"user","uuid":"a`, `{"type":"user","uuid":`, `{"type":`, `{}`, `{"type":"user"}`,
		`{"type":"user","uuid":"a","sessionId":"s" "n":1}`, `{"type":"user","uuid":"a","sessionId":"s","n":1]`,
	}
	read := func(raw string) []claudeEntry {
		return newLog(ClaudeCode, newSource("", []byte(raw), Options{})).readClaude()
	}
	same := func(a, b claudeEntry) bool {
		return a.kind == b.kind && a.uuid == b.uuid && a.session == b.session && a.id == b.id && a.isMessage == b.isMessage && a.hasNonResult == b.hasNonResult &&
			strings.Join(a.calls, ",") == strings.Join(b.calls, ",") && a.message.Len() == b.message.Len() && a.content.Len() == b.content.Len()
	}
	for _, before := range lines {
		for _, line := range lines {
			got, alone := read(before+"\n"+before+"\n"+line), read(line)
			if got = got[2*len(read(before)):]; len(got) != len(alone) || len(got) > 0 && !same(got[0], alone[0]) {
				t.Errorf("%s behind %s: %+v, want %+v", line, before, got, alone)
			}
		}
	}
}
