package agentlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/wire"
)

// A sessionMaker writes realistic sessions of an agent with a number of turns. Each turn has a
// prompt, two calls with their results, and an answer.
type sessionMaker struct {
	file   string
	format Format
	make   func(turns int) string
	// damages damage a session of three turns; the values are the expected findings.
	damages map[string]struct {
		spoil func(string) string
		rule  string
	}
}

type spoiling = struct {
	spoil func(string) string
	rule  string
}

// withoutLine removes the first line that contains a text.
func withoutLine(text string) func(string) string {
	return func(raw string) string {
		lines := strings.SplitAfter(raw, "\n")
		i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, text) })
		return strings.Join(slices.Delete(lines, i, i+1), "")
	}
}

// replacing replaces the first occurrence of a text.
func replacing(old, now string) func(string) string {
	return func(raw string) string {
		if !strings.Contains(raw, old) {
			panic(old)
		}
		return strings.Replace(raw, old, now, 1)
	}
}

func output(n int) string { return strings.Repeat(fmt.Sprintf("line of output %d, ", n), 20) }

func jsonLines(all ...map[string]any) string {
	var b strings.Builder
	for _, f := range all {
		b.WriteString(ordered(fields(f)) + "\n")
	}
	return b.String()
}

func makeCopilot(turns int) string {
	var all []map[string]any
	n := 0
	event := func(kind string, data map[string]any) {
		n++
		all = append(all, map[string]any{"type": kind, "data": data, "id": fmt.Sprintf("id-%04d", n), "timestamp": fmt.Sprintf("2026-11-18T10:%02d:%02d.000Z", n/60, n%60), "parentId": fmt.Sprintf("id-%04d", n-1)})
	}
	event("session.start", map[string]any{"sessionId": "s", "version": 1, "producer": "copilot-agent", "copilotVersion": "1.0.102", "selectedModel": "claude-sonnet-4-5", "context": map[string]any{"cwd": "/w"}})
	for i := range turns {
		event("user.message", map[string]any{"content": fmt.Sprintf("prompt %d", i), "transformedContent": fmt.Sprintf("now: prompt %d", i)})
		var calls []map[string]any
		for k := range 2 {
			calls = append(calls, map[string]any{"toolCallId": fmt.Sprintf("call_%d_%d", i, k), "name": "bash", "arguments": map[string]any{"command": "ls"}, "type": "function"})
		}
		event("assistant.message", map[string]any{"messageId": fmt.Sprintf("m%d", i), "model": "claude-sonnet-4-5", "content": "", "toolRequests": calls})
		for k := range 2 {
			id := fmt.Sprintf("call_%d_%d", i, k)
			event("tool.execution_start", map[string]any{"toolCallId": id, "toolName": "bash"})
			event("tool.execution_complete", map[string]any{"toolCallId": id, "success": true, "result": map[string]any{"content": output(10*i + k)}})
		}
		event("assistant.message", map[string]any{"messageId": fmt.Sprintf("a%d", i), "model": "claude-sonnet-4-5", "content": fmt.Sprintf("answer %d", i), "toolRequests": []int{}})
	}
	return jsonLines(all...)
}

func makeQwen(turns int) string {
	var all []map[string]any
	n := 0
	line := func(kind string, more map[string]any) {
		n++
		f := map[string]any{"uuid": fmt.Sprintf("u-%04d", n), "parentUuid": nil, "sessionId": "s", "timestamp": fmt.Sprintf("2026-11-18T10:%02d:%02d.000Z", n/60, n%60), "type": kind, "cwd": "/w", "version": "0.24.4"}
		if n > 1 {
			f["parentUuid"] = fmt.Sprintf("u-%04d", n-1)
		}
		for k, v := range more {
			f[k] = v
		}
		all = append(all, f)
	}
	says := func(kind, role string, parts ...map[string]any) {
		line(kind, map[string]any{"message": map[string]any{"role": role, "parts": parts}})
	}
	for i := range turns {
		says("user", "user", map[string]any{"text": fmt.Sprintf("prompt %d", i)})
		line("system", map[string]any{"subtype": "ui_telemetry", "systemPayload": map[string]any{}})
		var calls []map[string]any
		for k := range 2 {
			calls = append(calls, map[string]any{"functionCall": map[string]any{"id": fmt.Sprintf("call_%d_%d", i, k), "name": "run_shell_command", "args": map[string]any{"command": "ls"}}})
		}
		says("assistant", "model", calls...)
		for k := range 2 {
			says("tool_result", "user", map[string]any{"functionResponse": map[string]any{"id": fmt.Sprintf("call_%d_%d", i, k), "name": "run_shell_command", "response": map[string]any{"output": output(10*i + k)}}})
		}
		says("assistant", "model", map[string]any{"text": "so", "thought": true}, map[string]any{"text": fmt.Sprintf("answer %d", i)})
	}
	return jsonLines(all...)
}

