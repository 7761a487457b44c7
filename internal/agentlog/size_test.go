package agentlog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/wire"
)

// A ccFile writes lines of Claude Code, each a child of the preceding one.
type ccFile struct {
	strings.Builder
	n    int
	last string
}

func (f *ccFile) line(kind, rest string) *ccFile {
	parent := "null"
	if f.last != "" {
		parent = `"` + f.last + `"`
	}
	f.last = fmt.Sprintf("00000000-0000-4000-8000-%012d", f.n)
	fmt.Fprintf(f, `{"parentUuid":%s,"isSidechain":false,"cwd":"/home/dev/shop","sessionId":"s1","version":"2.1.325","type":%q,%s,"uuid":%q,"timestamp":"2026-11-01T10:%02d:%02d.000Z"}`+"\n",
		parent, kind, rest, f.last, f.n/60%60, f.n%60)
	f.n++
	return f
}

func (f *ccFile) user(text string) *ccFile {
	return f.line("user", `"message":{"role":"user","content":`+string(quote(text))+`}`)
}

func (f *ccFile) assistant(text string, in, out int) *ccFile {
	return f.line("assistant", fmt.Sprintf(`"message":{"id":"msg_%d","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":%s}],"usage":{"input_tokens":3,"cache_creation_input_tokens":100,"cache_read_input_tokens":%d,"output_tokens":%d}}`, f.n, quote(text), in-103, out))
}

func (f *ccFile) call(id, tool string) *ccFile {
	return f.line("assistant", fmt.Sprintf(`"message":{"id":"msg_%d","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"tool_use","id":%q,"name":%q,"input":{"command":"npm test"}}]}`, f.n, id, tool))
}

func (f *ccFile) result(id, text string) *ccFile {
	return f.line("user", fmt.Sprintf(`"message":{"role":"user","content":[{"tool_use_id":%q,"type":"tool_result","content":%s}]},"toolUseResult":{"stdout":%s}`, id, quote(text), quote(text)))
}

func overOf(t *testing.T, raw string) (Finding, bool) {
	t.Helper()
	for _, f := range mustRead(t, "s.jsonl", []byte(raw)).Check(wire.CheckOptions{}) {
		if f.Rule == OverWindow {
			return f, true
		}
	}
	return Finding{}, false
}

// TestOverWindowRecorded checks that the recorded count of the last reply is used and only later
// messages are estimated.
func TestOverWindowRecorded(t *testing.T) {
	small := new(ccFile).user("hello").assistant("hi", 199_000, 20)
	if f, over := overOf(t, small.String()); over {
		t.Errorf("it fits: %+v", f)
	}
	grown := new(ccFile).user("hello").assistant("hi", 199_000, 20).user(strings.Repeat("several words of a log. ", 2000))
	f, over := overOf(t, grown.String())
	if !over || f.Effect != Refused || !strings.Contains(f.Message, "199,020 counted by the API, the rest estimated") || !strings.Contains(f.Message, "(window 200,000, published for claude-sonnet-4-5; ") {
		t.Errorf("%v %+v", over, f)
	}
	fixed, err := mustRead(t, "s.jsonl", []byte(grown.String())).Fix(Options{})
	if err != nil || len(fixed.Changes) > 0 || len(fixed.Remaining) > 0 {
		t.Errorf("a length is nothing to repair: %v %+v", err, fixed)
	}
}

// TestOverWindowAnswered checks that a longer answered request implies a larger window.
func TestOverWindowAnswered(t *testing.T) {
	raw := new(ccFile).user("hello").assistant("hi", 450_000, 20).user("go on").String()
	if f, over := overOf(t, raw); over {
		t.Errorf("%+v", f)
	}
	l := mustRead(t, "s.jsonl", []byte(raw))
	if s := l.Size(l.Sent()[0]); s.Window != 1_000_000 || s.Recorded != 450_020 || s.Beside < 449_000 {
		t.Errorf("%+v", s)
	}
}

