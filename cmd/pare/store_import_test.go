//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/pgtest"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/store"
)

// TestKilledImportCanBeRepeated kills an import repeatedly and then completes it.
func TestKilledImportCanBeRepeated(t *testing.T) {
	const talks, messages = 40, 15
	var lines, want strings.Builder
	for i := range talks {
		var list []string
		for j := range messages {
			role := []string{"user", "assistant"}[j%2]
			list = append(list, fmt.Sprintf(`{"role":%q,"content":"message %d of talk %d"}`, role, j, i))
		}
		fmt.Fprintf(&lines, `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[%s]}`+"\n", strings.Join(list, ","))
		want.WriteString(strings.Join(list, "\n") + "\n")
	}
	file := filepath.Join(t.TempDir(), "talks.jsonl")
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	stores := map[string]string{"sqlite": filepath.Join(t.TempDir(), "pare.db")}
	kills := []int{0, 1, 12}
	if trial.Soak() {
		stores["postgres"] = pgtest.DSN(t)
		kills = nil
		for i := range 100 {
			kills = append(kills, i%talks)
		}
	}
	for name, dsn := range stores {
		t.Run(name, func(t *testing.T) {
			for _, after := range kills {
				importUntil(t, file, dsn, after)
			}
			if n := importUntil(t, file, dsn, -1); n != talks {
				t.Errorf("%d talks are reported", n)
			}
			db, err := store.Open(context.Background(), dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			problems, err := db.Fsck(context.Background(), false)
			if err != nil || len(problems) > 0 {
				t.Errorf("%v, %v", problems, err)
			}
			all, err := db.Sessions(context.Background(), "", 1000, nil)
			if err != nil || len(all) != talks {
				t.Fatalf("%d sessions: %v", len(all), err)
			}
			got := make([]string, 0, talks)
			for _, session := range all {
				var list strings.Builder
				err := db.Export(context.Background(), session.Key, store.Export{}, func(entry store.Entry) error {
					list.WriteString(string(entry.Raw) + "\n")
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				if session.Head != messages {
					t.Errorf("%s has %d entries", session.Key, session.Head)
				}
				got = append(got, list.String())
			}
			for i, talk := range slices.Collect(chunks(want.String(), messages)) {
				if !slices.Contains(got, talk) {
					t.Errorf("talk %d is not there as it was", i)
				}
			}
		})
	}
}

func chunks(text string, n int) func(func(string) bool) {
	return func(yield func(string) bool) {
		for part := range slices.Chunk(strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n"), n) {
			if !yield(strings.TrimSuffix(strings.Join(part, ""), "\n") + "\n") {
				return
			}
		}
	}
}

func importUntil(t *testing.T, file, dsn string, kill int) (n int) {
	t.Helper()
	c := exec.Command(programPath(t), "session", "import", "--store", dsn, file)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if kill == 0 {
		c.Process.Kill()
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if n++; n == kill {
			c.Process.Kill()
		}
	}
	if err := c.Wait(); err != nil && kill < 0 {
		t.Fatal(err)
	}
	return n
}

func TestSessionListHasEverySession(t *testing.T) {
	trial.Long(t, "lists more than a thousand sessions")
	dsn := filepath.Join(t.TempDir(), "pare.db")
	db, err := store.Open(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	const n = 1205
	for i := range n {
		if _, err := db.Create(context.Background(), store.Key{ID: fmt.Sprint("s", i)}, store.Create{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]int{
		"--json": n, "": 100, "--limit 1100": 1100, "--limit 1100 --json": 1100, "--limit 1000": 1000, "--limit 1": 1, "--limit 9999": n,
	} {
		status, out, errs := program(strings.NewReader(""), append([]string{"session", "list", "--store", dsn}, strings.Fields(args)...)...)
		seen := make(map[string]bool)
		for line := range strings.Lines(out) {
			seen[line] = true
		}
		if status != statusClean || len(seen) != want || strings.Contains(errs, "--limit N shows more") != (args == "") {
			t.Errorf("%q: status %d, %d different lines, want %d; %s", args, status, len(seen), want, errs)
		}
	}
	if status, _, errs := program(strings.NewReader(""), "session", "list", "--store", dsn, "--limit", "0"); status != statusInvalid {
		t.Errorf("status %d: %s", status, errs)
	}
}
