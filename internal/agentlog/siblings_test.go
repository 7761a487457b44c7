package agentlog

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare/wire"
)

// TestHalfKilledMessageIsClean checks Claude Code 1.0, which links the results of all calls of a
// message to its last line. After a kill between two results and a resume from the text of the
// message, it sends none of these lines, so there is nothing to fix.
func TestHalfKilledMessageIsClean(t *testing.T) {
	raw := ccWrite("u1", "", 1, said("one")) + ccWrite("t", "u1", 2, replied("m1", textReply)) +
		ccWrite("a0", "t", 3, replied("m1", calling("c0"))) + ccWrite("a1", "a0", 4, replied("m1", calling("c1"))) +
		ccWrite("r0", "a1", 5, ccResult("c0")) + ccWrite("u2", "t", 50, said("two")) + ccWrite("z", "u2", 51, replied("m2", textReply))
	_, found, fixed := fix(t, "s.jsonl", []byte(raw))
	if Broken(found) {
		t.Errorf("broken: %+v", found)
	}
	if string(fixed.Raw) != raw {
		t.Errorf("changed:\n%s", fixed.Raw)
	}
}

// TestNewLineHasCommonMembers checks that a new line has the members that all lines of the session
// have.
func TestNewLineHasCommonMembers(t *testing.T) {
	own := func(line string) string {
		return strings.Replace(line, `"sessionId":`, `"entrypoint":"cli","sessionKind":"main","session_id":"s1","sessionId":`, 1)
	}
	raw := own(ccWrite("u1", "", 1, said("one"))) + own(ccWrite("a1", "u1", 2, replied("m1", calling("c1")))) + own(ccWrite("u2", "a1", 3, said("two")))
	_, _, fixed := fix(t, "s.jsonl", []byte(raw))
	for line := range bytes.Lines(fixed.Raw) {
		for _, name := range []string{"entrypoint", "sessionKind", "session_id"} {
			if !bytes.Contains(line, []byte(`"`+name+`":`)) {
				t.Errorf("no %s in %s", name, line)
			}
		}
	}
}

// TestMovedRecordsAreRenumbered checks that moved records do not take the numbers of others.
func TestMovedRecordsAreRenumbered(t *testing.T) {
	var raw strings.Builder
	for _, r := range []struct {
		n       int
		payload string
	}{
		{0, `{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}`},
		{3, `{"type":"function_call_output","call_id":"c1","output":"first"}`},
		{1, `{"type":"function_call","name":"f","arguments":"{}","call_id":"c1"}`},
		{2, `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"two"}]}`},
	} {
		fmt.Fprintf(&raw, `{"timestamp":"2026-01-01T00:00:00.000Z","ordinal":%d,"type":"response_item","payload":%s}`+"\n", r.n, r.payload)
	}
	_, _, fixed := fix(t, "rollout.jsonl", []byte(raw.String()))
	last := -1
	for line := range bytes.Lines(fixed.Raw) {
		var n int
		at := bytes.Index(line, []byte(`"ordinal":`))
		if _, err := fmt.Sscanf(string(line[at:]), `"ordinal":%d`, &n); err != nil || n <= last {
			t.Errorf("%d behind %d:\n%s", n, last, fixed.Raw)
		}
		last = n
	}
}

