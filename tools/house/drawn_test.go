package house

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestDrawn wants every package in the table of AGENTS.md and in the picture of
// docs/internals/architecture.md, on its own floor, and nothing there that does not exist; and what
// each is for in the text below the picture.
func TestDrawn(t *testing.T) {
	rows, picture := agentsTable(t), drawing(t)
	text, err := os.ReadFile("../../docs/internals/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, p := range list(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		level := floors[name].level
		if name == "" {
			name = "."
		}
		seen[name] = true
		if got, ok := rows[name]; !ok || got != level {
			t.Errorf("AGENTS.md has no row for %s on floor %d", name, level)
		}
		if name == "." {
			name = "pare"
		}
		if !strings.Contains(string(text), "**`"+name+"`**") {
			t.Errorf("docs/internals/architecture.md does not say what %s is for, in a paragraph with **`%s`**", name, name)
		}
		if drawn := regexp.MustCompile(`(^|[ /])` + regexp.QuoteMeta(path.Base(name)) + `( |$)`); !drawn.MatchString(picture[level]) {
			t.Errorf("docs/internals/architecture.md does not draw %s on floor %d:\n%s", name, level, picture[level])
		}
	}
	for name := range rows {
		if !seen[name] {
			t.Errorf("AGENTS.md has a row for %s, which does not exist", name)
		}
	}
}

var row = regexp.MustCompile("(?m)^\\| (\\d) \\| `([^`]+)`")

// agentsTable returns the floor of each package in the table of AGENTS.md.
func agentsTable(t *testing.T) map[string]int {
	t.Helper()
	raw, err := os.ReadFile("../../AGENTS.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int{}
	for _, m := range row.FindAllStringSubmatch(string(raw), -1) {
		level, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		rows[m[2]] = level
	}
	return rows
}

// drawing returns the lines of each floor in the picture of docs/internals/architecture.md.
func drawing(t *testing.T) map[int]string {
	t.Helper()
	raw, err := os.ReadFile("../../docs/internals/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "\n## Floors\n")
	_, rest, _ = strings.Cut(rest, "\n```\n")
	block, _, ok := strings.Cut(rest, "\n```\n")
	if !ok {
		t.Fatal("docs/internals/architecture.md has no picture of the floors")
	}
	lines := map[int]string{}
	level := -1
	for line := range strings.Lines(block) {
		if n := strings.TrimSpace(line[:min(len(line), 3)]); n != "" {
			if _, err := fmt.Sscan(n, &level); err != nil {
				t.Fatalf("a line of the picture begins with %q, which is no floor", n)
			}
		}
		lines[level] += strings.TrimRight(line, "\n") + " "
	}
	return lines
}
