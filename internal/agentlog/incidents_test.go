package agentlog

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/wire"
)

// fix repairs a file and checks the promises for a repaired file.
func fix(t *testing.T, name string, raw []byte) (*Log, []Finding, *Fixed) {
	t.Helper()
	l := mustRead(t, name, raw)
	found := l.Check(wire.CheckOptions{})
	fixed, err := l.Fix(Options{})
	if err != nil {
		t.Fatal(err)
	}
	verify(t, name, raw, fixed)
	return l, found, fixed
}

func count(found []Finding, rule string) int {
	n := 0
	for _, f := range found {
		if f.Rule == rule {
			n++
		}
	}
	return n
}

// TestTwoObjectsOnOneLine checks that two objects without a newline between them are both read.
func TestTwoObjectsOnOneLine(t *testing.T) {
	for name, want := range map[string]int{"37-995ebed6e4-2": 1, "8c-fa910f8ef9-0": 2} {
		s := find(t, name)
		_, found, fixed := fix(t, s.name, s.raw)
		if n := count(found, "joined-lines"); n != want {
			t.Errorf("%s: %d lines hold two objects, want %d", name, n, want)
		}
		if a, b := bytes.Count(fixed.Raw, []byte("\n")), bytes.Count(s.raw, []byte("\n")); a < b {
			t.Errorf("%s: %d lines became %d", name, b, a)
		}
	}
}

// TestAbortedParallelCalls checks that calls of aborted turns stay unanswered, because those turns
// are not sent.
func TestAbortedParallelCalls(t *testing.T) {
	s := find(t, "large-session")
	l, found, fixed := fix(t, s.name, s.raw)
	lines := make(map[int]int)
	for _, f := range found {
		lines[f.Line]++
	}
	most := 0
	for _, n := range lines {
		most = max(most, n)
	}
	if len(found) != 18 || most != 16 || Broken(found) {
		t.Errorf("%d calls without result, %d in one line", len(found), most)
	}
	if &fixed.Raw[0] != &s.raw[0] || l.Tally().OrphanCalls != 18 {
		t.Errorf("%+v %+v", l.Tally(), fixed.Changes)
	}
}

// TestFirstResultIsQuoted checks a session that begins with a result. The result becomes a
// quotation on the same line.
func TestFirstResultIsQuoted(t *testing.T) {
	for _, name := range []string{"17-55e38d324c-0", "8b-c5137450f6-0", "e1-2c3e2b3f2a-0", "ec-38b74f08e3-3"} {
		s := find(t, name)
		_, found, fixed := fix(t, s.name, s.raw)
		if count(found, "orphan-result") != 1 || found[0].Line != 1 {
			t.Errorf("%s: %+v", name, found)
		}
		first, _, _ := bytes.Cut(fixed.Raw, []byte("\n"))
		if found[0].Dormant && bytes.HasPrefix(s.raw, first) {
			continue // on an unsent branch
		}
		if !bytes.Contains(first, []byte("quoted, not written by the user")) {
			t.Errorf("%s: the first line is %.300s", name, first)
		}
	}
}

