package agentlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare/wire"
)

// ccWrite returns a line of Claude Code.
func ccWrite(uuid, parent string, second int, message string) string {
	kind := "user"
	if strings.Contains(message, `"role":"assistant"`) {
		kind = "assistant"
	}
	up := "null"
	if parent != "" {
		up = `"` + parent + `"`
	}
	return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"sessionId":"s1","version":"2.1.325","type":"%s","message":%s,"uuid":"%s","timestamp":"2026-01-01T00:00:%02d.000Z"}`+"\n",
		up, kind, message, uuid, second)
}

func said(text string) string { return fmt.Sprintf(`{"role":"user","content":"%s"}`, text) }

func replied(id, block string) string {
	return fmt.Sprintf(`{"id":"%s","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[%s]}`, id, block)
}

func calling(id string) string {
	return fmt.Sprintf(`{"type":"tool_use","id":"%s","name":"Read","input":{}}`, id)
}

const textReply = `{"type":"text","text":"done"}`

func linesOf(t testing.TB, raw []byte) []ccLine {
	t.Helper()
	var all []ccLine
	for line := range bytes.Lines(raw) {
		var l ccLine
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, l)
	}
	return all
}

// TestStubFollowsCall checks a lost result whose call is directly followed by the next message of
// the assistant. The stub is inserted between them, also for parallel calls and for two messages in
// a row.
func TestStubFollowsCall(t *testing.T) {
	for _, c := range []struct {
		name, raw string
		want      []string // by line: the uuid of the parent, or "stub"
		answers   map[int]string
	}{
		{
			"one call", ccWrite("u1", "", 1, said("go")) + ccWrite("a1", "u1", 2, replied("m1", calling("c1"))) +
				ccWrite("a2", "r1", 4, replied("m2", textReply)) + ccWrite("u2", "a2", 5, said("well")),
			[]string{"", "u1", "a1", "stub", "a2"}, map[int]string{2: "c1"},
		},
		{
			"at the end", ccWrite("u1", "", 1, said("go")) + ccWrite("a1", "u1", 2, replied("m1", calling("c1"))) +
				ccWrite("a2", "a1", 4, replied("m2", textReply)),
			[]string{"", "u1", "a1", "stub"}, map[int]string{2: "c1"},
		},
		{
			"two calls of a message", ccWrite("u1", "", 1, said("go")) + ccWrite("a1", "u1", 2, replied("m1", calling("c1"))) +
				ccWrite("a2", "a1", 3, replied("m1", calling("c2"))) + ccWrite("a3", "r2", 5, replied("m2", textReply)) + ccWrite("u2", "a3", 6, said("well")),
			[]string{"", "u1", "a1", "a2", "stub", "a3"}, map[int]string{3: "c1 c2"},
		},
		{
			"two messages", ccWrite("u1", "", 1, said("go")) + ccWrite("a1", "u1", 2, replied("m1", calling("c1"))) +
				ccWrite("a2", "r1", 3, replied("m2", calling("c2"))) + ccWrite("a3", "r2", 5, replied("m3", textReply)) + ccWrite("u2", "a3", 6, said("well")),
			[]string{"", "u1", "a1", "stub", "a2", "stub", "a3"}, map[int]string{2: "c1", 4: "c2"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			fixed, err := mustRead(t, "s.jsonl", []byte(c.raw)).Fix(Options{})
			if err != nil {
				t.Fatal(err)
			}
			verify(t, "s.jsonl", []byte(c.raw), fixed)
			resumable(t, c.name, fixed.Raw)
			all := linesOf(t, fixed.Raw)
			if len(all) != len(c.want) {
				t.Fatalf("%d lines:\n%s", len(all), fixed.Raw)
			}
			for i, want := range c.want {
				got := ""
				if all[i].ParentUUID != nil {
					got = *all[i].ParentUUID
				}
				if want == "stub" {
					want = all[i-1].UUID
				}
				if got != want {
					t.Errorf("line %d hangs on %q, not on %q", i+1, got, want)
				}
				var ids []string
				for _, b := range all[i].blocks() {
					if b.Type == "tool_result" {
						ids = append(ids, b.ToolUseID)
					}
				}
				if got := strings.Join(ids, " "); got != c.answers[i] {
					t.Errorf("line %d answers %q, not %q", i+1, got, c.answers[i])
				}
			}
		})
	}
}

