package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestOpinions: what doctor says is right if it comes true, and a client that repairs something loses
// nothing; a promise that is not kept is told from a warning that was not needed.
func TestOpinions(t *testing.T) {
	for _, c := range []struct {
		says, does  string
		right, kind bool
	}{
		{whole, whole, true, false}, {"repairs", whole, true, false}, {forgets, forgets, true, false},
		{whole, dead, false, true}, {"repairs", forgets, false, true}, {whole, full, false, true},
		{dead, whole, false, false}, {forgets, whole, false, false},
	} {
		o := opinion{says: c.says, does: c.does}
		if o.right() != c.right || o.kind() != c.kind {
			t.Errorf("%s, %s: right %v, too kind %v", c.says, c.does, o.right(), o.kind())
		}
	}
}

// TestWriteOpinions: a client's section and its row take the place of the ones before, and nothing
// else of the page changes.
func TestWriteOpinions(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	was := "# P\n\nfront\n\n## " + verdicts + "\n\nwords\n\n## Last\n\nend\n"
	if err := os.WriteFile(page, []byte(was), 0o644); err != nil {
		t.Fatal(err)
	}
	wrong := []opinion{{session: "plain", damage: none, says: whole, does: dead}}
	right := []opinion{{session: "plain", damage: none, says: whole, does: whole, count: "8/8"}, {session: "full", damage: "after trim", says: whole, does: whole}}
	for _, step := range []struct {
		client string
		rows   []opinion
	}{{"one", wrong}, {"two", right}, {"one", right}} {
		if err := writeOpinions(page, step.client, step.rows); err != nil {
			t.Fatal(err)
		}
	}
	raw, _ := os.ReadFile(page)
	got := string(raw)
	for _, want := range []string{"# P\n\nfront\n", "\n\nwords\n", "\n## Last\n\nend\n", "| one | 1 | 1 | 0 | 0 | 1 of 1 | 0 |\n", "| two | 1 | 1 | 0 | 0 | 1 of 1 | 0 |\n", "| none | resumes 8/8 | – |\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "but") || strings.Count(got, "### one") != 1 {
		t.Errorf("the old section is there:\n%s", got)
	}
}

// TestOpinionIn: what a cell says is read as it was.
func TestOpinionIn(t *testing.T) {
	for _, o := range []opinion{
		{says: whole, does: whole, count: "8/8"},
		{says: "repairs", does: whole, count: "8/8", after: "fix 8/8"},
		{says: full, does: forgets, count: "14372 of 128000 tokens"},
		{says: dead, does: dead, after: "not repaired"},
		{says: forgets, does: forgets, count: "3/8", after: "fix 7/8", faults: []string{"not clean after fix", "a second fix changes more"}},
		{},
	} {
		if got := opinionIn(o.cell()); !reflect.DeepEqual(got, o) {
			t.Errorf("%q: %+v, want %+v", o.cell(), got, o)
		}
	}
}

// TestOpinionsStay: what was not asked about anew stays on the page, and counts.
func TestOpinionsStay(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("# P\n\n## "+verdicts+"\n\nwords\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	one := opinion{session: "one", damage: overfull, says: full, does: full, count: "9 of 8 tokens"}
	two := opinion{session: "two", damage: overfull, says: full, does: whole, count: "7 of 8 tokens"}
	again := two
	again.does = full
	for _, rows := range [][]opinion{{one, two}, {again}} {
		if err := writeOpinions(page, "c", rows); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := os.ReadFile(page)
	if want := "| damage | one | two |\n| --- | --- | --- |\n| too long | full 9 of 8 tokens | full 7 of 8 tokens |\n"; !strings.Contains(string(got), want) || !strings.Contains(string(got), "| c | 2 | 2 | 0 |") {
		t.Errorf("%s", got)
	}
}
