package agentlog

import (
	"fmt"
	"strings"
	"testing"
)

// headed returns sessions with a head by format: their names and lines.
func headed() map[Format]struct {
	name  string
	lines []string
} {
	record := func(n int, kind, payload string) string {
		return fmt.Sprintf(`{"timestamp":"2026-01-01T00:00:00.000Z","ordinal":%d,"type":"%s","payload":%s}`+"\n", n, kind, payload)
	}
	entry := func(id, parent, message string) string {
		return `{"type":"message","id":"` + id + `","parentId":` + parent + `,"timestamp":"2026-01-01T00:00:00.000Z","message":` + message + "}\n"
	}
	return map[Format]struct {
		name  string
		lines []string
	}{
		Codex: {"rollout-2026-01-01T00-00-00-01a1e58d-bf7f-7f72-97ae-27f5aaeffe3d.jsonl", []string{
			record(0, "session_meta", `{"id":"01a1e58d-bf7f-7f72-97ae-27f5aaeffe3d","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p","originator":"codex_exec","cli_version":"0.166.0","history_mode":"paginated"}`),
			record(1, "turn_context", `{"cwd":"/p","model":"gpt-5"}`),
			record(2, "response_item", `{"type":"message","id":"msg_1","role":"user","content":[{"type":"input_text","text":"one"}]}`),
			record(3, "response_item", `{"type":"function_call","id":"fc_1","name":"f","arguments":"{}","call_id":"c1"}`),
			record(4, "response_item", `{"type":"function_call_output","id":"fco_1","call_id":"c1","output":"said"}`),
			record(5, "response_item", `{"type":"message","id":"msg_2","role":"assistant","content":[{"type":"output_text","text":"two"}]}`),
		}},
		Pi: {"2026-01-01T00-00-00-000Z_01a1e58d-bf7f-7f72-97ae-27f5aaeffe3d.jsonl", []string{
			`{"type":"session","version":3,"id":"01a1e58d-bf7f-7f72-97ae-27f5aaeffe3d","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}` + "\n",
			entry("00000001", "null", `{"role":"user","content":"one"}`),
			entry("00000002", `"00000001"`, `{"role":"assistant","content":[{"type":"text","text":"two"}],"stopReason":"stop"}`),
			entry("00000003", `"00000002"`, `{"role":"user","content":"three"}`),
		}},
		GeminiCLI: {"session-2026-01-01T00-00-01a1e58d.jsonl", []string{
			`{"sessionId":"01a1e58d-bf7f-7f72-97ae-27f5aaeffe3d","projectHash":"h","startTime":"2026-01-01T00:00:00.000Z"}` + "\n",
			`{"id":"1","timestamp":"2026-01-01T00:00:00.000Z","type":"user","content":"one"}` + "\n",
			`{"id":"2","timestamp":"2026-01-01T00:00:00.000Z","type":"gemini","content":"two"}` + "\n",
		}},
	}
}

// TestLostHead checks that the rest of a session without its head is complete and gets a new head.
// Codex and pi require the head at the beginning, and Gemini CLI anywhere in the file.
func TestLostHead(t *testing.T) {
	for format, s := range headed() {
		whole := strings.Join(s.lines, "")
		if _, found, fixed := fix(t, s.name, []byte(whole)); len(found) > 0 || string(fixed.Raw) != whole {
			t.Errorf("%v, whole: %+v\n%s", format, found, fixed.Raw)
		}
		rest := strings.Join(s.lines[1:], "")
		for name, raw := range map[string]string{
			"lost": rest,
			"torn": s.lines[0][:len(s.lines[0])/2] + "\n" + rest,
		} {
			_, found, fixed := fix(t, s.name, []byte(raw))
			if count(found, headRule) != 1 || !Broken(found) {
				t.Errorf("%v, %s: %+v", format, name, found)
			}
			head, behind, _ := strings.Cut(string(fixed.Raw), "\n")
			if behind != raw || !strings.Contains(head, `"01a1e58d-`) || format == Codex && !strings.Contains(head, `"cwd":"/p"`) || format == Codex && !strings.Contains(head, `"ordinal":0`) {
				t.Errorf("%v, %s:\n%s", format, name, fixed.Raw)
			}
			if Broken(fixed.Remaining) {
				t.Errorf("%v, %s, left: %+v", format, name, fixed.Remaining)
			}
		}
	}
	// The number of the first entry that a compaction keeps counts the head.
	raw := `{"type":"message","timestamp":"t","message":{"role":"user","content":"one"}}
{"type":"message","timestamp":"t","message":{"role":"user","content":"two"}}
{"type":"compaction","timestamp":"t","summary":"s","firstKeptEntryIndex":1}
`
	if _, _, fixed := fix(t, "p.jsonl", []byte(raw)); !strings.Contains(string(fixed.Raw), `"firstKeptEntryIndex":2`) {
		t.Errorf("%s", fixed.Raw)
	}
}