// TestLastPromptSelectsLeaf checks that a repaired branch ends with a line that names its leaf, and
// that such a line selects the leaf unless only a gap separates it from later lines.
func TestLastPromptSelectsLeaf(t *testing.T) {
	old := ccWrite("u1", "", 1, said("go")) + ccWrite("a1", "u1", 2, replied("m1", calling("c1"))) + ccWrite("u2", "a1", 5, said("well")) +
		`{"type":"last-prompt","lastPrompt":"well","leafUuid":"u2","sessionId":"s1"}` + "\n"
	fixed, err := mustRead(t, "s.jsonl", []byte(old)).Fix(Options{AppendOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(fixed.Raw, []byte(old)) || len(fixed.Remaining) > 0 {
		t.Fatalf("%+v\n%s", fixed.Remaining, fixed.Raw)
	}
	all := linesOf(t, fixed.Raw)
	want := fmt.Sprintf(`{"type":"last-prompt","lastPrompt":"well","leafUuid":"%s","sessionId":"s1"}`+"\n", all[len(all)-2].UUID)
	if !bytes.HasSuffix(fixed.Raw, []byte("\n"+want)) {
		t.Errorf("the last line is not %s:\n%s", want, fixed.Raw)
	}
	again, err := mustRead(t, "s.jsonl", fixed.Raw).Fix(Options{AppendOnly: true})
	if err != nil || !bytes.Equal(again.Raw, fixed.Raw) {
		t.Errorf("a second fix is no no-op: %v", err)
	}
	// Without that line, the old leaf is resumed and faulty.
	cut := bytes.TrimSuffix(fixed.Raw, []byte(want))
	if found := mustRead(t, "s.jsonl", cut).Check(wire.CheckOptions{}); len(found) == 0 || found[0].Dormant {
		t.Errorf("the old leaf is not heeded: %+v", found)
	}

	rest := ccWrite("a1", "u1", 2, replied("m1", textReply)) + ccWrite("u2", "a1", 3, said("on")) + ccWrite("a2", "u2", 4, replied("m2", textReply))
	point := func(uuid string) string { return `{"type":"last-prompt","leafUuid":"` + uuid + `"}` + "\n" }
	for _, c := range []struct {
		name, raw string
		want      int // number of messages in the main thread
	}{
		{"newest", rest + point("a2"), 4},
		{"not explicit", rest + point("a1"), 4},
		{"explicit", rest + strings.Replace(point("a1"), "}", `,"explicit":true}`, 1), 2},
		{"explicit, but more was said", ccWrite("a1", "u1", 2, replied("m1", textReply)) + strings.Replace(point("a1"), "}", `,"explicit":true}`, 1) + ccWrite("u2", "a1", 3, said("on")), 3},
		{"other branch", ccWrite("a1", "u1", 2, replied("m1", textReply)) + ccWrite("u2", "a1", 3, said("on")) + ccWrite("a3", "u1", 9, replied("m3", textReply)) + point("u2"), 3},
		{"grown", strings.Replace(rest, `{"parentUuid":"a1"`, point("a1")+`{"parentUuid":"a1"`, 1), 4},
		{"unknown", rest + point("zz"), 4},
		{"gap", ccWrite("a1", "u1", 2, replied("m1", textReply)) + point("a1") + ccWrite("a2", "lost", 4, replied("m2", textReply)), 3},
	} {
		l := mustRead(t, "s.jsonl", []byte(ccWrite("u1", "", 1, said("go"))+c.raw))
		if got := l.Threads[0]; got.Kind != Main || got.Messages() != c.want {
			t.Errorf("%s: %d messages, not %d", c.name, got.Messages(), c.want)
		}
	}
}

// TestMissingFinalNewlineIsAdvice checks that a missing final newline is only advice, and is added
// with any other change.
func TestMissingFinalNewlineIsAdvice(t *testing.T) {
	clean := ccWrite("u1", "", 1, said("go")) + strings.TrimSuffix(ccWrite("a1", "u1", 2, replied("m1", textReply)), "\n")
	broken := ccWrite("u1", "", 1, said("go")) + strings.TrimSuffix(ccWrite("a1", "u1", 2, replied("m1", calling("c1"))), "\n")
	codex := `{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"x"}}` + "\n" + `{"timestamp":"2026-01-01T00:00:01Z","type":"response_item","payload":{"type":"function_call","name":"f","arguments":"{}","call_id":"c1"}}`
	for name, raw := range map[string]string{"clean": clean, "broken": broken, "codex": codex} {
		l := mustRead(t, "s.jsonl", []byte(raw))
		for _, f := range l.Check(wire.CheckOptions{}) {
			if f.Physical {
				t.Errorf("%s: %+v", name, f)
			}
		}
		n := 0
		for _, f := range l.Check(wire.CheckOptions{Advice: true}) {
			if f.Rule == "no-final-newline" {
				n++
				if !f.Physical || !f.Advice || f.Line != 2 || f.Offset != len(raw) {
					t.Errorf("%s: %+v", name, f)
				}
			}
		}
		if n != 1 {
			t.Errorf("%s: %d findings", name, n)
		}
		for _, o := range []Options{{}, {AppendOnly: true}} {
			fixed, err := l.Fix(o)
			if err != nil {
				t.Fatal(err)
			}
			if name == "clean" {
				if string(fixed.Raw) != raw || len(fixed.Changes) > 0 {
					t.Errorf("a clean file is changed: %+v", fixed.Changes)
				}
				continue
			}
			if o.AppendOnly && !bytes.HasPrefix(fixed.Raw, []byte(raw+"\n{")) {
				t.Errorf("%s: lines are changed", name)
			}
			if !bytes.HasSuffix(fixed.Raw, []byte("}\n")) || bytes.Contains(fixed.Raw, []byte("\n\n")) || len(fixed.Remaining) > 0 {
				t.Errorf("%s: %+v\n%q", name, fixed.Remaining, fixed.Raw)
			}
		}
	}
	if found := mustRead(t, "s.jsonl", []byte(clean+"\n")).Check(wire.CheckOptions{Advice: true}); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

// TestExtraMembersStay checks that an agent's own members of a message are not faults and stay in
// changed lines.
func TestExtraMembersStay(t *testing.T) {
	kept := `"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":1}`
	with := func(message string) string {
		return strings.Replace(message, `"type":"message",`, `"type":"message",`+kept+`,`, 1)
	}
	clean := ccWrite("u1", "", 1, said("go")) + ccWrite("a1", "u1", 2, with(replied("m1", calling("c1")))) + ccWrite("r1", "a1", 3, ccResult("c1")) + ccWrite("a2", "r1", 4, with(replied("m2", textReply)))
	if _, found, fixed := fix(t, "s.jsonl", []byte(clean)); len(found)+len(fixed.Changes) > 0 {
		t.Errorf("%+v %+v", found, fixed.Changes)
	}
	empty := `{"type":"text","text":""},` + calling("c1")
	broken := ccWrite("u1", "", 1, said("go")) + ccWrite("a1", "u1", 2, with(replied("m1", empty))) + ccWrite("u2", "a1", 3, said("well?"))
	for _, o := range []Options{{}, {AppendOnly: true}} {
		fixed, err := mustRead(t, "s.jsonl", []byte(broken)).Fix(o)
		if err != nil || Broken(fixed.Remaining) || strings.Count(string(fixed.Raw), kept) < 1 || !strings.Contains(string(fixed.Raw), `"model":"claude-sonnet-4-5"`) {
			t.Errorf("%v %+v\n%s", err, fixed.Remaining, fixed.Raw)
		}
	}
	task := []byte(`[{"role":"user","content":"go","ts":1},{"role":"assistant","content":[` + calling("c1") + `],"ts":2,"modelInfo":{"modelId":"x"}},{"role":"user","content":"well?","ts":3}]`)
	l, err := Read("api_conversation_history.json", task, Options{})
	if err != nil {
		t.Fatal(err)
	}
	found := l.Check(wire.CheckOptions{})
	if len(found) != 1 || found[0].Rule != "orphan-call" {
		t.Errorf("%+v", found)
	}
	fixed, err := l.Fix(Options{})
	if err != nil || len(fixed.Remaining) > 0 || !bytes.Contains(fixed.Raw, []byte(`"ts":3`)) || !bytes.Contains(fixed.Raw, []byte(`"modelInfo":{"modelId":"x"}`)) {
		t.Errorf("%v %+v\n%s", err, fixed.Remaining, fixed.Raw)
	}
}

// TestExtraResultsAreQuoted checks that of several real results one answers the call and the others
// become quotations, while copies and stubs are removed.
func TestExtraResultsAreQuoted(t *testing.T) {
	for name, raw := range map[string]string{
		"codex": codexWrite(0, codexMeta, codexCall("c1"), codexOutput("c1"), `{"type":"function_call_output","call_id":"c1","output":"precious"}`, codexOutput("c1"), codexSays("user", "on")),
		"pi":    piHead(0) + piCalls("", "", "c1") + piResult("", "", "c1") + strings.Replace(piResult("", "", "c1"), "output of c1", "precious", 1) + piResult("", "", "c1") + piSaid("", "", "on"),
	} {
		_, _, fixed := fix(t, name+".jsonl", []byte(raw))
		if n := strings.Count(string(fixed.Raw), "output of c1"); n != 1 || !strings.Contains(string(fixed.Raw), "precious") {
			t.Errorf("%s: %d\n%s", name, n, fixed.Raw)
		}
	}
}

// TestClaudeOmitsStoppedThoughts checks that a message with only stopped thoughts is not reported
// since 2.1.7, which omits it. Earlier versions send it, and every version does if text precedes
// it.
func TestClaudeOmitsStoppedThoughts(t *testing.T) {
	const thought = `{"type":"thinking","thinking":"hm","signature":"S1"}`
	session := func(version string, blocks ...string) []byte {
		raw, last := ccWrite("u0", "", 0, said("first")), "u0"
		for i, b := range blocks {
			next := fmt.Sprintf("a%d", i)
			raw, last = raw+ccWrite(next, last, 1+i, replied("m1", b)), next
		}
		raw += ccWrite("u1", last, 8, said("go on")) + ccWrite("a9", "u1", 9, replied("m2", textReply))
		return []byte(strings.ReplaceAll(raw, "2.1.325", version))
	}
	for _, c := range []struct {
		version string
		blocks  []string
		refused bool
	}{
		{"2.1.325", []string{thought}, false},
		{"2.1.7", []string{thought, thought}, false},
		{"2.1.5", []string{thought}, true},
		{"2.0.76", []string{thought}, true},
		{"1.0.128", []string{thought}, true},
		{"2.1.325", []string{textReply, thought}, true},
	} {
		raw := session(c.version, c.blocks...)
		l, err := Read("x.jsonl", raw, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if found := l.Check(wire.CheckOptions{}); Broken(found) != c.refused {
			t.Errorf("%s, %s: %v", c.version, c.blocks, found)
		}
		fixed, err := l.Fix(Options{})
		if err != nil {
			t.Fatal(err)
		}
		if same := bytes.Equal(fixed.Raw, raw); same == c.refused || len(fixed.Remaining) > 0 {
			t.Errorf("%s, %s: the same bytes: %v; left %v", c.version, c.blocks, same, fixed.Remaining)
		}
	}
}

// TestAppendOnlyEndIsRepeated checks that an append-only repair which drops the end writes the
// remaining last message again, because the agent resumes from the newest line.
func TestAppendOnlyEndIsRepeated(t *testing.T) {
	const thought = `{"type":"thinking","thinking":"hm","signature":"S1"}`
	raw := ccWrite("u0", "", 0, said("first")) + ccWrite("a0", "u0", 1, replied("m1", textReply)) + ccWrite("u1", "a0", 2, said("go on")) + ccWrite("a1", "u1", 3, replied("m2", thought))
	raw = strings.ReplaceAll(raw, "2.1.325", "2.0.76")
	for range 2 {
		l, err := Read("x.jsonl", []byte(raw), Options{})
		if err != nil {
			t.Fatal(err)
		}
		fixed, err := l.Fix(Options{AppendOnly: true})
		if err != nil || len(fixed.Remaining) > 0 || !bytes.HasPrefix(fixed.Raw, []byte(raw)) {
			t.Fatalf("%v, left %v", err, fixed.Remaining)
		}
		request, err := ResumeRequest(fixed.Raw, Options{})
		if err != nil {
			t.Fatal(err)
		}
		sent := string(request.Raw())
		if strings.Contains(sent, "hm") || !strings.Contains(sent, "first") || !strings.Contains(sent, "done") || strings.Count(sent, "go on") != 1 {
			t.Errorf("sent is %s", sent)
		}
		raw = string(fixed.Raw)
	}
}
