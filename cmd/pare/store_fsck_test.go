package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"
)

func TestDamagedStoreCanBeExported(t *testing.T) {
	dir := t.TempDir()
	file, db := filepath.Join(dir, "talk.json"), filepath.Join(dir, "pare.db")
	body := `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"one"},{"role":"assistant","content":"two"},{"role":"user","content":"three"}]}`
	if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	session := func(want int, args ...string) (string, string) {
		t.Helper()
		status, out, errs := program(nil, append([]string{"session", args[0], "--store", db}, args[1:]...)...)
		if status != want {
			t.Fatalf("%v: status %d, want %d\n%s%s", args, status, want, out, errs)
		}
		return out, errs
	}
	session(statusClean, "import", "--id", "talk", file)
	raw, err := sql.Open("sqlite", db)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if _, err := raw.Exec(`UPDATE entries SET raw = x'00' WHERE pos & 268435455 = 2`); err != nil {
		t.Fatal(err)
	}
	const mark = "[pare: entry 2"
	goesOn := func() {
		t.Helper()
		for _, args := range [][]string{{"show", "talk"}, {"show", "--json", "talk"}, {"show", "--entries", "talk"}, {"export", "talk"}, {"window", "talk"}} {
			if out, _ := session(statusClean, args...); strings.Count(out, mark) != 1 || !strings.Contains(out, "three") {
				t.Errorf("%v: %s", args, out)
			}
		}
	}
	goesOn()
	if _, errs := session(statusClean, "export", "talk"); !strings.Contains(errs, "entry 2") || !strings.Contains(errs, "pare session fsck") {
		t.Errorf("export says nothing of the damage: %s", errs)
	}
	if out, errs := session(statusFindings, "fsck"); !strings.Contains(out, "entry 2: its bytes are not") || !strings.Contains(errs, "--repair") {
		t.Errorf("%s%s", out, errs)
	}
	if out, _ := session(statusClean, "fsck", "--repair"); !strings.Contains(out, "(quarantined)") {
		t.Error(out)
	}
	goesOn()
	if out, _ := session(statusClean, "fsck"); !strings.Contains(out, "(quarantined)") {
		t.Error(out)
	}
}