// TestHeadInTheMiddle checks that a head elsewhere in a pi session is repeated at the beginning,
// while a Gemini CLI chat may have it anywhere.
func TestHeadInTheMiddle(t *testing.T) {
	all := headed()
	s := all[Pi]
	raw := s.lines[1] + s.lines[0] + strings.Join(s.lines[2:], "")
	if _, found, fixed := fix(t, s.name, []byte(raw)); count(found, headRule) != 1 || string(fixed.Raw) != s.lines[0]+raw {
		t.Errorf("%+v\n%s", found, fixed.Raw)
	}
	s = all[GeminiCLI]
	raw = strings.Join(s.lines[1:], "") + s.lines[0]
	if _, found, _ := fix(t, s.name, []byte(raw)); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

// TestCopiedRecords checks repeated records: Codex sends the ids of items, so the provider rejects
// copies, and it forgets everything before a second head.
func TestCopiedRecords(t *testing.T) {
	s := headed()[Codex]
	whole, rest := strings.Join(s.lines, ""), strings.Join(s.lines[1:], "")
	for _, raw := range []string{whole + whole, whole + rest, whole + s.lines[2], strings.Replace(whole, s.lines[3], s.lines[3]+s.lines[0], 1)} {
		_, found, fixed := fix(t, s.name, []byte(raw))
		if !Broken(found) || string(fixed.Raw) != whole {
			t.Errorf("%+v\n%s", found, fixed.Raw)
		}
		for i := range 10 { // also without numbers; other records may be equal by chance
			raw = strings.ReplaceAll(raw, fmt.Sprintf(`"ordinal":%d,`, i), "")
		}
		_, found, fixed = fix(t, s.name, []byte(raw))
		if n := strings.Count(string(fixed.Raw), "msg_1") + strings.Count(string(fixed.Raw), "session_meta"); !Broken(found) || n != 2 {
			t.Errorf("%+v\n%s", found, fixed.Raw)
		}
	}
}

// TestPiResumesFromLastLine checks that any kind of last line is handled.
func TestPiResumesFromLastLine(t *testing.T) {
	s := headed()[Pi]
	whole := strings.Join(s.lines, "")
	if _, found, fixed := fix(t, s.name, []byte(whole+s.lines[1])); !Broken(found) || string(fixed.Raw) != whole {
		t.Errorf("a copy: %+v\n%s", found, fixed.Raw)
	}
	if _, found, _ := fix(t, s.name, []byte(strings.Replace(whole, s.lines[2], s.lines[2]+s.lines[1], 1))); Broken(found) {
		t.Errorf("a copy elsewhere: %+v", found)
	}
	const odd = `{"type":"of tomorrow"}` + "\n"
	last := len(s.lines) - 1
	if _, found, fixed := fix(t, s.name, []byte(whole+odd)); !Broken(found) || string(fixed.Raw) != strings.Join(s.lines[:last], "")+odd+s.lines[last] {
		t.Errorf("no id: %+v\n%s", found, fixed.Raw)
	}
}
