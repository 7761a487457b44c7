package agentlog

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/wire"
)

// TestOpenCodeParts checks faults of files other than truncation: no text is lost and the session
// is sent clean.
func TestOpenCodeParts(t *testing.T) {
	const (
		text = `{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"marked words"}`
		tool = `{"id":"prt_2","sessionID":"ses_1","messageID":"msg_2","type":"tool","callID":"c1","tool":"bash","state":{"status":"completed","input":{},"output":"real output","title":"","metadata":{},"time":{"start":1,"end":2}}}`
		runs = `{"id":"prt_2","sessionID":"ses_1","messageID":"msg_2","type":"tool","callID":"c1","tool":"bash","state":{"status":"running","input":{},"time":{"start":1}}}`
		bare = `{"id":"prt_2","sessionID":"ses_1","messageID":"msg_2","type":"tool","callID":"c1","tool":"bash"}`
	)
	for name, c := range map[string]struct {
		files   map[string]string
		rules   string
		says    string
		changed int
	}{
		"whole":              {map[string]string{"part/msg_2/prt_2.json": tool}, "", "marked words real output", 0},
		"a mark":             {map[string]string{"part/msg_1/prt_1.json": "\ufeff" + text, "part/msg_2/prt_2.json": tool}, markRule, "marked words real output", 1},
		"a mark at a call":   {map[string]string{"part/msg_2/prt_2.json": "\ufeff" + runs}, markRule + " orphan-call", "marked words", 1},
		"a mark and a space": {map[string]string{"part/msg_2/prt_2.json": "\ufeff\n" + runs}, markRule + " orphan-call", "marked words", 1},
		"a marked message":   {map[string]string{"message/ses_1/msg_1.json": "\ufeff" + `{"id":"msg_1","sessionID":"ses_1","role":"user"}`, "part/msg_2/prt_2.json": tool}, markRule, "marked words real output", 1},
		"no state":           {map[string]string{"part/msg_2/prt_2.json": bare}, "orphan-call", "marked words", 1},
		"a state of null":    {map[string]string{"part/msg_2/prt_2.json": strings.TrimSuffix(bare, "}") + `,"state":null}`}, "orphan-call", "marked words", 1},
		"a copied part":      {map[string]string{"part/msg_2/prt_2.json": tool, "part/msg_2/prt_2 (conflict).json": tool}, "duplicate-call-id duplicate-result", "marked words real output", 1},
	} {
		fsys := fstest.MapFS{}
		put := func(name, raw string) { fsys[name] = &fstest.MapFile{Data: []byte(raw)} }
		put("message/ses_1/msg_1.json", `{"id":"msg_1","sessionID":"ses_1","role":"user"}`)
		put("message/ses_1/msg_2.json", `{"id":"msg_2","sessionID":"ses_1","role":"assistant"}`)
		put("part/msg_1/prt_1.json", text)
		for name, raw := range c.files {
			put(name, raw)
		}
		l, err := ReadFolder(fsys, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var rules []string
		for _, f := range l.Check(wire.CheckOptions{}) {
			if f.Effect == Refused || f.Rule == markRule {
				rules = append(rules, f.Rule)
			}
			if f.Rule == markRule && f.Effect != Cosmetic {
				t.Errorf("%s: opencode passes over a mark: %+v", name, f)
			}
		}
		if got := strings.Join(rules, " "); got != c.rules {
			t.Errorf("%s: found %q, want %q", name, got, c.rules)
		}
		fixed, err := l.Fix(Options{})
		if err != nil || len(fixed.Files) != c.changed || Broken(fixed.Remaining) || len(fixed.Changes) != len(strings.Fields(c.rules)) {
			t.Errorf("%s: %v: %d files, %+v, left: %+v", name, err, len(fixed.Files), fixed.Changes, fixed.Remaining)
			continue
		}
		for _, f := range fixed.Files {
			put(f.Path, string(f.Raw))
			if name == "a copied part" && !strings.Contains(f.Path, "conflict") {
				t.Errorf("%s is changed, and not its copy", f.Path)
			}
		}
		again, err := ReadFolder(fsys, Options{})
		if err != nil || Broken(again.Check(wire.CheckOptions{})) {
			t.Errorf("%s: %v, still %+v", name, err, again.Check(wire.CheckOptions{}))
			continue
		}
		sent := string(again.Sent()[0].Request.Raw())
		for _, word := range []string{"marked words", "real output"} {
			if want, n := strings.Count(c.says, word), strings.Count(sent, word); n != want {
				t.Errorf("%s: %q is sent %d times:\n%s", name, word, n, sent)
			}
		}
	}
}

// TestOpenCodeTornSession checks a truncated session file, with which opencode finds no session of
// the project. Its complete members stay, and the messages provide the others, including the parent
// of a sub-agent's session. A missing message was undone by the user: opencode leaves its parts in
// place.
func TestOpenCodeTornSession(t *testing.T) {
	for name, c := range map[string]struct{ torn, want string }{
		"empty":  {"", `{"id":"ses_2","slug":"ses_2","version":"local","projectID":"global","directory":"/dev/work","parentID":"ses_1","title":"Session","time":{"created":7,"updated":9}}`},
		"zeros":  {"\x00\x00\x00", `{"id":"ses_2","slug":"ses_2","version":"local","projectID":"global","directory":"/dev/work","parentID":"ses_1","title":"Session","time":{"created":7,"updated":9}}`},
		"half":   {`{"id":"ses_2","slug":"a, \"b","version":"1.1.65","x":{"y":1,"z":[2,`, `{"id":"ses_2","slug":"a, \"b","version":"1.1.65","projectID":"global","directory":"/dev/work","parentID":"ses_1","title":"Session","time":{"created":7,"updated":9}}`},
		"no end": {`{"id":"ses_2","slug":"s","version":"1","projectID":"p","directory":"/d","parentID":"ses_0","title":"T","time":{"created":1,"updated":2},"a":1`, `{"id":"ses_2","slug":"s","version":"1","projectID":"p","directory":"/d","parentID":"ses_0","title":"T","time":{"created":1,"updated":2}}`},
	} {
		fsys := fstest.MapFS{}
		put := func(name, raw string) { fsys[name] = &fstest.MapFile{Data: []byte(raw)} }
		put("storage/session/global/ses_1.json", `{"id":"ses_1"}`)
		put("storage/session/global/ses_2.json", c.torn)
		put("storage/message/ses_1/msg_1.json", `{"id":"msg_1","sessionID":"ses_1","role":"assistant","path":{"cwd":"/elsewhere"}}`)
		put("storage/message/ses_2/msg_2.json", `{"id":"msg_2","sessionID":"ses_2","role":"user","time":{"created":7}}`)
		put("storage/message/ses_2/msg_3.json", `{"id":"msg_3","sessionID":"ses_2","role":"assistant","time":{"created":9},"path":{"cwd":"/dev/work"}}`)
		put("storage/part/msg_1/prt_1.json", `{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"tool","callID":"c1","tool":"task","state":{"status":"completed","input":{},"output":"done","metadata":{"sessionId":"ses_2"}}}`)
		put("storage/part/msg_2/prt_2.json", `{"id":"prt_2","sessionID":"ses_2","messageID":"msg_2","type":"text","text":"words"}`)
		put("storage/part/msg_4/prt_4.json", `{"id":"prt_4","sessionID":"ses_2","messageID":"msg_4","type":"text","text":"undone"}`)
		l, err := ReadFolder(fsys, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if found := l.Check(wire.CheckOptions{}); len(found) != 1 || found[0].Rule != "torn-file" || found[0].File != "storage/session/global/ses_2.json" {
			t.Errorf("%s: found %+v", name, found)
		}
		fixed, err := l.Fix(Options{})
		if err != nil || len(fixed.Files) != 1 || len(fixed.Changes) != 1 || Broken(fixed.Remaining) {
			t.Errorf("%s: %v: %+v", name, err, fixed)
			continue
		}
		if got := string(fixed.Files[0].Raw); got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
		put(fixed.Files[0].Path, string(fixed.Files[0].Raw))
		again, err := ReadFolder(fsys, Options{})
		if err != nil || len(again.Check(wire.CheckOptions{})) > 0 {
			t.Errorf("%s: %v, still %+v", name, err, again.Check(wire.CheckOptions{}))
		}
	}
}

// TestOpenCodeKeepsReadableParts checks that the readable part of a damaged file is kept: an object
// with more data after it, and the user's words in a truncated one. Files belong together by name.
func TestOpenCodeKeepsReadableParts(t *testing.T) {
	const (
		text = `{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"fix the \"b\u00fcg\" in a.go"}`
		tool = `{"id":"prt_2","sessionID":"ses_1","messageID":"msg_2","type":"tool","callID":"c1","tool":"bash","state":{"status":"completed","input":{},"output":"real output","title":"","metadata":{},"time":{"start":1,"end":2}}}`
		runs = `{"id":"prt_2","sessionID":"ses_1","messageID":"msg_2","type":"tool","callID":"c1","tool":"bash","state":{"status":"running","input":{},"time":{"start":1}}}`
	)
	for name, c := range map[string]struct {
		files map[string]string
		sends string
	}{
		"nulls behind it":            {map[string]string{"part/msg_1/prt_1.json": text + "\x00\x00\x00"}, `fix the \"b\u00fcg\" in a.go`},
		"the end of the old":         {map[string]string{"part/msg_2/prt_2.json": tool + `d":2}}}`}, "real output"},
		"written twice":              {map[string]string{"part/msg_2/prt_2.json": runs + runs}, wording.Stub},
		"torn words":                 {map[string]string{"part/msg_1/prt_1.json": text[:len(text)-5]}, `fix the \"büg\" in a`},
		"torn in an escape":          {map[string]string{"part/msg_1/prt_1.json": text[:strings.Index(text, "fcg")]}, `fix the \"b"`},
		"torn words and nulls":       {map[string]string{"part/msg_1/prt_1.json": text[:len(text)-5] + "\x00\x00"}, `fix the \"büg\" in a`},
		"a message that lost its id": {map[string]string{"part/msg_2/prt_2.json": strings.Replace(runs, `"messageID":"msg_2",`, "", 1)}, wording.Stub},
		"a torn message":             {map[string]string{"message/ses_1/msg_1.json": `{"id":"msg_1","sess`}, `fix the \"b\u00fcg\" in a.go`},
		"the only message":           {map[string]string{"message/ses_1/msg_1.json": ``, "message/ses_1/msg_2.json": ``}, `fix the \"b\u00fcg\" in a.go`},
	} {
		fsys := fstest.MapFS{}
		put := func(name, raw string) { fsys[name] = &fstest.MapFile{Data: []byte(raw)} }
		put("message/ses_1/msg_1.json", `{"id":"msg_1","sessionID":"ses_1","role":"user"}`)
		put("message/ses_1/msg_2.json", `{"id":"msg_2","sessionID":"ses_1","role":"assistant"}`)
		put("part/msg_1/prt_1.json", text)
		put("part/msg_2/prt_2.json", tool)
		for name, raw := range c.files {
			put(name, raw)
		}
		l, err := ReadFolder(fsys, Options{})
		if err != nil {
			t.Fatal(err)
		}
		fixed, err := l.Fix(Options{})
		if err != nil || len(fixed.Files) != len(c.files) || len(fixed.Remaining) > 0 {
			t.Errorf("%s: %v %+v left: %+v", name, err, fixed.Changes, fixed.Remaining)
			continue
		}
		for _, f := range fixed.Files {
			put(f.Path, string(f.Raw))
		}
		again, err := ReadFolder(fsys, Options{})
		if err != nil || len(again.Check(wire.CheckOptions{})) > 0 || len(again.Sent()) != 1 {
			t.Errorf("%s: %v, still %+v", name, err, again.Check(wire.CheckOptions{}))
			continue
		}
		if sent := string(again.Sent()[0].Request.Raw()); !strings.Contains(sent, c.sends) {
			t.Errorf("%s: sends %s", name, sent)
		}
	}
}
