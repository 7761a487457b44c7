package agentlog

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// wordy are faulty session files with words in members that no repair reads.
var wordy = map[string]struct{ file, raw string }{
	"openhands, a stray observation": {"events.jsonl", `{"id":0,"timestamp":"t","source":"user","action":"message","message":"please look","args":{"content":"please look"}}
{"id":1,"timestamp":"t","source":"agent","message":"it ran well","observation":"run","content":"found it there","extras":{"command":"list all files","metadata":{"note":"deep down here"}},"tool_call_metadata":{"function_name":"f","tool_call_id":"c1","model_response":{"content":"let me see now"}}}
`},
	"openhands, an open action": {"events.jsonl", `{"id":0,"timestamp":"t","source":"user","action":"message","message":"please look","args":{"content":"please look"}}
{"id":1,"timestamp":"t","source":"agent","message":"running it now","action":"run","args":{"command":"list all files","thought":"let me see"},"tool_call_metadata":{"function_name":"f","tool_call_id":"c1"}}
{"id":2,"timestamp":"t","source":"user","action":"message","message":"go on now","args":{"content":"go on now"}}
`},
	"goose, a stray response": {"s.jsonl", `{"working_dir":"/x","description":"a talk","message_count":1}
{"role":"user","created":1,"content":[{"type":"text","text":"please look"}],"note":"beside the message"}
{"role":"user","created":1,"content":[{"type":"toolResponse","id":"c1","toolResult":{"status":"success","value":[{"type":"resource","resource":{"text":"an embedded resource"}}]}}],"note":"beside a result"}
`},
	"pi, a stray result": {"s.jsonl", `{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/x"}
{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"user","content":"please look"}}
{"type":"message","id":"b","parentId":"a","timestamp":"t","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"found it there"}],"details":{"diff":"one line more"}}}
`},
	"pi, an open call that failed": {"s.jsonl", `{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/x"}
{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"user","content":"please look"}}
{"type":"message","id":"b","parentId":"a","timestamp":"t","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"f","arguments":{}}],"errorMessage":"the line broke down"}}
{"type":"message","id":"c","parentId":"b","timestamp":"t","message":{"role":"user","content":"and then this"}}
`},
	"pi, two results that differ in details": {"s.jsonl", `{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/x"}
{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{}}]}}
{"type":"message","id":"b","parentId":"a","timestamp":"t","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"found it there"}],"details":{"diff":"one line more"}}}
{"type":"message","id":"c","parentId":"b","timestamp":"t","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"found it there"}],"details":{"diff":"two lines more"}}}
`},
	"codex, a stray output": {"rollout-x.jsonl", codexWrite(-1, codexMeta, codexSays("user", "please look"), `{"type":"function_call_output","call_id":"c1","output":"found it there","note":"beside the output"}`)},
	"adk, a stray response": {"s.json", `{"id":"s","appName":"a","userId":"u","events":[{"id":"1","invocationId":"e","author":"user","content":{"role":"user","parts":[{"text":"please look"}]}},` +
		`{"id":"2","invocationId":"e","author":"agent","content":{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"read","response":{"output":"found it there"},"note":"beside the response"}}],"more":"in the content"},"actions":{"stateDelta":{"k":"a new state"}}}]}`},
	"claude code, a record of nothing": {"s.jsonl", `{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"please look"}}
{"type":"user","uuid":"u2","parentUuid":"u1","sessionId":"s","timestamp":"2026-01-01T00:00:02.000Z","toolUseResult":{"stdout":"as a record"},"message":{"role":"user","content":[],"aside":"words beside it"}}
{"type":"assistant","uuid":"u3","parentUuid":"u2","sessionId":"s","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"assistant","content":[{"type":"text","text":"so it is"}]}}
`},
	"cline, a block of another API": {"api_conversation_history.json", `[{"role":"user","content":[{"type":"text","text":"please look","zork":"words beside it"}]},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"read","input":{}}],"ts":1}]`},
	"copilot, a request without an id": {"events.jsonl", `{"type":"assistant.message","data":{"messageId":"m","model":"x","content":"","toolRequests":[{"role":"admin","name":"Ann Smith here"}]},"id":"e","timestamp":"2026-11-01T10:00:03.000Z","parentId":null}
`},
	"pi, a call without an id": {"s.jsonl", `{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/x"}
{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"user","content":"please look"}}
{"type":"message","id":"b","parentId":"a","timestamp":"t","message":{"role":"assistant","content":[{"type":"toolCall","name":"Ann Smith here","arguments":{"a":"words of hers"}}]}}
{"type":"message","id":"c","parentId":"b","timestamp":"t","message":{"role":"user","content":"and then this"}}
`},
	"goose, a request without an id": {"s.jsonl", `{"working_dir":"/x","description":"a talk","message_count":2}
{"role":"user","created":1,"content":[{"type":"text","text":"please look"}]}
{"role":"assistant","created":1,"content":[{"type":"toolRequest","toolCall":{"status":"success","value":{"name":"Ann Smith here","arguments":{"a":"words of hers"}}}}]}
{"role":"user","created":1,"content":[{"type":"text","text":"and then this"}]}
`},
	"codex, a call without an id": {"rollout-x.jsonl", codexWrite(-1, codexMeta, codexSays("user", "please look"), `{"type":"function_call","name":"Ann Smith here","arguments":"{\"a\":\"words of hers\"}"}`, codexSays("user", "and then this"))},
	"gemini cli, two responses": {"session-2026-01-01T00-00-01a1e58d.jsonl", `{"sessionId":"s","projectHash":"p","startTime":"t"}
{"id":"1","timestamp":"t","type":"user","content":"please look"}
{"id":"2","timestamp":"t","type":"gemini","content":"","toolCalls":[{"id":"c1","name":"f","args":{},"result":[{"functionResponse":{"id":"c1","name":"f","response":{"output":"found it there"}}},{"functionResponse":{"id":"c1","name":"f","response":{"output":"found it there"},"note":"beside the response"}}]}]}
`},
}

