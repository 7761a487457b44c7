package agentlog

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/atomicfile"
	"github.com/pare-llm/pare/wire"
)

// ocFiles is an opencode storage with two sessions, each with a running call.
var ocFiles = map[string]string{
	"message/ses_1/msg_1.json": `{"id":"msg_1","sessionID":"ses_1","role":"user"}`,
	"message/ses_1/msg_2.json": `{"id":"msg_2","sessionID":"ses_1","role":"assistant"}`,
	"message/ses_2/msg_3.json": `{"id":"msg_3","sessionID":"ses_2","role":"assistant"}`,
	"part/msg_1/prt_1.json":    `{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"hi"}`,
	"part/msg_2/prt_2.json":    `{"id":"prt_2","sessionID":"ses_1","messageID":"msg_2","type":"tool","callID":"c1","tool":"bash","state":{"status":"running","input":{},"time":{"start":1}}}`,
	"part/msg_3/prt_3.json":    `{"id":"prt_3","sessionID":"ses_2","messageID":"msg_3","type":"tool","callID":"c2","tool":"bash","state":{"status":"running","input":{},"time":{"start":1}}}`,
}

// lay writes files below a folder.
func lay(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStorageKeepsOnlyAgentFiles checks that a fix leaves no foreign files in a storage, and that
// an undo finds the originals by file, by session or by storage.
func TestStorageKeepsOnlyAgentFiles(t *testing.T) {
	for _, how := range []string{"file", "session", "storage"} {
		t.Run(how, func(t *testing.T) {
			storage := filepath.Join(t.TempDir(), "storage")
			lay(t, storage, ocFiles)
			part := filepath.Join(storage, "part/msg_2/prt_2.json")
			write := func(session string) {
				t.Helper()
				s, err := OpenFolder(storage, session, Options{})
				if err != nil {
					t.Fatal(err)
				}
				fixed, err := s.Fix(Options{})
				if err != nil {
					t.Fatal(err)
				}
				w := Writer{Files: new(atomicfile.Files)}
				for _, r := range s.Replacements(fixed) {
					if err := w.Stage(r); err != nil {
						t.Fatal(err)
					}
				}
				done, err := w.Commit()
				if err != nil || len(done) != 1 || strings.HasPrefix(done[0].Backup, storage+string(filepath.Separator)) {
					t.Fatalf("%v %v", done, err)
				}
			}
			write("ses_2") // an earlier run, which the undo of ses_1 leaves alone
			write("ses_1")
			for _, name := range listFiles(storage) {
				if _, ok := ocFiles[filepath.ToSlash(name)]; !ok {
					t.Errorf("%s is no file of the agent", name)
				}
			}
			undo := func(want string) {
				t.Helper()
				path := map[string]string{"file": part, "session": filepath.Join(storage, "message/ses_1"), "storage": storage}[how]
				all := Originals(path)
				if len(all) == 0 || all[0].Path != part {
					t.Fatalf("%v", all)
				}
				u := Undoer{Files: new(atomicfile.Files)}
				if _, err := u.Undo(all[0]); err != nil {
					t.Fatal(err)
				}
				raw, err := os.ReadFile(part)
				if err != nil || !strings.Contains(string(raw), want) {
					t.Errorf("%v: %s", err, raw)
				}
			}
			undo(`"status":"running"`)
			undo(`"status":"error"`)
			raw, err := os.ReadFile(filepath.Join(storage, "part/msg_3/prt_3.json"))
			if err != nil || !strings.Contains(string(raw), `"status":"error"`) {
				t.Errorf("the other session was touched: %v: %s", err, raw)
			}
		})
	}
}

// TestCommitAllOrNone checks that no file is replaced if one of them has changed since it was read.
func TestCommitAllOrNone(t *testing.T) {
	folder := t.TempDir()
	lay(t, folder, map[string]string{"a.json": "1", "b.json": "1"})
	w := Writer{Files: new(atomicfile.Files)}
	for _, name := range []string{"a.json", "b.json"} {
		path := filepath.Join(folder, name)
		was, err := os.Stat(path)
		if err == nil {
			err = w.Stage(Replacement{Path: path, Raw: []byte("2"), OldInfo: was})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	lay(t, folder, map[string]string{"b.json": "1, and more of its agent"})
	if done, err := w.Commit(); err == nil || len(done) > 0 {
		t.Errorf("%v, %v", done, err)
	}
	w.Discard()
	if raw, err := os.ReadFile(filepath.Join(folder, "a.json")); err != nil || string(raw) != "1" {
		t.Errorf("%v: %s", err, raw)
	}
	if all := listFiles(folder); len(all) != 2 {
		t.Errorf("%q", all)
	}
}

// TestUnsafeRepairIsDiscarded checks that a repair is discarded if it causes a fault or sends less
// without a change that says so.
func TestUnsafeRepairIsDiscarded(t *testing.T) {
	read := func(lines ...string) *Log {
		t.Helper()
		l, err := Read("session.jsonl", []byte(strings.Join(lines, "\n")+"\n"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	line := func(id, parent, role, content string) string {
		return `{"parentUuid":` + parent + `,"sessionId":"s","version":"2.1.0","type":"` + role + `","message":{"role":"` + role + `","content":` + content + `},"uuid":"` + id + `","timestamp":"2026-01-01T00:00:00Z"}`
	}
	first, second := line("a", "null", "user", `"hi"`), line("b", `"a"`, "assistant", `[{"type":"text","text":"yes"}]`)
	before := read(first, second)
	if before.countSentMessages() != 2 {
		t.Fatalf("%d messages are sent", before.countSentMessages())
	}
	edit := &Fixed{Changes: []Change{{Change: wire.Change{Action: "edit"}}}}
	if !before.isSafeRepair(read(first, second), edit, Options{}) {
		t.Error("what is as it was does not hold")
	}
	if before.isSafeRepair(read(first), edit, Options{}) {
		t.Error("a message is hidden")
	}
	if drop := (&Fixed{Changes: []Change{{Change: wire.Change{Action: "drop"}}}}); !before.isSafeRepair(read(first), drop, Options{}) {
		t.Error("a message that is dropped may be gone")
	}
	stray := line("b", `"a"`, "user", `[{"type":"tool_result","tool_use_id":"t1","content":"x"}]`)
	if before.isSafeRepair(read(first, stray), edit, Options{}) {
		t.Error("a fault is brought about")
	}
}

// TestTornFilesAreReplaced checks that a truncated or empty file of a storage is replaced by one
// that the agent can read, and that nothing else changes.
func TestTornFilesAreReplaced(t *testing.T) {
	for name, torn := range map[string]struct {
		file, text string
		want       []string
	}{
		"empty part":     {"part/msg_1/prt_1.json", "", []string{`"type":"step-start"`, `"sessionID":"ses_1"`, `"messageID":"msg_1"`, `"id":"prt_1"`}},
		"torn part":      {"part/msg_2/prt_2.json", `{"id":"prt_2","ty`, []string{`"type":"step-start"`, `"sessionID":"ses_1"`}},
		"part of nulls":  {"part/msg_2/prt_2.json", "\x00\x00\x00", []string{`"type":"step-start"`}},
		"another value":  {"part/msg_2/prt_2.json", "null", []string{`"type":"step-start"`}},
		"empty message":  {"message/ses_1/msg_2.json", "", []string{`"role":"assistant"`, `"id":"msg_2"`, `"sessionID":"ses_1"`}},
		"torn user":      {"message/ses_1/msg_1.json", `{"id":`, []string{`"role":"user"`, `"id":"msg_1"`}},
		"a state lost":   {"part/msg_2/prt_2.json", `{"id":"prt_2","sessionID":"ses_1","messageID":"msg_2","type":"tool","callID":"c1","tool":"bash","state":{"status":"running","input":{},"output":"precious","time":{"start":1}}}`, []string{`"status":"completed"`, `"output":"precious"`, `"title":""`, `"metadata":{}`, `"end":1`}},
		"an output lost": {"part/msg_2/prt_2.json", `{"id":"prt_2","sessionID":"ses_1","messageID":"msg_2","type":"tool","callID":"c1","tool":"bash","state":{"status":"completed","input":{}}}`, []string{`"status":"error"`, `"error":"`}},
	} {
		storage := filepath.Join(t.TempDir(), "storage")
		lay(t, storage, ocFiles)
		lay(t, storage, map[string]string{torn.file: torn.text})
		s, err := OpenFolder(storage, "ses_1", Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !Broken(s.Check(wire.CheckOptions{})) {
			t.Errorf("%s: nothing is found", name)
		}
		fixed, err := s.Fix(Options{})
		if err != nil || len(fixed.Remaining) > 0 {
			t.Errorf("%s: %v %+v", name, err, fixed.Remaining)
		}
		found := false
		for _, f := range fixed.Files {
			if f.Path != torn.file {
				continue
			}
			found = true
			for _, want := range torn.want {
				if !strings.Contains(string(f.Raw), want) {
					t.Errorf("%s: no %s in %s", name, want, f.Raw)
				}
			}
		}
		if !found {
			t.Errorf("%s: %s stays", name, torn.file)
		}
	}
}

// TestEffects checks that a finding has the same effect before and after a fix, and that only
// findings with the effect Refused make a session broken.
func TestEffects(t *testing.T) {
	good := ccWrite("u1", "", 1, said("go")) + ccWrite("a1", "u1", 2, replied("m1", textReply))
	open := ccWrite("u1", "", 1, said("go")) + ccWrite("a1", "u1", 2, replied("m1", calling("c1"))) + ccWrite("u2", "a1", 3, said("well"))
	for name, c := range map[string]struct {
		raw           string
		before, after []Effect
	}{
		"clean":                  {good, nil, nil},
		"a call without result":  {open, []Effect{Refused}, nil},
		"a line that is no JSON": {good + "what is this\n" + ccWrite("u2", "a1", 3, said("well")), []Effect{Unfixable}, []Effect{Unfixable}},
		"both":                   {"{\"torn\n" + open, []Effect{Unfixable, Refused}, []Effect{Unfixable}},
		"a last line breaks off": {good + `{"parentUuid":"a1","type":"us`, []Effect{Refused}, []Effect{Unfixable}},
		"a copy of a line":       {good + ccWrite("a1", "u1", 2, replied("m1", textReply)), []Effect{Cosmetic}, nil},
		"a branch that is not sent": {ccWrite("u1", "", 1, said("go")) + ccWrite("a1", "u1", 2, replied("m1", calling("c1"))) + ccWrite("u2", "u1", 3, said("else")) + ccWrite("a2", "u2", 4, replied("m2", textReply)),
			[]Effect{Cosmetic}, []Effect{Cosmetic}},
	} {
		l := mustRead(t, "s.jsonl", []byte(c.raw))
		fixed, err := l.Fix(Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range []struct {
			l    *Log
			want []Effect
		}{{l, c.before}, {mustRead(t, "s.jsonl", fixed.Raw), c.after}} {
			var got []Effect
			for _, f := range x.l.Check(wire.CheckOptions{}) {
				got = append(got, f.Effect)
				if (f.Effect == Unfixable) != (f.Instead != "") {
					t.Errorf("%s: %q", name, f.Instead)
				}
			}
			if !slices.Equal(got, x.want) {
				t.Errorf("%s, %d: %v, not %v", name, i, got, x.want)
			}
		}
		if Broken(fixed.Remaining) {
			t.Errorf("%s: %+v", name, fixed.Remaining)
		}
	}
}
