package agentlog

import (
	"bytes"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pare-llm/pare/wire"
)

// TestEncodingLenient checks invalid UTF-8 in files of agents written in JavaScript. They read
// replacement characters and send the line, so it is not a broken line, and other lines must not be
// linked past it.
func TestEncodingLenient(t *testing.T) {
	for name, text := range map[string]string{
		"a.jsonl": `{"parentUuid":null,"isSidechain":false,"sessionId":"s","version":"1.0.128","type":"user","message":{"role":"user","content":"one"},"uuid":"u1","timestamp":"2026-01-01T00:00:01.000Z"}
{"parentUuid":"u1","isSidechain":false,"sessionId":"s","version":"1.0.128","type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"two"}]},"uuid":"u2","timestamp":"2026-01-01T00:00:02.000Z"}
{"parentUuid":"u2","isSidechain":false,"sessionId":"s","version":"1.0.128","type":"user","message":{"role":"user","content":"WORDS"},"uuid":"u3","timestamp":"2026-01-01T00:00:03.000Z"}
{"parentUuid":"u3","isSidechain":false,"sessionId":"s","version":"1.0.128","type":"assistant","message":{"id":"m2","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Read","input":{}}]},"uuid":"u4","timestamp":"2026-01-01T00:00:04.000Z"}
`,
		"b.jsonl": `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}
{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"WORDS"}],"timestamp":1}}
{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"toolu_1","name":"read","arguments":{}}],"stopReason":"toolUse","timestamp":2}}
`,
		"c.jsonl": `{"sessionId":"s","projectHash":"h","startTime":"2026-01-01T00:00:00.000Z","lastUpdated":"2026-01-01T00:00:00.000Z","kind":"main"}
{"id":"m1","timestamp":"2026-01-01T00:00:01.000Z","type":"user","content":[{"text":"WORDS"}]}
{"id":"m2","timestamp":"2026-01-01T00:00:02.000Z","type":"gemini","content":"","toolCalls":[{"id":"toolu_1","name":"read","args":{},"status":"executing"}]}
`,
	} {
		raw := bytes.ReplaceAll([]byte(text), []byte("WORDS"), []byte("wo\xff\xfe\xffrds \xe2\x82"))
		l, err := Read(name, raw, Options{})
		if err != nil {
			t.Fatal(name, err)
		}
		for _, f := range l.Check(wire.CheckOptions{}) {
			switch f.Rule {
			case encodingRule:
				if f.Effect != Cosmetic || raw[f.Offset] != 0xff {
					t.Errorf("%s: %s at byte %d of %q", name, f.Effect, f.Offset, f.Message)
				}
			case "orphan-call":
				if !bytes.HasPrefix(raw[f.Offset:], []byte("{\"")) || !bytes.Contains(raw[f.Offset:], []byte("toolu_1")) {
					t.Errorf("%s: the call is not at byte %d", name, f.Offset)
				}
			default:
				t.Errorf("%s: found %s", name, f.Rule)
			}
		}
		fixed, err := l.Fix(Options{})
		if err != nil || len(fixed.Remaining) > 0 {
			t.Fatal(name, err, fixed.Remaining)
		}
		if fixed.Changes[0].Rule != encodingRule || !strings.Contains(string(fixed.Raw), "wo\uFFFDrds \uFFFD") {
			t.Errorf("%s: %+v\n%q", name, fixed.Changes, fixed.Raw)
		}
		after, err := Read(name, fixed.Raw, Options{})
		if err != nil || len(after.Check(wire.CheckOptions{})) > 0 || !bytes.Contains(after.Sent()[0].Request.Raw(), []byte("rds")) {
			t.Errorf("%s: %v: the words of the user are not sent", name, err)
		}

		// Without another reason, the file stays unchanged.
		healthy, _, _ := bytes.Cut(raw, []byte(`{"parentUuid":"u3"`))
		healthy, _, _ = bytes.Cut(healthy, []byte(`{"type":"message","id":"a2"`))
		healthy, _, _ = bytes.Cut(healthy, []byte(`{"id":"m2"`))
		if l, err = Read(name, healthy, Options{}); err != nil {
			t.Fatal(name, err)
		}
		if fixed, err = l.Fix(Options{}); err != nil || len(fixed.Changes) > 0 || !bytes.Equal(fixed.Raw, healthy) {
			t.Errorf("%s: %v: %+v", name, err, fixed)
		}

		// An append-only repair keeps every byte.
		if l, err = Read(name, raw, Options{}); err != nil {
			t.Fatal(name, err)
		}
		if fixed, err = l.Fix(Options{AppendOnly: true}); err != nil || !bytes.HasPrefix(fixed.Raw, raw) || len(fixed.Raw) == len(raw) {
			t.Errorf("%s: append only: %v\n%q", name, err, fixed.Raw)
		}
	}
}

