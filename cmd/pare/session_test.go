package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare/internal/atomicfile"
	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/internal/trial"
)

const interrupted = `{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"go"}}
{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"s","timestamp":"2026-01-01T00:00:01.000Z","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]}}
{"type":"user","uuid":"u3","parentUuid":"u2","sessionId":"s","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":"still there?"}}
`

const chat = `{"sessionId":"g","projectHash":"h","startTime":"2026-01-01T00:00:00Z","lastUpdated":"2026-01-01T00:00:09Z","messages":[
{"id":"1","type":"user","content":"go"},
{"id":"2","type":"gemini","content":"","toolCalls":[{"id":"g1","name":"ls","args":{},"status":"executing"}]},
{"id":"3","type":"user","content":"and?"}]}`

func aged(t testing.TB, path string, raw []byte) {
	t.Helper()
	at := time.Now().Add(-time.Hour)
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func sessionCorpus(t *testing.T) (files []string) {
	to := t.TempDir()
	all := corpus.Files(t, "claude_code/*", "codex_rollout/*", "pi_session/*", "gemini_cli/*", "cline/*", "goose/*", "openhands_events/*", "adk_session/*")
	for i, f := range trial.SampleByKind(all, func(f corpus.File) string { return f.Folder }) {
		name := filepath.Join(to, f.Folder+"-"+f.Base)
		if f.Folder == "cline" { // detected by file name
			name = filepath.Join(to, fmt.Sprint(f.Folder, i), "api_conversation_history.json")
			if err := os.Mkdir(filepath.Dir(name), 0o777); err != nil {
				t.Fatal(err)
			}
		}
		aged(t, name, f.Raw)
		files = append(files, name)
	}
	return files
}

// TestSessionCorpusIsRepaired repairs every recorded session twice; lines without a receipt must
// not change.
func TestSessionCorpusIsRepaired(t *testing.T) {
	for _, file := range sessionCorpus(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			before, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			status, out, errs := program(nil, "check", "--json", file)
			if status > statusFindings || strings.Count(out, "\n") != 1 || !strings.Contains(out, `"format":"`) {
				t.Fatalf("status %d: %.500s %s", status, out, errs)
			}
			if again, report, _ := program(nil, "check", file); again != status || again == statusFindings && !strings.Contains(report, file+":") {
				t.Errorf("status %d, for people %d: %.500s", status, again, report)
			}
			receipt := filepath.Join(t.TempDir(), "receipt")
			if status, _, errs := program(nil, "fix", "--in-place", "--receipt", receipt, file); status != statusClean {
				t.Fatalf("fix: status %d: %s", status, errs)
			}
			after, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if status, report, _ := program(nil, "check", file); status != statusClean {
				t.Errorf("after the repair: status %d\n%s", status, report)
			}
			wantLines(t, before, after, receipt)
			if status, out, _ := program(bytes.NewReader(after), "fix"); !strings.Contains(file, "api_conv") && (status != statusClean || out != string(after)) {
				t.Errorf("a second fix has something to do: status %d", status)
			}
			if bytes.Equal(before, after) {
				return
			}
			if status, _, errs := program(nil, "undo", file); status != statusClean {
				t.Errorf("undo: status %d: %s", status, errs)
			}
			if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, before) {
				t.Errorf("undo does not give back what was there: %v", err)
			}
		})
	}
}

func wantLines(t *testing.T, before, after []byte, receipt string) {
	t.Helper()
	named := map[int]bool{}
	raw, err := os.ReadFile(receipt)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(raw) {
		var c struct{ Line int }
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		named[c.Line] = true
	}
	n := 0
	for line := range bytes.Lines(before) {
		n++
		if named[n] {
			continue
		}
		at := bytes.Index(after, line)
		if at < 0 {
			t.Errorf("line %d was changed, and no receipt says so: %.200s", n, line)
			return
		}
		after = after[at+len(line):]
	}
}