// prose returns the strings of some JSON that contain a blank, including keys.
func prose(t *testing.T, raw []byte) (all []string) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	for {
		tok, err := d.Token()
		if err != nil {
			return all
		}
		if s, ok := tok.(string); ok && strings.Contains(s, " ") {
			all = append(all, s)
		}
	}
}

// TestRepairsKeepWords checks that every word of a changed record is still in the file, in a call
// or result dropped by request, or in the record because it was not changed. The provider accepts
// the result, and a second repair changes nothing.
func TestRepairsKeepWords(t *testing.T) {
	drop := wire.Repair{OrphanCall: wire.RemedyDrop, OrphanResult: wire.RemedyDrop}
	for name, c := range wordy {
		for how, repair := range map[string]wire.Repair{"": {}, ", dropped": drop} {
			l := mustRead(t, c.file, []byte(c.raw))
			fixed, err := l.Fix(Options{Repair: repair})
			if err != nil {
				t.Fatal(err)
			}
			if !Broken(l.Check(wire.CheckOptions{})) || len(fixed.Changes) == 0 {
				t.Errorf("%s%s: nothing is wrong with it", name, how)
			}
			out := strings.Join(prose(t, fixed.Raw), "\n")
			for _, text := range prose(t, []byte(c.raw)) {
				named := how != "" && (text == "found it there" || text == "beside the output" || text == "beside the response")
				if !named && !strings.Contains(out, text) {
					t.Errorf("%s%s: %q is lost:\n%s", name, how, text, fixed.Raw)
				}
			}
			if Broken(fixed.Remaining) {
				t.Errorf("%s%s: left %+v", name, how, fixed.Remaining)
			}
			again, err := mustRead(t, c.file, fixed.Raw).Fix(Options{Repair: repair})
			if err != nil || !bytes.Equal(again.Raw, fixed.Raw) {
				t.Errorf("%s%s: %v, a second repair makes\n%s\nof\n%s", name, how, err, again.Raw, fixed.Raw)
			}
		}
	}
}