// TestEncodingCodex checks invalid UTF-8 in a rollout. Codex ignores the line and forgets its text.
func TestEncodingCodex(t *testing.T) {
	raw := []byte("{\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"type\":\"session_meta\",\"payload\":{\"id\":\"s\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\",\"originator\":\"codex\",\"cli_version\":\"0.166.0\"}}\n" +
		"{\"timestamp\":\"2026-01-01T00:00:01.000Z\",\"type\":\"response_item\",\"payload\":{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"wo\xffrds\"}]}}\n")
	l, err := Read("rollout.jsonl", raw, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if found := l.Check(wire.CheckOptions{}); len(found) != 1 || found[0].Rule != encodingRule || found[0].Effect != Refused || raw[found[0].Offset] != 0xff {
		t.Errorf("found %+v", found)
	}
	fixed, err := l.Fix(Options{})
	if err != nil || len(fixed.Remaining) > 0 || len(fixed.Changes) != 1 || fixed.Changes[0].Line != 2 || string(fixed.Raw) != strings.ToValidUTF8(string(raw), "\uFFFD") {
		t.Fatalf("%v %+v", err, fixed)
	}
	again, err := Read("rollout.jsonl", fixed.Raw, Options{})
	if err != nil || len(again.Check(wire.CheckOptions{})) > 0 {
		t.Errorf("%v: %+v", err, again.Check(wire.CheckOptions{}))
	}
}

// TestEncodingOpenCode checks invalid UTF-8 in a part. opencode sends the part, so it is not torn,
// and an empty part in its place would lose text of the user.
func TestEncodingOpenCode(t *testing.T) {
	fsys := fstest.MapFS{}
	put := func(name, raw string) { fsys[name] = &fstest.MapFile{Data: []byte(raw)} }
	put("storage/session/global/ses_1.json", `{"id":"ses_1"}`)
	put("storage/message/ses_1/msg_1.json", `{"id":"msg_1","sessionID":"ses_1","role":"user"}`)
	put("storage/part/msg_1/prt_1.json", "{\n\"id\":\"prt_1\",\"sessionID\":\"ses_1\",\"messageID\":\"msg_1\",\"type\":\"text\",\n\"text\":\"wo\xffrds\"}")
	l, err := ReadFolder(fsys, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if found := l.Check(wire.CheckOptions{}); len(found) != 1 || found[0].Rule != encodingRule || found[0].Effect != Cosmetic || found[0].Line != 3 {
		t.Errorf("found %+v", found)
	}
	if !bytes.Contains(l.Sent()[0].Request.Raw(), []byte("wo\uFFFDrds")) {
		t.Error("the words of the user are not sent")
	}
	if fixed, err := l.Fix(Options{}); err != nil || len(fixed.Files) > 0 || len(fixed.Changes) > 0 {
		t.Errorf("%v %+v", err, fixed)
	}
}

// TestReceiptsNameOriginalLines checks that receipts name lines of the original, even if an earlier
// round inserted lines.
func TestReceiptsNameOriginalLines(t *testing.T) {
	raw := []byte(`{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}
{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"go"}],"timestamp":1}}
{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{}},{"type":"toolCall","id":"c2","name":"read","arguments":{}},{"type":"toolCall","id":"c3","name":"read","arguments":{}}],"stopReason":"toolUse","timestamp":2}}
{"type":"message","id":"a3","parentId":"a2","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"one"}],"isError":false,"timestamp":3}}
{"type":"message","id":"a4","parentId":"a3","timestamp":"2026-01-01T00:00:04.000Z","message":{"role":"toolResult","toolCallId":"elsewhere","toolName":"read","content":[{"type":"text","text":"two"}],"isError":false,"timestamp":4}}
{"type":"message","id":"a5","parentId":"a4","timestamp":"2026-01-01T00:00:05.000Z","message":{"role":"toolResult","toolCallId":"c3","toolName":"read","content":[{"type":"text","text":"three"}],"isError":false,"timestamp":5}}
{"type":"message","id":"a6","parentId":"a5","timestamp":"2026-01-01T00:00:06.000Z","message":{"role":"assistant","content":[{"type":"text","text":"done"}],"stopReason":"stop","timestamp":6}}
`)
	l, err := Read("a.jsonl", raw, Options{})
	if err != nil {
		t.Fatal(err)
	}
	fixed, err := l.Fix(Options{})
	if err != nil {
		t.Fatal(err)
	}
	named := make(map[int]bool)
	for _, c := range fixed.Changes {
		named[c.Line] = true
		if c.Rule == "displaced-result" && (c.Line != 6 || c.Path != "line.6" && c.Path != "") {
			t.Errorf("the third result is in line 6: %+v", c)
		}
	}
	for i, line := range bytes.Split(raw, []byte{'\n'}) {
		if !bytes.Contains(fixed.Raw, line) && !named[i+1] {
			t.Errorf("line %d is changed, and no receipt says so: %+v", i+1, fixed.Changes)
		}
	}
}

// TestTwoMarksAndInvalidUTF8 checks that two byte order marks are removed at once, even if the file
// contains invalid UTF-8.
func TestTwoMarksAndInvalidUTF8(t *testing.T) {
	for name, raw := range map[string]string{
		"s1.jsonl": ccWrite("u1", "", 1, said("caf\xe9")) + ccWrite("a1", "u1", 2, replied("m1", calling("c1"))),
		codexName:  new(rollout).head(codexOwn, "").user("caf\xe9").call("c1").String(),
	} {
		l, err := Read(name, []byte("\ufeff\ufeff"+raw), Options{HasByteOrderMark: true})
		if err != nil {
			t.Fatal(err)
		}
		fixed, err := l.Fix(Options{})
		if err != nil || !fixed.RemovedMark || bytes.Contains(fixed.Raw, byteOrderMark) {
			t.Errorf("%s: %v\n%s", name, err, fixed.Raw)
		}
		verify(t, name, []byte(raw), fixed)
	}
}
