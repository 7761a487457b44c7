package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPage: a section is written in the place of the one that is there, cells that were not
// run again stay, the table of all clients counts what the sections hold, and everything else
// stays as it is.
func TestPage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	other := "## Something else\n\n| agent | sound |\n| --- | --- |\n| one | 1/1 → 1/1 |\n"
	if err := os.WriteFile(file, []byte("# Page\n\nWords.\n\n"+overview+"| --- |\n| old |\n\nMore words.\n\n"+other), 0o644); err != nil {
		t.Fatal(err)
	}
	damages := []string{none, "call lost", "torn"}
	put := func(client string, rows ...row) {
		t.Helper()
		if err := writePage(file, client, rows, damages); err != nil {
			t.Fatal(err)
		}
	}
	put("one", row{"killed", "none", "clean 1/1", "clean 1/1"}, row{"plain", "torn", "3/4", "clean 4/4"}, row{"plain", "call lost", "orphan-result 2/3", "orphan-result 2/3"})
	put("two", row{"plain", "none", "clean 2/2", "clean 2/2"})
	put("one", row{"plain", "call lost", "orphan-result 2/3", "clean 3/3"}, row{"killed", "torn", "nothing", "twice 3/3"}, row{session: "killed", damage: "call lost"})
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := "# Page\n\nWords.\n\n" + overview + "| --- | --- | --- | --- | --- | --- |\n| one | 2 | 2 | 4 | 1 | 3 |\n| two | 1 | 0 | 1 | 1 | 1 |\n\nMore words.\n\n" + other + "\n" +
		"## one\n\n3 of 4 sessions are sent whole and clean after the fix, 1 before it.\n\n" +
		"| damage | plain | killed |\n| --- | --- | --- |\n" +
		"| none |  | 1/1 → 1/1 |\n| call lost | orphan-result 2/3 → 3/3 | – |\n| torn | 3/4 → 4/4 | nothing → **twice 3/3** |\n\n" +
		"## two\n\n1 of 1 sessions are sent whole and clean after the fix, 1 before it.\n\n" +
		"| damage | plain |\n| --- | --- |\n| none | 2/2 → 2/2 |\n"
	if got := string(raw); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if strings.Contains(oneLine("\x1b[91m\x1b[1mError: \x1b[0mno | way\n"), "\x1b") {
		t.Error("colours are on the page")
	}
}

// TestVerdict: a request is clean only if each text is there, once, in its order, and each
// call with its own result.
func TestVerdict(t *testing.T) {
	whole := &resumption{marks: []string{"a", "b", "c"}, times: map[string]int{"a": 1, "b": 1, "c": 1}, pairs: []string{"b" + between + "c"}}
	want := wanted(whole, &resumption{left: []string{"c", "b", "a", "d"}})
	once := map[string]int{"a": 1, "b": 1, "c": 1}
	for verdict, r := range map[string]*resumption{
		"nothing":      {},
		"clean 3/3":    {body: []byte("{}"), marks: []string{"a", "b", "c"}, times: once, pairs: whole.pairs},
		"2/3":          {body: []byte("{}"), marks: []string{"a", "c"}, times: once},
		"parted 3/3":   {body: []byte("{}"), marks: []string{"a", "b", "c"}, times: once},
		"twice 3/3":    {body: []byte("{}"), marks: []string{"a", "b", "c"}, times: map[string]int{"a": 2}, pairs: whole.pairs},
		"disorder 3/3": {body: []byte("{}"), marks: []string{"b", "c", "a"}, times: once, pairs: whole.pairs},
	} {
		if got := r.verdict(want); got != verdict {
			t.Errorf("%s, want %s", got, verdict)
		}
	}
}