// duplicateCalls are sessions with two calls of one id. %s is replaced by the arguments of the
// second call.
var duplicateCalls = map[string]struct{ file, raw string }{
	"goose": {"s.jsonl", `{"working_dir":"/x","description":"a talk","message_count":1}
{"role":"assistant","created":1,"content":[{"type":"toolRequest","id":"c1","toolCall":{"value":{"name":"f","arguments":{"a":"1"}}}},{"type":"toolRequest","id":"c1","toolCall":{"value":{"name":"f","arguments":{"a":"%s"}}}}]}
{"role":"user","created":1,"content":[{"type":"toolResponse","id":"c1","toolResult":{"value":[{"type":"text","text":"found it there"}]}}]}
`},
	"pi": {"s.jsonl", `{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/x"}
{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"f","arguments":{"a":"1"}},{"type":"toolCall","id":"c1","name":"f","arguments":{"a":"%s"}}]}}
{"type":"message","id":"b","parentId":"a","timestamp":"t","message":{"role":"toolResult","toolCallId":"c1","toolName":"f","content":[{"type":"text","text":"found it there"}]}}
`},
	"codex": {"rollout-x.jsonl", codexWrite(-1, codexMeta, `{"type":"custom_tool_call","name":"f","input":"1","call_id":"c1"}`, `{"type":"custom_tool_call","name":"f","input":"%s","call_id":"c1","status":"completed"}`,
		`{"type":"custom_tool_call_output","call_id":"c1","output":"found it there"}`)},
	"codex, in a compaction": {"rollout-x.jsonl", codexWrite(-1, codexMeta, `compacted|{"message":"","replacement_history":[{"type":"custom_tool_call","name":"f","input":"1","call_id":"c1"},{"type":"custom_tool_call","name":"f","input":"%s","call_id":"c1","status":"completed"},`+
		`{"type":"custom_tool_call_output","call_id":"c1","output":"found it there"}]}`)},
	"openhands": {"events.jsonl", `{"id":1,"timestamp":"t","source":"agent","action":"run","args":{"a":"1"},"tool_call_metadata":{"function_name":"f","tool_call_id":"c1"}}
{"id":2,"timestamp":"t","source":"agent","action":"run","args":{"a":"%s"},"tool_call_metadata":{"function_name":"f","tool_call_id":"c1"}}
{"id":3,"timestamp":"t","source":"agent","observation":"run","content":"found it there","tool_call_metadata":{"function_name":"f","tool_call_id":"c1"}}
`},
}

// TestDuplicateCallIDs checks that a copy of a call is dropped, and that a different call with the
// same id gets a new id.
func TestDuplicateCallIDs(t *testing.T) {
	for name, c := range duplicateCalls {
		for args, calls := range map[string]int{"1": 1, "2": 2} {
			_, found, fixed := fix(t, c.file, []byte(strings.Replace(c.raw, "%s", args, 1)))
			if count(found, "duplicate-call-id") == 0 || Broken(fixed.Remaining) {
				t.Errorf("%s, %s: found %+v, left %+v", name, args, found, fixed.Remaining)
			}
			ids := make(map[string]bool)
			tr := mustRead(t, c.file, fixed.Raw).Sent()[0].Request.Transcript()
			for _, b := range tr.Blocks() {
				if b.Kind == transcript.Call {
					ids[b.CallID] = true
				}
			}
			if len(ids) != calls || !ids["c1"] || !strings.Contains(string(fixed.Raw), "found it there") {
				t.Errorf("%s, %s: calls %v:\n%s", name, args, ids, fixed.Raw)
			}
		}
	}
}

// TestDuplicatePartIDs checks the same in an opencode folder, where a part holds the call and the
// result.
func TestDuplicatePartIDs(t *testing.T) {
	const part = `{"id":"prt_%","sessionID":"ses_1","messageID":"msg_2","type":"tool","callID":"c1","tool":"bash","state":{"status":"completed","input":{},"output":"output of ?","title":"","metadata":{},"time":{"start":1,"end":2}}}`
	for second, renamed := range map[string]bool{"one": false, "two": true} {
		fsys := fstest.MapFS{}
		put := func(name, raw string) { fsys[name] = &fstest.MapFile{Data: []byte(raw)} }
		put("message/ses_1/msg_1.json", `{"id":"msg_1","sessionID":"ses_1","role":"user"}`)
		put("part/msg_1/prt_1.json", `{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"please look"}`)
		put("message/ses_1/msg_2.json", `{"id":"msg_2","sessionID":"ses_1","role":"assistant"}`)
		put("part/msg_2/prt_2.json", strings.NewReplacer("%", "2", "?", "one").Replace(part))
		put("part/msg_2/prt_3.json", strings.NewReplacer("%", "3", "?", second).Replace(part))
		l, err := ReadFolder(fsys, Options{})
		if err != nil {
			t.Fatal(err)
		}
		fixed, err := l.Fix(Options{})
		if err != nil || Broken(fixed.Remaining) || len(fixed.Files) != 1 {
			t.Fatalf("%s: %v, left %+v, %d files", second, err, fixed.Remaining, len(fixed.Files))
		}
		if got := string(fixed.Files[0].Raw); strings.Contains(got, "output of two") != renamed || strings.Contains(got, `"callID":"c1"`) {
			t.Errorf("%s: %s", second, got)
		}
	}
}

