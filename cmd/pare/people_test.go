package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func aHome(t *testing.T, sessions map[string]int) (home string) {
	t.Helper()
	home = t.TempDir()
	for name, days := range sessions {
		lines := `{"parentUuid":null,"sessionId":"s1","cwd":"/home/ada/shop","version":"1.0.128","type":"user","uuid":"u1","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"This is ` + name + `."}}
{"parentUuid":"u1","sessionId":"s1","cwd":"/home/ada/shop","version":"1.0.128","type":"assistant","uuid":"u2","timestamp":"2026-01-01T00:00:02.000Z","message":{"id":"m1","model":"claude-sonnet-4-5","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"npm test"}}]}}
`
		if days < 0 {
			days = -days
			lines += `{"parentUuid":"u2","sessionId":"s1","cwd":"/home/ada/shop","version":"1.0.128","type":"user","uuid":"u3","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"user","content":"still there?"}}` + "\n"
		} else {
			lines += `{"parentUuid":"u2","sessionId":"s1","cwd":"/home/ada/shop","version":"1.0.128","type":"user","uuid":"u3","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"ok"}]}}` + "\n"
		}
		put(t, filepath.Join(home, ".claude/projects/-home-ada-shop", name+".jsonl"), lines, days)
	}
	return home
}

func put(t *testing.T, path, text string, days int) {
	t.Helper()
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC).AddDate(0, 0, -days)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func TestStrayFilesAreNotRepaired(t *testing.T) {
	home := aHome(t, map[string]int{"dead": -2})
	others := map[string]string{
		"garbage.jsonl": string(bytes.Repeat([]byte{0x9f, 0x00, 0x17, 0xc3, 'x'}, 600)), "page.jsonl": "<html><body>502 Bad Gateway</body></html>\n", "notes.jsonl": "Dear diary,\n",
	}
	for name, text := range others {
		put(t, filepath.Join(home, ".claude/projects/-home-ada-shop", name), text, 1)
	}
	_, said := told(t, "doctor", "--home", home)
	if !strings.Contains(said, "1 session of 1 agent: 1 broken") || strings.Contains(said, "pare fix --in-place "+home+"/.claude/projects/-home-ada-shop/garbage") {
		t.Errorf("%s", said)
	}
	if status, said := told(t, "doctor", "--home", home, "--fix", "--yes"); status != statusClean {
		t.Errorf("%d %s", status, said)
	}
	for name, text := range others {
		if now, _ := os.ReadFile(filepath.Join(home, ".claude/projects/-home-ada-shop", name)); string(now) != text {
			t.Errorf("%s was written to", name)
		}
	}
	// The printed command for the other file works.
	home = aHome(t, map[string]int{"dead": -2})
	_, said = told(t, "doctor", "--home", home)
	command := regexp.MustCompile(`fix: pare (.*)`).FindStringSubmatch(said)
	if command == nil {
		t.Fatal(said)
	}
	if status, said := told(t, strings.Fields(command[1])...); status != statusClean {
		t.Errorf("%s: %d %s", command[0], status, said)
	}
}

func TestDoctorPrintsNewestFirst(t *testing.T) {
	sessions := map[string]int{}
	for i := range 130 {
		sessions[fmt.Sprintf("s%03d", i)] = -(200 - i)
	}
	_, said := told(t, "doctor", "--home", aHome(t, sessions))
	var got []string
	for _, m := range regexp.MustCompile(`“This is (s\d+)\.”`).FindAllStringSubmatch(said, -1) {
		got = append(got, m[1])
	}
	if len(got) != 20 || got[0] != "s129" || got[1] != "s128" || got[19] != "s110" || !strings.Contains(said, "and 110 sessions more that are broken; --all shows them") {
		t.Errorf("%v\n%s", got, said)
	}
}

// TestEntriesHaveOneNumber uses the entry numbers of pare session show in the other commands.
func TestEntriesHaveOneNumber(t *testing.T) {
	db := filepath.Join(t.TempDir(), "s.db")
	say := func(status int, want string, args ...string) {
		t.Helper()
		got, said := told(t, append([]string{"session", args[0], "--store", db}, args[1:]...)...)
		if got != status || !regexp.MustCompile(want).MatchString(said) {
			t.Errorf("%v: %d, want %d with %q:\n%s", args, got, status, want, said)
		}
	}
	say(0, "one: 24 entries", "import", "--id", "one", "../../examples/prune-me.json")
	say(0, "two", "fork", "--at", "5", "one", "two")
	say(0, "two .* 5 entries", "list")
	say(0, "summarized", "compact", "one", "--min-keep", "4")
	say(0, "a summary replaces the entries before", "show", "one")
	say(0, "deleted two with 5 entries; its id stays taken", "delete", "two")
	say(2, "import it under another id with --id NAME", "import", "--id", "two", "../../examples/prune-me.json")
	say(0, "entries; request starts at entry", "window", "one", "-o", filepath.Join(t.TempDir(), "w.json"))
}

func TestBareCommandIntroduces(t *testing.T) {
	status, said := told(t)
	for _, want := range []string{"pare doctor", "pare check FILE", "pare run -- claude", "pare serve", "pare.Fix(body)"} {
		if status != statusClean || !strings.Contains(said, want) {
			t.Errorf("%d, without %q: %s", status, want, said)
		}
	}
}

func TestEmptyFolderIsAnError(t *testing.T) {
	folder := t.TempDir()
	if status, said := told(t, "check", folder); status != statusInvalid || !strings.Contains(said, "nothing to read in") {
		t.Errorf("%d %s", status, said)
	}
	put(t, filepath.Join(folder, "README.txt"), "no conversation", 1)
	if status, said := told(t, "check", folder); status != statusInvalid {
		t.Errorf("%d %s", status, said)
	}
}

func TestEverySessionCommandHasAnExample(t *testing.T) {
	_, said := told(t, "session", "--help")
	names := regexp.MustCompile(`(?m)^  session (\w+) `).FindAllStringSubmatch(said, -1)
	if len(names) < 14 {
		t.Fatalf("%d commands: %s", len(names), said)
	}
	for _, m := range names {
		if _, page := told(t, "session", m[1], "--help"); !strings.Contains(page, "For example") {
			t.Errorf("session %s has no example", m[1])
		}
	}
}

func TestManySkippedFilesAreOneLine(t *testing.T) {
	folder := t.TempDir()
	request, err := os.ReadFile("../../examples/clean-openai-chat.json")
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(folder, "request.json"), string(request), 1)
	for i := range 9 {
		put(t, filepath.Join(folder, "node_modules", fmt.Sprintf("m%d/index.json", i)), `{"version":3,"sources":["a.ts"],"mappings":"AAAA"}`, 1)
	}
	status, said := told(t, "check", folder)
	if status != statusClean || strings.Count(said, "skipped") != 1 || !strings.Contains(said, "skipped 9 files such as ") {
		t.Errorf("%d %s", status, said)
	}
}