// TestQuotationKeepsMedia checks that a quoted result keeps its media, and that a result with other
// media is not a copy.
func TestQuotationKeepsMedia(t *testing.T) {
	codex := func(payload string) string {
		return `{"timestamp":"2026-01-01T00:00:00.000Z","type":"response_item","payload":` + payload + "}\n"
	}
	shot := func(id, data string) string {
		return codex(`{"type":"function_call_output","call_id":"` + id + `","output":[{"type":"input_image","image_url":"data:image/png;base64,` + data + `"}]}`)
	}
	pi := func(message string) string {
		return `{"type":"message","timestamp":"2026-01-01T00:00:00.000Z","message":` + message + "}\n"
	}
	piShot := func(id, data string) string {
		return pi(`{"role":"toolResult","toolCallId":"` + id + `","toolName":"f","content":[{"type":"image","data":"` + data + `","mimeType":"image/png"}],"isError":false}`)
	}
	head := `{"sessionId":"s","projectHash":"h","startTime":"2026-01-01T00:00:00.000Z"}` + "\n"
	gemini := func(id, kind, rest string) string {
		return `{"id":"` + id + `","timestamp":"2026-01-01T00:00:00.000Z","type":"` + kind + `",` + rest + "}\n"
	}
	held := func(result string) string {
		return head + gemini("1", "user", `"content":"one"`) + gemini("2", "gemini", `"content":"","toolCalls":[{"id":"c1","name":"f","args":{},"result":[`+result+`]}]`) + gemini("3", "user", `"content":"two"`)
	}
	response := func(id, said, parts string) string {
		return `{"functionResponse":{"id":"` + id + `","name":"f","response":{"output":"` + said + `"}` + parts + `}}`
	}
	shown := func(data string) string {
		return `{"inlineData":{"mimeType":"image/png","data":"` + data + `"}}`
	}
	codexStart := codex(`{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}`)
	piStart := `{"type":"session","id":"x","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}` + "\n" + pi(`{"role":"user","content":"one"}`)
	for name, c := range map[string]struct {
		raw  string
		want []string
	}{
		"codex, no call":      {codexStart + shot("c9", "AAAA"), []string{"AAAA"}},
		"codex, two pictures": {codexStart + codex(`{"type":"function_call","name":"f","arguments":"{}","call_id":"c1"}`) + shot("c1", "AAAA") + shot("c1", "BBBB"), []string{"AAAA", "BBBB"}},
		"pi, no call":         {piStart + piShot("c9", "AAAA"), []string{"AAAA"}},
		"pi, two pictures": {piStart + pi(`{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"f","arguments":{}}],"stopReason":"toolUse"}`) +
			piShot("c1", "AAAA") + piShot("c1", "BBBB"), []string{"AAAA", "BBBB"}},
		"gemini, no call": {head + gemini("1", "user", `"content":"one"`) + gemini("2", "user", `"content":[`+response("c9", "said", `,"parts":[`+shown("AAAA")+`]`)+`]`), []string{"said", "AAAA"}},
		"gemini, the same words, another picture": {strings.TrimSuffix(held(response("c1", "same", "")), "\n") + "\n" +
			gemini("4", "user", `"content":[`+response("c1", "same", `,"parts":[`+shown("AAAA")+`]`)+`]`), []string{"AAAA"}},
		"gemini, another id and a picture": {held(response("x", "said", "") + "," + shown("AAAA")), []string{"said", "AAAA"}},
		"gemini, two other ids":            {held(response("x", "first", "") + "," + response("y", "second", "")), []string{"first", "second"}},
		"gemini, its own and another id":   {held(response("c1", "first", "") + "," + response("y", "second", "")), []string{"first", "second"}},
		"gemini, text alone":               {held(`{"text":"said"}`), []string{"said"}},
		"gemini, a picture alone":          {held(shown("AAAA")), []string{"AAAA"}},
	} {
		l, found, fixed := fix(t, "s.jsonl", []byte(c.raw))
		if !Broken(found) {
			t.Errorf("%s: clean as %s", name, l.Format)
		}
		for _, w := range c.want {
			if !bytes.Contains(fixed.Raw, []byte(w)) {
				t.Errorf("%s: %s is lost:\n%s", name, w, fixed.Raw)
			}
		}
	}
}

// TestChatWithoutHead checks that a chat without its head is still detected.
func TestChatWithoutHead(t *testing.T) {
	user := `{"id":"1","timestamp":"2026-01-01T00:00:00.000Z","type":"user","content":"one"}` + "\n"
	model := `{"id":"2","timestamp":"2026-01-01T00:00:00.000Z","type":"gemini","content":"two","toolCalls":[]}` + "\n"
	for name, raw := range map[string]string{
		"lost":     user + model,
		"torn":     `{"sessionId":"s","proj` + "\n" + user + model,
		"joined":   `{"sessionId":"s","proj` + user + model,
		"snapshot": `{"$set":{"messages":[],"lastUpdated":"x"}}` + "\n" + user,
	} {
		if f, ok := Detect("s.jsonl", []byte(raw)); !ok || f != GeminiCLI {
			t.Errorf("%s: %v", name, f)
		}
	}
	// A truncated chat in one object has no lines that the agent could skip.
	l, err := Read("s.json", []byte("{\n  \"sessionId\": \"s\",\n  \"messages\": [\n    {\n      \"id\": \"1\",\n"), Options{Format: GeminiCLI})
	if err != nil {
		t.Fatal(err)
	}
	if found := l.Check(wire.CheckOptions{}); len(found) != 1 || found[0].Rule != "unreadable" {
		t.Errorf("torn document: %+v", found)
	}
}