// TestRepairIsHeldBack checks that a record whose words would be lost stays unchanged with its
// finding, which explains the reason.
func TestRepairIsHeldBack(t *testing.T) {
	const name = "api_conversation_history.json"
	raw := `[{"role":"user","content":[{"type":"text","text":"please look"}]},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"read","input":{}}],"aside":"the line broke down"}]`
	fixed, err := mustRead(t, name, []byte(raw)).Fix(Options{Repair: wire.Repair{OrphanCall: wire.RemedyDrop}})
	if err != nil {
		t.Fatal(err)
	}
	if len(fixed.Remaining) != 1 || fixed.Remaining[0].Instead != heldBackAdvice || fixed.Remaining[0].IDs[0] != "c1" {
		t.Errorf("left %+v", fixed.Remaining)
	}
	if string(fixed.Raw) != raw || len(fixed.Changes) > 0 {
		t.Errorf("%+v\n%s", fixed.Changes, fixed.Raw)
	}
}

// TestNewRecordsCopyNoWords checks that a new record copies times, ids and paths from its neighbor,
// but no words of a speaker.
func TestNewRecordsCopyNoWords(t *testing.T) {
	const words = "please keep this to yourself"
	for name, c := range map[string]struct{ file, raw string }{
		"goose, created":  {"s.jsonl", `{"role":"assistant","created":"` + words + `","content":[{"type":"toolRequest","id":"c1","toolCall":{"status":"success","value":{"name":"f","arguments":{}}}}]}` + "\n"},
		"goose, metadata": {"s.jsonl", `{"role":"assistant","created":1,"metadata":{"userVisible":true,"agentVisible":true,"note":"` + words + `"},"content":[{"type":"toolRequest","id":"c1","toolCall":{"status":"success","value":{"name":"f","arguments":{}}}}]}` + "\n"},
		"pi, timestamp": {"s.jsonl", `{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/x"}` + "\n" +
			`{"type":"message","id":"a","parentId":null,"timestamp":"` + words + `","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"f","arguments":{}}],"timestamp":"` + words + `"}}` + "\n" +
			`{"type":"message","id":"b","parentId":"a","timestamp":"t","message":{"role":"user","content":"go on"}}` + "\n"},
		"claude code, cwd": {"s.jsonl", `{"type":"assistant","uuid":"u1","parentUuid":null,"sessionId":"s","cwd":"` + words + `","version":"` + words + `","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"Read","input":{}}]}}` + "\n" +
			`{"type":"user","uuid":"u2","parentUuid":"u1","sessionId":"s","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":"go on"}}` + "\n"},
		"openhands, timestamp": {"events.jsonl", `{"id":1,"timestamp":"` + words + `","source":"agent","message":"running","action":"run","args":{"command":"ls"},"tool_call_metadata":{"function_name":"f","tool_call_id":"c1"}}` + "\n" +
			`{"id":2,"timestamp":"t","source":"user","action":"message","message":"go on","args":{"content":"go on"}}` + "\n"},
		"adk, author": {"s.json", `{"id":"s","appName":"a","userId":"u","events":[{"id":"1","invocationId":"` + words + `","author":"` + words + `","timestamp":"` + words + `","content":{"role":"model","parts":[{"functionCall":{"id":"c1","name":"f","args":{}}}]}},` +
			`{"id":"2","invocationId":"e","author":"user","content":{"role":"user","parts":[{"text":"go on"}]}}]}`},
	} {
		fixed, err := mustRead(t, c.file, []byte(c.raw)).Fix(Options{})
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(fixed.Raw), words); n != strings.Count(c.raw, words) || len(fixed.Changes) == 0 {
			t.Errorf("%s: the words are there %d times in\n%s", name, n, fixed.Raw)
		}
	}
	path := `C:\\Users\\Jane Doe\\project`
	fixed, err := mustRead(t, "s.jsonl", []byte(`{"type":"assistant","uuid":"u1","parentUuid":null,"sessionId":"s","cwd":"`+path+`","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"Read","input":{}}]}}`+"\n")).Fix(Options{})
	if err != nil || strings.Count(string(fixed.Raw), path) != 2 {
		t.Errorf("a path with a blank was not taken over: %v\n%s", err, fixed.Raw)
	}
}