func TestFailedSessionRepairKeepsTheFile(t *testing.T) {
	cases := map[string]func(name string, perm fs.FileMode) (atomicfile.File, error){
		"no room": func(name string, perm fs.FileMode) (atomicfile.File, error) {
			f, err := atomicfile.CreateFile(name, perm)
			return &brokenFile{file: f, room: 0}, err
		},
		"sync": func(name string, perm fs.FileMode) (atomicfile.File, error) {
			f, err := atomicfile.CreateFile(name, perm)
			return &brokenFile{file: f, room: -1, failSync: true}, err
		},
		"close": func(name string, perm fs.FileMode) (atomicfile.File, error) {
			f, err := atomicfile.CreateFile(name, perm)
			return &brokenFile{file: f, room: -1, failClose: true}, err
		},
		"read-only folder": func(name string, perm fs.FileMode) (atomicfile.File, error) {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
		},
	}
	for name, create := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.jsonl")
			aged(t, path, []byte(interrupted))
			var errs bytes.Buffer
			status := run(&environment{args: []string{"fix", "--in-place", path}, stdout: io.Discard, stderr: &errs, getenv: os.Getenv, files: atomicfile.Files{Create: create}})
			if status != statusInvalid || !strings.Contains(errs.String(), "pare: write "+path) {
				t.Errorf("status %d: %s", status, errs.String())
			}
			wantOnly(t, path, interrupted)
		})
	}
}

func TestSessionChangedMeanwhileIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	aged(t, path, []byte(interrupted))
	create := func(name string, perm fs.FileMode) (atomicfile.File, error) {
		if err := os.WriteFile(path, []byte(interrupted+"{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return atomicfile.CreateFile(name, perm)
	}
	var errs bytes.Buffer
	status := run(&environment{args: []string{"fix", "--in-place", "--force", path}, stdout: io.Discard, stderr: &errs, getenv: os.Getenv, files: atomicfile.Files{Create: create}})
	if status != statusInvalid || !strings.Contains(errs.String(), "somebody else wrote to it") {
		t.Errorf("status %d: %s", status, errs.String())
	}
	wantOnly(t, path, interrupted+"{}\n")
}

// TestInterruptedUndoCanBeRepeated interrupts undo between its two steps.
func TestInterruptedUndoCanBeRepeated(t *testing.T) {
	var files atomicfile.Files
	for name, keep := range map[string]func(from, to string) error{"link": os.Link, "copy": files.Copy} {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		aged(t, path, []byte(interrupted))
		if status, _, errs := program(nil, "fix", "--in-place", path); status != statusClean {
			t.Fatal(errs)
		}
		if err := keep(path, path+".bak.1"); err != nil {
			t.Fatal(err)
		}
		if status, _, errs := program(nil, "undo", path); status != statusClean {
			t.Fatal(name, errs)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != interrupted {
			t.Errorf("%s: %v: %s", name, err, got)
		}
	}
}

func TestHelpNamesSessionFilesOnlyIfRead(t *testing.T) {
	const session = `{"type":"user","uuid":"a","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"hi"}}` + "\n" +
		`{"type":"assistant","uuid":"b","parentUuid":"a","sessionId":"s","message":{"role":"assistant","content":[{"type":"text","text":"yes"}]}}` + "\n"
	for command, takes := range map[string]bool{"check": true, "fix": true, "count": true, "split": true, "replay": true, "prune": true, "trim --max-messages 1": true, "compact": true} {
		args := strings.Fields(command)
		_, help, _ := program(strings.NewReader(""), args[0], "--help")
		if says := strings.Contains(strings.Join(strings.Fields(help), " "), "the session files of agents"); says != takes {
			t.Errorf("%s: that it takes session files is said: %v, want %v", command, says, takes)
		}
		_, _, errs := program(strings.NewReader(session), args...)
		if refuses := strings.Contains(errs, "cannot shorten"); refuses == takes {
			t.Errorf("%s: refused: %v: %s", command, refuses, errs)
		}
	}
}