// TestResultsOnSideBranches checks that results of parallel calls on side branches answer their
// calls.
func TestResultsOnSideBranches(t *testing.T) {
	for _, name := range []string{"1c-127425ed32-0", "89-7eb280e769-12"} {
		s := find(t, name)
		_, found, fixed := fix(t, s.name, s.raw)
		if len(found) > 0 || &fixed.Raw[0] != &s.raw[0] {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// TestCallBeforeCompaction checks that a call before a boundary, which is not sent, is reported and
// left alone.
func TestCallBeforeCompaction(t *testing.T) {
	s := find(t, "5c-5cb639eac4-0")
	_, found, fixed := fix(t, s.name, s.raw)
	if len(found) != 1 || !found[0].Dormant || found[0].Rule != "orphan-call" || found[0].Line != 308 || found[0].Effect != Cosmetic {
		t.Fatalf("%+v", found)
	}
	if &fixed.Raw[0] != &s.raw[0] || len(fixed.Changes)+len(fixed.Remaining) > 0 {
		t.Errorf("%+v %+v", fixed.Changes, fixed.Remaining)
	}
}

// TestDanglingParent checks that the line after a lost line is linked to the preceding line.
func TestDanglingParent(t *testing.T) {
	s := find(t, "ec-38b74f08e3-3")
	l, found, fixed := fix(t, s.name, s.raw)
	if count(found, "dangling-parent") != 1 {
		t.Fatalf("%+v", found)
	}
	if n := l.Threads[0].Messages(); n < 130 {
		t.Errorf("the main thread has %d messages; what stands in front of the gap is lost", n)
	}
	if again := mustRead(t, s.name, fixed.Raw); again.Threads[0].Messages() < 130 {
		t.Error("the gap is still there")
	}
}

// TestEveryLineIsARoot checks hand-made files without links. Only the last line is sent, but every
// fault is found and repaired.
func TestEveryLineIsARoot(t *testing.T) {
	s := find(t, "edge_cases")
	l, found, fixed := fix(t, s.name, s.raw)
	if l.Tally().OrphanCalls != 2 || count(found, "orphan-call") != 2 {
		t.Errorf("%+v %+v", l.Tally(), found)
	}
	for _, line := range []string{`"massive error"`, `{"silly": "this"}`, "42", "[1]"} {
		if !bytes.Contains(fixed.Raw, []byte("\n"+line+"\n")) {
			t.Errorf("the line %s is gone", line)
		}
	}
	advice := l.Check(wire.CheckOptions{Advice: true})
	if count(advice, "foreign-line") != 3 || count(advice, "duplicate-uuid") == 0 {
		t.Errorf("%+v", advice)
	}
}

// TestRepeatedUUIDs checks a file that was joined from several runs.
func TestRepeatedUUIDs(t *testing.T) {
	s := find(t, "claude-small")
	l, _, _ := fix(t, s.name, s.raw)
	if n := count(l.Check(wire.CheckOptions{Advice: true}), "duplicate-uuid"); n == 0 {
		t.Error("no uuid was found twice")
	}
}

// TestResultsBeforeCalls checks that an output before its call is moved after the call.
func TestResultsBeforeCalls(t *testing.T) {
	s := find(t, "codex-small") // it precedes a compaction there
	if _, found, _ := fix(t, s.name, s.raw); len(found) > 0 {
		t.Errorf("%+v", found)
	}
	raw := []byte(`{"timestamp":"t","type":"session_meta","payload":{"id":"x"}}
{"timestamp":"t","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"real"}}
{"timestamp":"t","type":"response_item","payload":{"type":"function_call","name":"f","arguments":"{}","call_id":"c1"}}
{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"more"}]}}
`)
	lines := strings.SplitAfter(string(raw), "\n")
	_, _, fixed := fix(t, "x.jsonl", raw)
	if want := lines[0] + lines[2] + lines[1] + lines[3]; string(fixed.Raw) != want {
		t.Errorf("got\n%s", fixed.Raw)
	}
}

// TestUnfinishedCall checks that a final call gets a linked stub in the form of its neighbor as the
// last line, and that nothing else changes.
func TestUnfinishedCall(t *testing.T) {
	raw := []byte(seeds[0])
	raw = raw[:bytes.Index(raw, []byte(`{"parentUuid":"u2"`))]
	_, found, fixed := fix(t, "x.jsonl", raw)
	if len(found) != 1 || !found[0].Open || found[0].Line != 2 {
		t.Fatalf("%+v", found)
	}
	if !bytes.HasPrefix(fixed.Raw, raw) {
		t.Errorf("got\n%s", fixed.Raw)
	}
	last := fixed.Raw[len(raw):]
	for _, want := range []string{`"parentUuid":"u2"`, `"sessionId":"s"`, `"tool_use_id":"t1"`, `"is_error":true`, `"timestamp":"2026-01-01T00:00:01.001Z"`, `"sourceToolAssistantUUID":"u2"`} {
		if !bytes.Contains(last, []byte(want)) {
			t.Errorf("%s is not in %s", want, last)
		}
	}
	open, err := mustRead(t, "x.jsonl", raw).Fix(Options{Repair: wire.Repair{Open: true}})
	if err != nil || &open.Raw[0] != &raw[0] {
		t.Errorf("an open call was to stay open: %v\n%s", err, open.Raw)
	}
}

// TestAppendOnly checks that every line stays and that the appended branch is sent.
func TestAppendOnly(t *testing.T) {
	for _, s := range samples(t, "claude_code") {
		if strings.Contains(s.name, "claude-small") {
			continue // fifty lines have the same uuid, so branches cannot be distinguished
		}
		o := Options{AppendOnly: true}
		fixed, err := mustRead(t, s.name, s.raw).Fix(o)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(fixed.Raw, s.raw) {
			t.Errorf("%s: a line was changed", s.name)
		}
		for _, f := range fixed.Remaining {
			if !f.Dormant && (!f.Physical || f.Rule == "dangling-parent") {
				t.Errorf("%s: left: %+v", s.name, f)
			}
		}
		again, err := mustRead(t, s.name, fixed.Raw).Fix(o)
		if err != nil || !bytes.Equal(again.Raw, fixed.Raw) {
			t.Errorf("%s: a second fix adds %d bytes", s.name, len(again.Raw)-len(fixed.Raw))
		}
	}
}

// TestAppendOnlyPi checks that a session with ids gets a branch, while a linear one gets only a
// result for a call at its end.
func TestAppendOnlyPi(t *testing.T) {
	raw := []byte(strings.Replace(seeds[4], `"zz"`, `"c"`, 1) + "\n")
	l := mustRead(t, "x.jsonl", raw)
	fixed, err := l.Fix(Options{AppendOnly: true})
	if err != nil || !bytes.HasPrefix(fixed.Raw, raw) || len(fixed.Remaining) > 0 || len(fixed.Changes) != 1 {
		t.Fatalf("%v %+v\n%s", err, fixed.Remaining, fixed.Raw)
	}
	// The stub and the two lines after it; the call stays in place.
	if n := bytes.Count(fixed.Raw[len(raw):], []byte("\n")); n != 3 {
		t.Errorf("%d lines were added:\n%s", n, fixed.Raw[len(raw):])
	}
	again, err := mustRead(t, "x.jsonl", fixed.Raw).Fix(Options{AppendOnly: true})
	if err != nil || !bytes.Equal(again.Raw, fixed.Raw) {
		t.Errorf("a second fix: %v\n%s", err, again.Raw)
	}
	linear := []byte(piHead(0) + piSaid("", "", "go") + piCalls("", "", "c1") + piSaid("", "", "well?"))
	if _, err := mustRead(t, "x.jsonl", linear).Fix(Options{AppendOnly: true}); !errors.Is(err, ErrAppendOnly) {
		t.Errorf("a linear file: %v", err)
	}
}

// TestGeminiLines checks that the last line of a message counts, that rewound messages do not, and
// that a repaired message can be appended.
func TestGeminiLines(t *testing.T) {
	for _, raw := range seeds {
		if !strings.Contains(raw, "rewindTo") {
			continue
		}
		l, found, fixed := fix(t, "session-1.jsonl", []byte(raw))
		if l.Format != GeminiCLI || len(found) != 1 || found[0].Line != 7 || l.Tally().Messages != 3 {
			t.Fatalf("%v %+v %+v", l.Format, l.Tally(), found)
		}
		before, after := strings.Split(raw, "\n"), strings.Split(string(fixed.Raw), "\n")
		for i := range before {
			if i != 6 && before[i] != after[i] {
				t.Errorf("line %d was changed", i+1)
			}
		}
		more, err := l.Fix(Options{AppendOnly: true})
		if err != nil || !strings.HasPrefix(string(more.Raw), raw) || len(more.Remaining) > 0 {
			t.Errorf("append only: %v, %+v\n%s", err, more.Remaining, more.Raw)
		}
	}
}

// TestOpenCode checks that a part which was running when the program died is ended.
func TestOpenCode(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	fsys := fstest.MapFS{
		"storage/message/ses_1/msg_1.json":  file(`{"id":"msg_1","sessionID":"ses_1","role":"user"}`),
		"storage/message/ses_1/msg_2.json":  file(`{"id":"msg_2","sessionID":"ses_1","role":"assistant"}`),
		"storage/message/ses_1/msg_3.json":  file(`{"id":"msg_3","sessionID":"ses_1","role":"user"}`),
		"storage/part/msg_1/prt_1.json":     file(`{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"hi"}`),
		"storage/part/msg_2/prt_2.json":     file(`{"id":"prt_2","sessionID":"ses_1","messageID":"msg_2","type":"tool","callID":"c1","tool":"bash","state":{"status":"completed","input":{},"output":"ok","time":{"start":1,"end":2}}}`),
		"storage/part/msg_2/prt_3.json":     file("{\n  \"id\": \"prt_3\",\n  \"sessionID\": \"ses_1\",\n  \"messageID\": \"msg_2\",\n  \"type\": \"tool\",\n  \"callID\": \"c2\",\n  \"tool\": \"bash\",\n  \"state\": {\n    \"status\": \"running\",\n    \"input\": {\"command\": \"x\"},\n    \"time\": {\"start\": 5}\n  }\n}"),
		"storage/part/msg_3/prt_4.json":     file(`{"id":"prt_4","sessionID":"ses_1","messageID":"msg_3","type":"text","text":"and?"}`),
		"storage/part/msg_3/prt_5.json":     file(`{"id":"prt_5"`),
		"storage/session/proj/ses_1.json":   file(`{"id":"ses_1"}`),
		"storage/session_diff/ses_1.json":   file(`[]`),
		"storage/part/msg_3/prt_5.json.tmp": file(`x`),
	}
	l, err := ReadFolder(fsys, Options{})
	if err != nil {
		t.Fatal(err)
	}
	found := l.Check(wire.CheckOptions{})
	if count(found, "orphan-call") != 1 || count(found, "torn-file") != 1 || len(found) != 2 {
		t.Fatalf("%+v", found)
	}
	if f := found[0]; f.File != "storage/part/msg_2/prt_3.json" || f.Line != 1 || f.Offset != 0 {
		t.Errorf("%s:%d", f.File, f.Line)
	}
	fixed, err := l.Fix(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(fixed.Files) != 2 || fixed.Files[0].Path != "storage/part/msg_2/prt_3.json" || len(fixed.Remaining) != 0 {
		t.Fatalf("%+v", fixed)
	}
	if got := string(fixed.Files[0].Raw); !strings.Contains(got, `"status": "error"`) || !strings.Contains(got, wording.Stub) || !strings.Contains(got, `"input": {"command": "x"}`) {
		t.Errorf("got %s", got)
	}
	for _, f := range fixed.Files {
		fsys[f.Path] = &fstest.MapFile{Data: f.Raw}
	}
	if again, _ := ReadFolder(fsys, Options{}); len(again.Check(wire.CheckOptions{})) > 0 {
		t.Error("still open")
	}
}

// TestDetect checks that files of agents are distinguished and that request bodies are not
// detected.
func TestDetect(t *testing.T) {
	for _, s := range samples(t, agentFolders...) {
		if f, ok := Detect(s.name, s.raw); !ok || f != mustFormat(s.name) {
			t.Errorf("%s is taken for %v", s.name, f)
		}
		if strings.HasPrefix(s.name, "cline/") {
			if f, ok := Detect("history.json", s.raw); ok {
				t.Errorf("a bare list is taken for %v", f)
			}
		}
	}
	for _, file := range corpus.Files(t, "anthropic_messages/*", "openai_chat/*", "openai_responses/*", "gemini/*", "bedrock_converse/*") {
		if f, ok := Detect(file.Name(), file.Raw); ok {
			t.Errorf("%s is taken for %v", file.Name(), f)
		}
	}
	bodies, _ := filepath.Glob("../../testdata/*")
	for _, file := range bodies {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if f, ok := Detect(file, raw); ok {
			t.Errorf("%s is taken for %v", file, f)
		}
	}
}

// TestThinkingOfOpenCallsStays checks that thinking before an unanswered call stays with the call.
// The file does not tell whether thinking is enabled.
func TestThinkingOfOpenCallsStays(t *testing.T) {
	const reply = `{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"S"},{"type":"tool_use","id":"t1","name":"f","input":{}}],"ts":1}`
	l := mustRead(t, "api_conversation_history.json", []byte(`[{"role":"user","content":[{"type":"text","text":"go"}]},`+reply+`]`))
	if found := l.Check(wire.CheckOptions{}); len(found) != 1 || found[0].Rule != "orphan-call" {
		t.Errorf("%+v", found)
	}
	fixed, err := l.Fix(Options{})
	if err != nil || !strings.Contains(string(fixed.Raw), reply) || len(fixed.Changes) != 1 {
		t.Errorf("%v\n%s", err, fixed.Raw)
	}
}