func makeContinue(turns int) string {
	var items []map[string]any
	say := func(role, text string) {
		items = append(items, map[string]any{"message": map[string]any{"role": role, "content": text}, "contextItems": []int{}})
	}
	for i := range turns {
		say("user", fmt.Sprintf("prompt %d", i))
		var calls, states []map[string]any
		for k := range 2 {
			id := fmt.Sprintf("call_%d_%d", i, k)
			call := map[string]any{"id": id, "type": "function", "function": map[string]any{"name": "Bash", "arguments": `{"command":"ls"}`}}
			calls = append(calls, call)
			states = append(states, map[string]any{"toolCallId": id, "toolCall": call, "status": "done", "parsedArgs": map[string]any{"command": "ls"}, "output": []map[string]any{{"content": output(10*i + k), "name": "Tool Result"}}})
		}
		items = append(items, map[string]any{"message": map[string]any{"role": "assistant", "content": "", "toolCalls": calls}, "contextItems": []int{}, "toolCallStates": states})
		say("assistant", fmt.Sprintf("answer %d", i))
	}
	raw, err := json.MarshalIndent(map[string]any{"sessionId": "s", "title": "t", "workspaceDirectory": "/w", "history": items}, "", "  ")
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func makeCline3(turns int) string {
	var all []map[string]any
	say := func(role string, blocks ...map[string]any) {
		all = append(all, map[string]any{"id": fmt.Sprintf("m%d", len(all)), "role": role, "content": blocks, "ts": 1000 + len(all)})
	}
	for i := range turns {
		say("user", map[string]any{"type": "text", "text": fmt.Sprintf("prompt %d", i)})
		var calls, results []map[string]any
		for k := range 2 {
			id := fmt.Sprintf("call_%d_%d", i, k)
			calls = append(calls, map[string]any{"type": "tool_use", "id": id, "name": "run_commands", "input": map[string]any{"commands": []string{"ls"}}})
			results = append(results, map[string]any{"type": "tool_result", "tool_use_id": id, "name": "run_commands", "content": []map[string]any{{"query": "ls", "result": output(10*i + k), "success": true}}})
		}
		say("assistant", calls...)
		say("user", results...)
		say("assistant", map[string]any{"type": "text", "text": fmt.Sprintf("answer %d", i)})
	}
	raw, err := json.Marshal(map[string]any{"version": 1, "updated_at": "2026-11-18T10:00:00Z", "sessionId": "s", "agent": "lead", "systemPrompt": "be good", "messages": all})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func makeOpenCodeExport(turns int) string {
	var all []map[string]any
	n := 0
	id := func(kind string) string { n++; return fmt.Sprintf("%s_%05d", kind, n) }
	say := func(role string, parts ...map[string]any) {
		m := id("msg")
		for _, p := range parts {
			p["id"], p["messageID"], p["sessionID"] = id("prt"), m, "ses_1"
		}
		all = append(all, map[string]any{"info": map[string]any{"id": m, "sessionID": "ses_1", "role": role, "modelID": "claude-sonnet-4-5"}, "parts": parts})
	}
	for i := range turns {
		say("user", map[string]any{"type": "text", "text": fmt.Sprintf("prompt %d", i)})
		parts := []map[string]any{{"type": "step-start"}, {"type": "reasoning", "text": "hm"}}
		for k := range 2 {
			parts = append(parts, map[string]any{"type": "tool", "tool": "bash", "callID": fmt.Sprintf("call_%d_%d", i, k), "state": map[string]any{"status": "completed", "input": map[string]any{"command": "ls"}, "output": output(10*i + k), "title": "", "metadata": map[string]any{}, "time": map[string]any{"start": 1, "end": 2}}})
		}
		say("assistant", append(parts, map[string]any{"type": "step-finish"})...)
		say("assistant", map[string]any{"type": "step-start"}, map[string]any{"type": "text", "text": fmt.Sprintf("answer %d", i)})
	}
	raw, err := json.Marshal(map[string]any{"info": map[string]any{"id": "ses_1", "directory": "/w", "version": "1.18.33"}, "messages": all})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func makeATIF(turns int) string {
	var all []map[string]any
	step := func(source, text string, more map[string]any) {
		s := map[string]any{"step_id": len(all) + 1, "timestamp": "2026-11-18T10:00:00Z", "source": source, "message": text}
		for k, v := range more {
			s[k] = v
		}
		all = append(all, s)
	}
	for i := range turns {
		step("user", fmt.Sprintf("prompt %d", i), nil)
		var calls, results []map[string]any
		for k := range 2 {
			id := fmt.Sprintf("call_%d_%d", i, k)
			calls = append(calls, map[string]any{"tool_call_id": id, "function_name": "bash_command", "arguments": map[string]any{"keystrokes": "ls\n"}})
			results = append(results, map[string]any{"source_call_id": id, "content": output(10*i + k)})
		}
		step("agent", fmt.Sprintf("words %d", i), map[string]any{"model_name": "claude-sonnet-4-5", "tool_calls": calls, "observation": map[string]any{"results": append(results, map[string]any{"content": "the terminal is ready"})}})
		step("agent", fmt.Sprintf("answer %d", i), map[string]any{"metrics": map[string]any{"prompt_tokens": 100, "completion_tokens": 5}})
	}
	raw, err := json.MarshalIndent(map[string]any{"schema_version": "ATIF-v1.7", "session_id": "s", "agent": map[string]any{"name": "terminus-2", "version": "2.0.0", "model_name": "claude-sonnet-4-5"}, "steps": all, "final_metrics": map[string]any{"total_steps": len(all)}}, "", "  ")
	if err != nil {
		panic(err)
	}
	return string(raw)
}

var sessionMakers = map[string]sessionMaker{
	"copilot": {"events.jsonl", Copilot, makeCopilot, map[string]spoiling{
		"result":    {withoutLine(`"tool.execution_complete"`), "orphan-call"},
		"call":      {withoutLine(`"toolRequests":[{`), "orphan-result"},
		"head":      {withoutLine(`"session.start"`), "lost-head"},
		"two in id": {replacing(`"toolCallId":"call_0_1","type"`, `"toolCallId":"call_0_0","type"`), "orphan-result"},
	}},
	"qwen-code": {"s.jsonl", QwenCode, makeQwen, map[string]spoiling{
		"result":   {withoutLine(`"functionResponse"`), "dangling-parent"},
		"call":     {withoutLine(`"functionCall"`), "dangling-parent"},
		"a system": {withoutLine(`"ui_telemetry"`), "dangling-parent"},
		"response": {replacing(`"functionResponse":{"id":"call_0_0"`, `"functionResponse":{"id":"call_9"`), "orphan-result"},
		"torn":     {func(raw string) string { return raw[:len(raw)-40] }, "truncated-line"},
	}},
	"continue": {"s.json", Continue, makeContinue, map[string]spoiling{
		"states": {replacing(`"toolCallStates"`, `"lostStates"`), "orphan-call"},
		"calls":  {replacing(`"toolCalls"`, `"lostCalls"`), "orphan-result"},
	}},
	"cline-3": {"s.messages.json", Cline3, makeCline3, map[string]spoiling{
		"result": {replacing(`"tool_use_id":"call_0_0"`, `"tool_use_id":"call_9"`), "orphan-call"},
		"call":   {replacing(`"id":"call_0_0"`, `"id":"call_9"`), "orphan-result"},
	}},
	"atif": {"trajectory.json", ATIF, makeATIF, map[string]spoiling{
		"result":       {replacing(`"source_call_id": "call_0_0"`, `"lost": "call_0_0"`), "orphan-call"},
		"call":         {replacing(`"tool_call_id": "call_0_0"`, `"tool_call_id": "call_9"`), "orphan-result"},
		"result twice": {replacing(`"source_call_id": "call_0_1"`, `"source_call_id": "call_0_0"`), "duplicate-result"},
		"observation":  {replacing(`"observation"`, `"lost"`), "orphan-call"},
	}},
	"opencode-export": {"e.json", OpenCodeExport, makeOpenCodeExport, map[string]spoiling{
		"running":   {replacing(`"status":"completed"`, `"status":"running"`), "orphan-call"},
		"no output": {replacing(`"output":"line`, `"lost":"line`), "orphan-call"},
	}},
}

// TestNewerAgentsAreRepaired checks that sessions of newer agents are detected, clean if undamaged,
// completely repaired in one run, and otherwise unchanged.
func TestNewerAgentsAreRepaired(t *testing.T) {
	for name, m := range sessionMakers {
		raw := m.make(3)
		t.Run(name, func(t *testing.T) {
			if f, ok := Detect(m.file, []byte(raw)); !ok || f != m.format || f.String() != name {
				t.Fatalf("Detect = %v, %v", f, ok)
			}
			if found := checkOf(t, m.file, raw); len(found) > 0 {
				t.Fatalf("found in a sound session: %v", found)
			}
			l, _ := Read(m.file, []byte(raw), Options{})
			if n := l.Tally(); n.Calls != 6 || n.Results != 6 {
				t.Errorf("tally %+v", n)
			}
		})
		for what, d := range m.damages {
			t.Run(name+"/"+what, func(t *testing.T) { repairs(t, m, d) })
		}
	}
}

func checkOf(t *testing.T, name, raw string) []Finding {
	t.Helper()
	l, err := Read(name, []byte(raw), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return l.Check(wire.CheckOptions{})
}

func repairs(t *testing.T, m sessionMaker, d spoiling) {
	spoilt := d.spoil(m.make(3))
	found := checkOf(t, m.file, spoilt)
	if !slices.ContainsFunc(found, func(f Finding) bool { return f.Rule == d.rule }) {
		t.Fatalf("%s is not found: %v", d.rule, found)
	}
	l, err := Read(m.file, []byte(spoilt), Options{})
	if err != nil {
		t.Fatal(err)
	}
	fixed, err := l.Fix(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if Broken(fixed.Remaining) || Broken(checkOf(t, m.file, string(fixed.Raw))) {
		t.Fatalf("left: %v\n%s", fixed.Remaining, fixed.Raw)
	}
	again, err := Read(m.file, fixed.Raw, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if twice, err := again.Fix(Options{}); err != nil || !bytes.Equal(twice.Raw, fixed.Raw) {
		t.Errorf("a second repair changes something: %v", err)
	}
	sent := string(again.Sent()[0].Request.Raw())
	for i := range 3 {
		if want := fmt.Sprintf("prompt %d", i); !strings.Contains(sent, want) {
			t.Errorf("%q is not sent any more", want)
		}
	}
	same, lines := 0, strings.SplitAfter(spoilt, "\n")
	for _, line := range lines {
		if strings.Contains(string(fixed.Raw), line) {
			same++
		}
	}
	if len(lines) > 4 && same < len(lines)-4 {
		t.Errorf("%d of %d lines are what they were", same, len(lines))
	}
}

// TestNewerAgentsAreShortened checks that trim, prune and compact write the planned session and
// that a second run changes nothing.
func TestNewerAgentsAreShortened(t *testing.T) {
	for name, m := range sessionMakers {
		t.Run(name, func(t *testing.T) {
			wrote := 0
			for _, turns := range []int{4, 12} {
				for _, c := range cuts {
					w, _, faults := shortens("", m.file, []byte(m.make(turns)), c)
					if w {
						wrote++
					}
					for _, f := range faults {
						t.Error(f)
					}
				}
			}
			if wrote < 3 {
				t.Errorf("only %d of 6 sessions were made shorter", wrote)
			}
		})
	}
}

// TestOpenCodeSendsTailAfterSummary checks that the tail which an opencode compaction keeps is sent
// after the summary. A failed compaction has no effect.
func TestOpenCodeSendsTailAfterSummary(t *testing.T) {
	message := func(id, info, text string) string {
		return fmt.Sprintf(`{"info":{"id":%q,"sessionID":"s"%s},"parts":[{"id":"p%s","messageID":%q,"sessionID":"s",%s}]}`, id, info, id, id, text)
	}
	doc := func(summary string) string {
		return `{"info":{"id":"s","directory":"/w"},"messages":[` + strings.Join([]string{
			message("m1", `,"role":"user"`, `"type":"text","text":"one"`),
			message("m2", `,"role":"user"`, `"type":"text","text":"two"`),
			message("m3", `,"role":"user"`, `"type":"compaction","tail_start_id":"m2"`),
			message("m4", `,"role":"assistant","parentID":"m3","summary":true`+summary, `"type":"text","text":"summary"`),
			message("m5", `,"role":"user"`, `"type":"text","text":"three"`),
		}, ",") + `]}`
	}
	for summary, want := range map[string]string{
		`,"finish":"stop"`: "summary two three",
		`,"finish":"error","error":{"name":"ContextOverflowError"}`: "one two three",
		``: "one two summary three",
	} {
		l, err := Read("e.json", []byte(doc(summary)), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		r := l.Sent()[0].Request
		for _, b := range strings.Split(strings.TrimSpace(saidIn(r)), "\n") {
			fields := strings.Fields(b)
			said = append(said, fields[len(fields)-1])
		}
		if got := strings.Join(said, " "); got != want {
			t.Errorf("with %s: %s, want %s", summary, got, want)
		}
	}
}

// TestDuplicateLinesAreRemoved checks that copies of lines are removed wherever they are and that
// other lines stay. Copilot and qwen-code send both copies. Seen by running 1.0.102 and 0.24.4.
func TestDuplicateLinesAreRemoved(t *testing.T) {
	testCopies(t, "events.jsonl", makeCopilot(3), `"toolCallId":"call_2_0"`)
	testCopies(t, "s.jsonl", makeQwen(3), `"functionCall"`)
	other := strings.Replace(makeCopilot(1), "prompt 0", "prompt 9", 1) // the same ids with other text
	if found := mustRead(t, "events.jsonl", []byte(makeCopilot(1)+strings.SplitAfter(other, "\n")[1])).Check(wire.CheckOptions{}); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

func testCopies(t *testing.T, file, whole, words string) {
	lines := strings.SplitAfter(strings.TrimSuffix(whole, "\n"), "\n")
	lines[len(lines)-1] += "\n"
	call := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, words) })
	for name, raw := range map[string]string{
		"all":              whole + whole,
		"all but the head": whole + strings.Join(lines[1:], ""),
		"the head":         strings.Join(slices.Insert(slices.Clone(lines), 5, lines[0]), ""),
		"a call":           whole + lines[call],
		"each": strings.Join(slices.Collect(func(yield func(string) bool) {
			for _, l := range lines {
				_ = yield(l) && yield(l)
			}
		}), ""),
	} {
		l := mustRead(t, file, []byte(raw))
		if n := len(l.Check(wire.CheckOptions{})); n == 0 {
			t.Errorf("%s, %s: nothing is found", file, name)
		}
		fixed, err := l.Fix(Options{})
		if err != nil {
			t.Fatal(err)
		}
		if string(fixed.Raw) != whole {
			t.Errorf("%s, %s: %d bytes instead of %d", file, name, len(fixed.Raw), len(whole))
		}
	}
}

// TestCopilotIgnoresInvalidUTF8 checks a line with invalid UTF-8, which Copilot does not read; it
// makes up a result instead. Seen by running 1.0.102.
func TestCopilotIgnoresInvalidUTF8(t *testing.T) {
	raw := strings.Replace(makeCopilot(2), `"success":true`, "\"note\":\"\xff\xfe\",\"success\":true", 1)
	found := mustRead(t, "events.jsonl", []byte(raw)).Check(wire.CheckOptions{})
	if !Broken(found) {
		t.Errorf("%+v", found)
	}
	fixed, err := mustRead(t, "events.jsonl", []byte(raw)).Fix(Options{})
	if err != nil || strings.Count(string(fixed.Raw), "\ufffd") != 1 || strings.Contains(string(fixed.Raw), "\xff") {
		t.Errorf("%v %q", err, fixed.Raw)
	}
}