// TestOverWindowEstimated checks that a session without usage is estimated and labeled so.
func TestOverWindowEstimated(t *testing.T) {
	raw := new(ccFile).user(strings.Repeat("several words of a log. ", 60_000)).call("toolu_1", "Bash").result("toolu_1", "ok").String()
	f, over := overOf(t, raw)
	if !over || !strings.Contains(f.Message, "estimated, without the system prompt") {
		t.Errorf("%v %+v", over, f)
	}
}

// TestOverWindowNoted checks that a recorded rejection counts regardless of the token counts.
func TestOverWindowNoted(t *testing.T) {
	note := `"isApiErrorMessage":true,"message":{"id":"m","type":"message","role":"assistant","model":"<synthetic>","content":[{"type":"text","text":"Prompt is too long"}]}`
	raw := new(ccFile).user("hello").assistant("hi", 150_000, 20).user("go on").line("assistant", note)
	if f, over := overOf(t, raw.String()); !over || !strings.Contains(f.Message, "has refused the session as too long") {
		t.Errorf("%v %+v", over, f)
	}
	if f, over := overOf(t, raw.user("again").assistant("fine", 150_100, 5).String()); over {
		t.Errorf("it went on: %+v", f)
	}
}

// TestOverWindowStaleUsage checks that the count of a reply kept by a compaction is ignored,
// because it included messages that are no longer sent.
func TestOverWindowStaleUsage(t *testing.T) {
	f := new(ccFile).user("old").assistant("kept", 199_990, 5)
	kept := f.last
	f.last = ""
	f.line("system", `"subtype":"compact_boundary","compactMetadata":{"trigger":"auto","preTokens":199990,"preservedMessages":{"uuids":["`+kept+`"]}}`)
	f.user("This session is being continued from a previous conversation.").user("go on " + strings.Repeat("word ", 500))
	if found, over := overOf(t, f.String()); over {
		t.Errorf("%+v", found)
	}
}

// TestOverWindowCodex checks the window that Codex records.
func TestOverWindowCodex(t *testing.T) {
	r := func(used int) string {
		return strings.Join([]string{
			`{"timestamp":"2026-11-01T10:00:00.000Z","type":"session_meta","payload":{"id":"0199","timestamp":"2026-11-01T10:00:00.000Z","cwd":"/home/dev","originator":"codex","cli_version":"0.99.0"}}`,
			`{"timestamp":"2026-11-01T10:00:00.000Z","type":"turn_context","payload":{"cwd":"/home/dev","model":"gpt-5"}}`,
			`{"timestamp":"2026-11-01T10:00:01.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}}`,
			`{"timestamp":"2026-11-01T10:00:02.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}}`,
			fmt.Sprintf(`{"timestamp":"2026-11-01T10:00:02.000Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":9},"last_token_usage":{"input_tokens":%d,"cached_input_tokens":0,"output_tokens":10},"model_context_window":258400}}}`, used),
			`{"timestamp":"2026-11-01T10:00:03.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"` + strings.Repeat("words ", 400) + `"}]}}`,
		}, "\n") + "\n"
	}
	if f, over := overOf(t, r(200_000)); over {
		t.Errorf("%+v", f)
	}
	if f, over := overOf(t, r(258_300)); !over || !strings.Contains(f.Message, "(window 258,400, recorded in the session; ") {
		t.Errorf("%v %+v", over, f)
	}
}

