package agentlog

import (
	"strings"
	"testing"

	"github.com/pare-llm/pare/wire"
)

// worst is the outlook of a session: the worst of what is found.
func worst(t *testing.T, name, raw string) (o Outlook) {
	t.Helper()
	l, err := Read(name, []byte(raw), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range l.Check(wire.CheckOptions{}) {
		o = max(o, l.outlook(f))
	}
	return o
}

// TestOutlookTornEnd: an agent that begins a line of its own behind one that breaks off loses nothing
// but that line; of others the next prompt is lost with it. Seen by tools/campaign --doctor.
func TestOutlookTornEnd(t *testing.T) {
	codex := headed()[Codex]
	torn := strings.Join(codex.lines, "") + `{"timestamp":"2026-01-01T00:00:00.000Z","ordinal":6,"type":"event_m`
	if got := worst(t, codex.name, torn); got != Mends {
		t.Errorf("Codex: %v", got)
	}
	pi := headed()[Pi]
	if got := worst(t, pi.name, strings.Join(pi.lines, "")+`{"type":"message","id":"0000`); got != Mends {
		t.Errorf("pi: %v", got)
	}
	qwen := makeQwen(2)
	if got := worst(t, "s.jsonl", qwen[:len(qwen)-40]); got != Forgets {
		t.Errorf("qwen-code: %v", got)
	}
}

// TestOutlookRepeated: a rollout of Codex that holds everything twice is resumed from the second
// head, and nothing is lost; if only what follows the head is there twice, both are sent.
func TestOutlookRepeated(t *testing.T) {
	codex := headed()[Codex]
	all := strings.Join(codex.lines, "")
	for want, raw := range map[Outlook]string{
		Resumes:  all,
		Mends:    all + all,
		Forgets:  all + codex.lines[0] + codex.lines[1] + codex.lines[2],
		Unusable: all + strings.Join(codex.lines[1:], ""),
	} {
		if got := worst(t, codex.name, raw); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
}
