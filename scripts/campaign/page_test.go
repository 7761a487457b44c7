package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPage: a section is written in the place of the one that is there, rows of sessions
// that were not held again stay, and so does everything else.
func TestPage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(file, []byte("# Page\n\nWords.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	put := func(client string, rows ...row) {
		t.Helper()
		if err := writePage(file, client, rows); err != nil {
			t.Fatal(err)
		}
	}
	put("one", row{"killed", "none", "clean, 1 of 1 texts", "clean, 1 of 1 texts", false}, row{"plain", "call lost", "refused: x", "**refused: x** why", true})
	put("two", row{"plain", "none", "clean, 2 of 2 texts", "clean, 2 of 2 texts", false})
	put("one", row{"plain", "call lost", "refused: x", "clean, 3 of 3 texts", false})
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := "# Page\n\nWords.\n\n" +
		"## one\n\n2 of 2 sessions are sent whole and clean after the fix, 1 before it.\n\n" + tableHead +
		"| plain | call lost | refused: x | clean, 3 of 3 texts |\n| killed | none | clean, 1 of 1 texts | clean, 1 of 1 texts |\n\n" +
		"## two\n\n1 of 1 sessions are sent whole and clean after the fix, 1 before it.\n\n" + tableHead +
		"| plain | none | clean, 2 of 2 texts | clean, 2 of 2 texts |\n"
	if got := string(raw); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if strings.Contains(oneLine("\x1b[91m\x1b[1mError: \x1b[0mno | way\n"), "\x1b") {
		t.Error("colours are on the page")
	}
}