// TestOverWindowCopilot checks the usage record, which precedes its reply and names the maximum
// prompt. Requests that Copilot shortened are ignored, and Copilot shortens a session that is too
// long itself. Seen by running 1.0.102.
func TestOverWindowCopilot(t *testing.T) {
	said := func(used int, before ...string) string {
		lines := strings.SplitAfter(makeCopilot(3), "\n")
		record := fmt.Sprintf(`{"type":"session.usage_record","data":{"usage":{"model":"claude-sonnet-4-5","inputTokens":%d,"outputTokens":3,"interactionType":"conversation-agent","maxPromptTokens":64000}},"id":"u","timestamp":"2026-11-18T10:00:00.000Z","parentId":"p"}`+"\n", used)
		at := len(lines) - 2 // of the last reply
		return strings.Join(slices.Concat(lines[:at], before, []string{record}, lines[at:]), "")
	}
	if f, over := overOf(t, said(50_000)); over {
		t.Errorf("%+v", f)
	}
	full := said(63_990) + `{"type":"user.message","data":{"content":"` + strings.Repeat("words ", 400) + `"},"id":"q","timestamp":"2026-11-18T10:10:00.000Z","parentId":"p"}` + "\n"
	if f, over := overOf(t, full); !over || !strings.Contains(f.Message, "(window 64,000, recorded in the session; ") || !strings.Contains(f.Message, "leaves out what does not fit") {
		t.Errorf("%v %+v", over, f)
	}
	if got := outlookOf(t, "copilot", "events.jsonl", full); got != Forgets {
		t.Errorf("%v", got)
	}
	cut := `{"type":"session.truncation","data":{"tokenLimit":64000,"messagesRemovedDuringTruncation":3},"id":"t","timestamp":"2026-11-18T10:00:00.000Z","parentId":"p"}` + "\n"
	l, err := Read("events.jsonl", []byte(said(9_000, cut)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := l.Counted(l.Sent()[0]); got != (fullness.Counted{Window: 64_000}) {
		t.Errorf("%+v", got)
	}
}

// TestOverWindowContinue checks that Continue is expected to summarize a session that is too long
// and to omit the rest. Seen by running 1.5.47.
func TestOverWindowContinue(t *testing.T) {
	full := strings.NewReplacer(
		`"content": "answer 1"`, `"content": "`+strings.Repeat("several words of a log. ", 60_000)+`"`,
		`"content": "answer 2"`, `"content": "answer 2", "usage": {"prompt_tokens": 2, "completion_tokens": 1, "model": "gpt-4o"}`,
	).Replace(makeContinue(3))
	if f, over := overOf(t, full); !over || !strings.Contains(f.Message, "leaves out what does not fit") {
		t.Errorf("%v %+v", over, f)
	}
	if got := outlookOf(t, "continue", "s.json", full); got != Forgets {
		t.Errorf("%v", got)
	}
}

// TestOverWindowClipped checks that Codex is expected to clip long results before sending them.
// Seen by running 0.166.0.
func TestOverWindowClipped(t *testing.T) {
	long := strings.Repeat("several words of a log. ", 120_000)
	rollout := func(result, reply, count string) string {
		var b strings.Builder
		for _, payload := range []string{
			`"session_meta","payload":{"id":"0199","timestamp":"2026-11-01T10:00:00.000Z","cwd":"/home/dev","originator":"codex","cli_version":"0.166.0"}`,
			`"turn_context","payload":{"cwd":"/home/dev","model":"gpt-5"}`,
			`"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}`,
			`"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{}","call_id":"call_1"}`,
			`"response_item","payload":{"type":"function_call_output","call_id":"call_1","output":"` + result + `"}`,
			`"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"` + reply + `"}]}`,
			count,
			`"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"go on"}]}`,
		} {
			if payload == "" {
				continue
			}
			b.WriteString(`{"timestamp":"2026-11-01T10:00:00.000Z","type":` + payload + "}\n")
		}
		return b.String()
	}
	// The API counted clipped results, so nothing is subtracted.
	full := `"event_msg","payload":{"type":"token_count","info":{"last_token_usage":{"input_tokens":399990,"output_tokens":20},"model_context_window":400000}}`
	if f, over := overOf(t, rollout(long, "done", "")); over {
		t.Errorf("%+v", f)
	}
	for name, raw := range map[string]string{"a reply": rollout("ok", long, ""), "both": rollout(long, long, ""), "counted": rollout(long, "done", full)} {
		if _, over := overOf(t, raw); !over {
			t.Errorf("%s: it fits", name)
		}
	}
}