// TestKeptWordsNameTheSpeaker checks that kept words include their speaker in any notation.
func TestKeptWordsNameTheSpeaker(t *testing.T) {
	for _, who := range []string{`"role":"user"`, `"Role":{"Label":"user"}`, `"author":{"role":"user"}`, `"sender":["user"]`, `"from":"user"`, `"messageType":"user"`} {
		raw := `{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/x"}
{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"toolResult","toolCallId":"c1","toolName":"f","content":[{"type":"text","text":"found it"}],"details":{` + who + `,"text":"words beside it"}}}
`
		fixed, err := mustRead(t, "s.jsonl", []byte(raw)).Fix(Options{})
		if err != nil || !strings.Contains(string(fixed.Raw), `{`+who+`,"text":"words beside it"}`) {
			t.Errorf("%s: %v\n%s", who, err, fixed.Raw)
		}
	}
}

// TestDocumentsStayDocuments checks that a .json file with one value still has one value after a
// repair, even if its only record belongs to a file of lines that lost its head or its other lines.
func TestDocumentsStayDocuments(t *testing.T) {
	for _, raw := range []string{
		`{"id":"1","timestamp":"t","type":"gemini","content":"so it is"}`,
		`{"projectHash":"p","sessionId":["s"],"id":"1","timestamp":"t","type":"gemini","content":"so it is"}`,
		`{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"f","arguments":{}}]}}`,
		`{"timestamp":"t","type":"response_item","payload":{"type":"function_call","name":"f","arguments":"{}","call_id":"c1"}}`,
	} {
		for name, want := range map[string]bool{"s.json": true, "s.jsonl": false, "": false} {
			l, err := Read(name, []byte(raw), Options{})
			if err != nil {
				t.Fatal(err)
			}
			fixed, err := l.Fix(Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := json.Valid(fixed.Raw); got != want {
				t.Errorf("%q: one value: %t, want %t\n%s", name, got, want, fixed.Raw)
			}
			if want && len(fixed.Remaining) == 0 {
				t.Errorf("%q: nothing is left to say of\n%s", name, fixed.Raw)
			}
		}
	}
}

// TestMovedResultsLeaveSpeakers checks that the user's words stay the user's when a result moves
// from a message of the model to one of the user.
func TestMovedResultsLeaveSpeakers(t *testing.T) {
	for _, result := range []string{`{"tool_use_id":"c1"}`, `{"type":"tool_result","tool_use_id":"c1","content":"found it"}`, `{"type":"tool_result","tool_use_id":"c1"},{"text":"so it is"}`} {
		raw := `[{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{}}]},{"role":"assistant","content":[` + result + `]},{"role":"user","content":[{"text":"please look"}]}]`
		fixed, err := mustRead(t, "api_conversation_history.json", []byte(raw)).Fix(Options{})
		if err != nil {
			t.Fatal(err)
		}
		var all []struct {
			Role    string
			Content json.RawMessage
		}
		if err := json.Unmarshal(fixed.Raw, &all); err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			if m.Role != "user" && bytes.Contains(m.Content, []byte("please look")) {
				t.Errorf("the model says what the user said:\n%s", fixed.Raw)
			}
		}
	}
}

// TestDroppedCallsKeepQuotedSpeakers checks that dropping a call keeps the words of speakers quoted
// in it.
func TestDroppedCallsKeepQuotedSpeakers(t *testing.T) {
	for _, call := range []string{`{"id":{"role":"user","content":"please look"}}`, `{"name":"f","args":{"said":{"role":"user","content":"please look"}}}`, `{"name":"f","args":{"said":"[{\"role\":\"user\",\"content\":\"please look\"}]"}}`} {
		raw := `{"events":[{"invocationId":"e-1","author":"agent","content":{"role":"model","parts":[{"functionCall":` + call + `}]}}]}`
		fixed, err := mustRead(t, "session.json", []byte(raw)).Fix(Options{Repair: wire.Repair{OrphanCall: wire.RemedyDrop}})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(fixed.Raw, []byte("please look")) {
			t.Errorf("%s\n%s\n%+v", raw, fixed.Raw, fixed.Changes)
		}
	}
}
