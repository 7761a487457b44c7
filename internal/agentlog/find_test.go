package agentlog

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAgents checks that the patterns of the table are unique and relative, and that every variable
// moves a pattern.
func TestAgents(t *testing.T) {
	seen := map[string]string{}
	var all []string
	for _, a := range agents {
		if a.Format == Auto || a.Name == "" || len(a.files)+len(a.unreadable) == 0 || (len(a.files) > 0) != a.Format.Readable() {
			t.Errorf("%+v", a)
		}
		for _, p := range slices.Concat(a.files, a.secondary, a.unreadable) {
			if seen[p] != "" {
				t.Errorf("%s is a place of %s and of %s", p, seen[p], a.Name)
			}
			if strings.HasPrefix(p, "/") || strings.Contains(p, `\`) || strings.Contains(p, "**") {
				t.Errorf("%s: %s is no pattern below the home folder", a.Name, p)
			}
			seen[p] = a.Name
			all = append(all, p)
		}
	}
	for _, m := range folderOverrides {
		if !slices.ContainsFunc(all, func(p string) bool { return strings.HasPrefix(p, m.folder+"/") }) {
			t.Errorf("%s moves nothing", m.variable)
		}
	}
}

// TestSearchPlaces creates a file for every pattern of the table and checks that it is found, also
// in a folder moved by a variable.
func TestSearchPlaces(t *testing.T) {
	home := t.TempDir()
	place := func(root, pattern string) string {
		name := filepath.Join(root, filepath.FromSlash(strings.ReplaceAll(pattern, "*", "x")))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	want := map[string]string{}
	for _, a := range agents {
		if a.Format == OpenCode {
			continue // a folder
		}
		for _, p := range slices.Concat(a.files, a.secondary) {
			want[place(home, p)] = a.Name
		}
	}
	elsewhere := t.TempDir()
	want[place(elsewhere, "sessions/2026/01/02/rollout-moved.jsonl")] = "codex"
	delete(want, filepath.Join(home, ".codex/sessions/x/x/x/rollout-x.jsonl"))
	delete(want, filepath.Join(home, ".codex/sessions/rollout-x.jsonl"))
	delete(want, filepath.Join(home, ".codex/archived_sessions/rollout-x.jsonl"))
	s := Find(Search{Home: home, IncludeSecondary: true, Getenv: func(name string) string {
		if name == "CODEX_HOME" {
			return elsewhere
		}
		return ""
	}})
	got := map[string]string{}
	for _, x := range s.Sessions {
		got[x.Path] = x.Agent.Name
	}
	for name, agent := range want {
		if got[name] != agent {
			t.Errorf("%s of %s was not found (%q)", name, agent, got[name])
		}
	}
	if len(got) != len(want) || len(s.Failed) > 0 {
		t.Errorf("found %d, want %d; failed: %v", len(got), len(want), s.Failed)
	}
}

func TestProjects(t *testing.T) {
	for raw, want := range map[string]string{
		`{"type":"x"}` + "\n" + `{"cwd":"/a/b"}`:                      "/a/b",
		`{"type":"session_meta","payload":{"cwd":"C:\\a"}}`:           `C:\a`,
		`{"working_dir":"/w","description":""}`:                       "/w",
		`{"message":{"content":"{\"cwd\":\"/no\"}"}}`:                 "",
		`{"broken "cwd"` + "\n" + `{"cwd":"/a"}`:                      "/a",
		strings.Repeat("{}\n", cwdLines) + `{"cwd":"/much/too/late"}`: "",
	} {
		if got := cwdIn([]byte(raw)); got != want {
			t.Errorf("cwdIn(%.60q) = %q, want %q", raw, got, want)
		}
	}
	for raw, want := range map[string]string{
		`# Current Working Directory (/home/a b/c) Files`: "/home/a b/c",
		`# Current Workspace Directory (c:\\Users\\a)`:    `c:\Users\a`,
		`# Current Working Directory: none`:               "",
	} {
		if got := workspaceIn([]byte(raw)); got != want {
			t.Errorf("workspaceIn(%q) = %q, want %q", raw, got, want)
		}
	}
}