// TestByteOrderMarkIsRemoved checks that a byte order mark is removed together with any other
// repair, and stays if every byte must. Some agents do not open such a file or do not read its
// first line.
func TestByteOrderMarkIsRemoved(t *testing.T) {
	whole := ccWrite("u1", "", 1, said("one")) + ccWrite("a1", "u1", 2, replied("m1", textReply))
	for _, c := range []struct{ raw, rules string }{
		{whole, "byte-order-mark"},
		{whole + ccWrite("u2", "a1", 3, said("two")) + ccWrite("a2", "u2", 4, replied("m2", calling("c1"))), "byte-order-mark orphan-call"},
	} {
		c.raw = strings.ReplaceAll(c.raw, `"version":"2.`, `"version":"1.`) // later versions ignore it
		name := filepath.Join(t.TempDir(), "s.jsonl")
		if err := os.WriteFile(name, []byte("\ufeff"+c.raw), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Place{Agent: &Agent{Format: ClaudeCode}, Path: name}.Open(Options{})
		if err != nil {
			t.Fatal(err)
		}
		var rules []string
		for _, f := range s.Check(wire.CheckOptions{}) {
			rules = append(rules, f.Rule)
			if f.Effect != Refused {
				t.Errorf("%+v", f)
			}
		}
		if strings.Join(rules, " ") != c.rules {
			t.Errorf("found: %q, want %q", rules, c.rules)
		}
		fixed, err := s.Fix(Options{})
		if err != nil || len(fixed.Changes) != len(rules) || len(fixed.Remaining) > 0 {
			t.Fatalf("%v: %+v", err, fixed)
		}
		if all := s.Replacements(fixed); len(all) != 1 || !bytes.HasPrefix(all[0].Raw, []byte(c.raw)) {
			t.Errorf("%+v", all)
		}
		kept, err := s.Fix(Options{AppendOnly: true})
		if err != nil || !Broken(kept.Remaining) {
			t.Fatalf("append only: %v: %+v", err, kept)
		}
		if all := s.Replacements(kept); len(all) != len(rules)-1 || len(all) > 0 && !bytes.HasPrefix(all[0].Raw, []byte("\ufeff"+c.raw)) {
			t.Errorf("append only: %+v", all)
		}
	}
}

// TestByteOrderMarkByAgent lists the agents that open a file with a byte order mark (seen by
// running them), and those for which this is not known.
func TestByteOrderMarkByAgent(t *testing.T) {
	claude := func(version string) string {
		return strings.ReplaceAll(ccWrite("u1", "", 1, said("one"))+ccWrite("a1", "u1", 2, replied("m1", textReply)), `"type":`, `"version":"`+version+`","type":`)
	}
	heads := headed()
	for name, c := range map[string]struct {
		file, raw string
		fine      bool
	}{
		"Claude Code 1.0": {"a.jsonl", claude("1.0.128"), false},
		"Claude Code 2.0": {"a.jsonl", claude("2.0.76"), true},
		"Claude Code 2.1": {"a.jsonl", claude("1.0.128") + strings.NewReplacer("u1", "u2", "a1", "a2").Replace(claude("2.1.325")), true},
		"Codex":           {heads[Codex].name, strings.Join(heads[Codex].lines, ""), false},
		"pi":              {heads[Pi].name, strings.Join(heads[Pi].lines, ""), false},
		"Gemini CLI":      {heads[GeminiCLI].name, strings.Join(heads[GeminiCLI].lines, ""), false},
	} {
		l, err := Read(c.file, []byte(c.raw), Options{HasByteOrderMark: true})
		if err != nil {
			t.Fatal(err)
		}
		found := l.Check(wire.CheckOptions{})
		if count(found, markRule) != 1 || Broken(found) == c.fine {
			t.Errorf("%s: %+v", name, found)
		}
		if fixed, err := l.Fix(Options{}); err != nil || !fixed.RemovedMark || len(fixed.Remaining) > 0 {
			t.Errorf("%s: %v %+v", name, err, fixed)
		}
	}
}

// TestRepairPlanIsIndependent checks that a planned repair stays unchanged while other sessions are
// examined.
func TestRepairPlanIsIndependent(t *testing.T) {
	home := t.TempDir()
	folder := filepath.Join(home, ".claude/projects/p")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		raw := ccWrite("u1", "", 1, said(name)) + ccWrite("a1", "u1", 2, replied("m1", calling("c1"))) + ccWrite("u2", "a1", 3, said("two"))
		if err := os.WriteFile(filepath.Join(folder, name+".jsonl"), []byte(raw), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found := Find(Search{Home: home})
	if len(found.Sessions) != 2 {
		t.Fatalf("%d sessions", len(found.Sessions))
	}
	first, err := found.Sessions[0].PlanRepair(NewBusy(time.Now().Add(time.Hour)))
	if err != nil {
		t.Fatal(err)
	}
	before, fixed := bytes.Clone(first.session.Raw()), bytes.Clone(first.Fixed.Raw)
	for range 8 {
		Examine(found.Sessions[1])
		if _, err := found.Sessions[1].PlanRepair(NewBusy(time.Now().Add(time.Hour))); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(before, first.session.Raw()) || !bytes.Equal(fixed, first.Fixed.Raw) {
		t.Error("another session is in the place of the one that was treated")
	}
}
