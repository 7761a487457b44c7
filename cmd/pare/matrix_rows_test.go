package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type failing struct {
	name    string
	model   func(http.ResponseWriter, *http.Request)
	timeout string
	conf    string
	archive string
	shell   string
	harm    func(t *testing.T, dir string)
	cure    func(t *testing.T, dir string)
}

const fullDiskShell = "ulimit -f 0 && "

func matrixFailings(never chan struct{}) []failing {
	return []failing{
		{name: "the file of the store is no database", harm: noDatabase, cure: database},
		{name: "the disk is full", shell: fullDiskShell},
		{name: "the summarizer answers 500", model: func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "overloaded", http.StatusInternalServerError)
		}},
		{name: "the summarizer never answers", timeout: "400ms", model: func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-never:
			case <-r.Context().Done():
			}
		}},
		{name: "the summarizer answers nonsense", model: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>welcome</html>") }},
		{name: "the summarizer says nothing", model: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":""}}]}`)
		}},
		{name: "a rule fails", conf: "[[expression]]\nname = \"mine\"\nwhen = 'int(arg(\"limit\")) > 3'\naction = \"clear\"\n"},
		{name: "the archive cannot be written", archive: "/dev/full"},
	}
}

func noDatabase(t *testing.T, dir string) {
	for _, name := range []string{"pare.db", "pare.db-wal", "pare.db-shm"} {
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, name+".kept")); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "pare.db"), []byte(strings.Repeat("this is no database\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func database(t *testing.T, dir string) {
	for _, name := range []string{"pare.db", "pare.db-wal", "pare.db-shm"} {
		os.Remove(filepath.Join(dir, name))
		if err := os.Rename(filepath.Join(dir, name+".kept"), filepath.Join(dir, name)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}

type matrixCommand struct {
	name, args string
	before     string
	once       bool
}

var matrixCommands = []matrixCommand{
	{name: "check", args: "check s.json"},
	{name: "count", args: "count s.json"},
	{name: "fix", args: "fix --config pare.toml s.json"},
	{name: "prune", args: "prune --config pare.toml s.json"},
	{name: "trim", args: "trim --config pare.toml --max-tokens 2500 s.json"},
	{name: "trim --summarize", args: "trim --config pare.toml --summarize --max-tokens 2500 s.json"},
	{name: "compact", args: "compact --config pare.toml --min-keep 8 s.json"},
	{name: "split", args: "split --inside s.json"},
	{name: "replay", args: "replay --config pare.toml --max-tokens 2500 s.json"},
	{name: "view", args: "view --text --plan prune --config pare.toml s.json"},
	{name: "lines", args: "lines"},
	{name: "session import", args: "session import --store STORE --id new s.json", once: true},
	{name: "session list", args: "session list --store STORE"},
	{name: "session show", args: "session show --store STORE talk"},
	{name: "session window", args: "session window --store STORE --config pare.toml --max-tokens 2500 talk"},
	{name: "session compact", args: "session compact --store STORE --config pare.toml --min-keep 8 talk", once: true},
	{name: "session search", args: "session search --store STORE package"},
	{name: "session recall", args: "session recall --store STORE --about package"},
	{name: "session export", args: "session export --store STORE talk"},
	{name: "session fork", args: "session fork --store STORE talk other", once: true},
	{name: "session revert", args: "session revert --store STORE --turns 1 talk", once: true},
	{name: "session undo", args: "session undo --store STORE talk", before: "session revert --store STORE --turns 1 talk", once: true},
	{name: "session fsck", args: "session fsck --store STORE"},
	{name: "session gc", args: "session gc --store STORE --originals 1h"},
	{name: "session backup", args: "session backup --store STORE copy.db", once: true},
	{name: "session delete", args: "session delete --store STORE --yes talk", once: true},
}
