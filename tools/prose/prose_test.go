package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCountsCommentsAndPages(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"a.go":          "//go:build what\n\npackage a\n\n// A tells what it is.\nvar A = \"what // what\" // nobody\n\n/* goes\non */\n",
		"a_test.go":     "package a\n\n// mend it\n",
		"page.md":       "# What\n\n```\nwhat\n```\n\nThe `what` is [here](https://what).\n",
		"testdata/b.md": "what\n",
		"rules.md":      "what\n",
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := make(map[kind]*count)
	err := walkTexts(dir, func(x text) {
		if got[x.kind] == nil {
			got[x.kind] = &count{}
		}
		got[x.kind].add(x)
	})
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range map[kind][2]int{goComments: {8, 4}, testComments: {2, 1}, markdown: {4, 1}} {
		c := got[k]
		if c == nil || c.words != want[0] || c.flagged != want[1] {
			t.Errorf("%s: got %+v, want %d flagged of %d words", k, c, want[1], want[0])
		}
	}
	var out strings.Builder
	got[goComments].print(&out, goComments, 3)
	if !strings.HasPrefix(out.String(), "go: 500.0 per 1,000 of 8 words (what-clauses 125.0, persons 125.0, ") {
		t.Errorf("got %s", out.String())
	}
}

func TestLimitsAreParsed(t *testing.T) {
	limits, err := parseLimits("go=3,md=5.5")
	if err != nil || limits[goComments] != 3 || limits[markdown] != 5.5 {
		t.Errorf("got %v, %v", limits, err)
	}
	if _, err := parseLimits("go"); err == nil {
		t.Error("a limit without a number is accepted")
	}
}
