package main

import (
	"bytes"
	flags "flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/pare-llm/pare/cmd/internal/manual"
	"github.com/pare-llm/pare/internal/trial"
)

var update = flags.Bool("update", false, "rewrite what is made from the program: the man pages in docs/man, docs/words.md")

const manFolder = "../../docs/man"

func grammarForTest() *kong.Application {
	return newParser(&environment{stdout: io.Discard, stderr: io.Discard}, nil).Model
}

func TestManPagesFresh(t *testing.T) {
	pages := manual.Pages(grammarForTest(), commandGroups)
	if *update {
		if err := os.MkdirAll(manFolder, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for _, p := range pages {
		names = append(names, p.Name)
		file := filepath.Join(manFolder, p.Name)
		if *update {
			if err := os.WriteFile(file, p.Roff, 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, p.Roff) {
			t.Errorf("%s is stale (%v); run go test ./cmd/pare -run TestManPagesFresh -update", file, err)
		}
	}
	there, err := filepath.Glob(filepath.Join(manFolder, "*.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range there {
		if slices.Contains(names, filepath.Base(file)) {
			continue
		}
		if !*update {
			t.Errorf("%s is the page of no command", file)
		} else if err := os.Remove(file); err != nil {
			t.Error(err)
		}
	}
}

func TestManPagesPassLint(t *testing.T) {
	trial.Long(t, "sets every page")
	folder := t.TempDir()
	var files []string
	for _, p := range manual.Pages(grammarForTest(), commandGroups) {
		files = append(files, filepath.Join(folder, p.Name))
		if err := os.WriteFile(files[len(files)-1], p.Roff, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("mandoc", func(t *testing.T) {
		if _, err := exec.LookPath("mandoc"); err != nil {
			t.Skip("NOT TESTED: mandoc is not installed here (apt-get install mandoc)")
		}
		out, _ := exec.Command("mandoc", append([]string{"-T", "lint", "-W", "warning"}, files...)...).CombinedOutput()
		for line := range strings.Lines(string(out)) {
			// A date would make the pages differ every day.
			if !strings.Contains(line, "missing date") && !strings.Contains(line, "STYLE:") {
				t.Error(line)
			}
		}
	})
	t.Run("man", func(t *testing.T) {
		if err := exec.Command("man", "--version").Run(); err != nil {
			t.Skip("NOT TESTED: the man of man-db is not installed here (apt-get install man-db)")
		}
		for _, file := range files {
			cmd := exec.Command("man", "--warnings", "-E", "UTF-8", "-l", file)
			cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANWIDTH=100", "MANPAGER=cat", "PAGER=cat")
			var complaints bytes.Buffer
			cmd.Stderr = &complaints
			text, err := cmd.Output()
			if err != nil || complaints.Len() > 0 {
				t.Errorf("%s: %v\n%s", file, err, &complaints)
			}
			if !bytes.Contains(text, []byte("EXIT STATUS")) {
				t.Errorf("%s: no page was shown: %s", file, text)
			}
		}
	})
}

func TestHelpStartsWithExamples(t *testing.T) {
	app := grammarForTest()
	for _, n := range app.Children {
		if !strings.HasPrefix(n.Detail, manual.ExampleLead) {
			t.Errorf("pare %s --help does not begin with %q", n.Name, manual.ExampleLead)
		}
		examples, rest := manual.Examples(n.Detail)
		if !strings.HasPrefix(examples, "    pare "+n.Name) && n.Name != "completion" || rest == "" {
			t.Errorf("pare %s --help: the examples are %q, then there is %q", n.Name, examples, rest)
		}
		if n.Group == nil || !slices.ContainsFunc(commandGroups, func(g kong.Group) bool { return g.Key == n.Group.Key && g.Title == n.Group.Title }) {
			t.Errorf("pare %s is in none of the groups", n.Name)
		}
		if !strings.HasSuffix(n.Help, ".") {
			t.Errorf("pare %s: %q is no sentence", n.Name, n.Help)
		}
		for _, f := range n.Flags {
			if !strings.HasSuffix(f.Help, ".") {
				t.Errorf("pare %s --%s: %q is no sentence", n.Name, f.Name, f.Help)
			}
		}
	}
}

func TestExamplesInHelpParse(t *testing.T) {
	k := -1
	for _, n := range grammarForTest().Children {
		examples, _ := manual.Examples(n.Detail)
		if examples == "" {
			continue // another test checks these
		}
		for line := range strings.Lines(examples) {
			if k++; k%trial.Stride(5) > 0 {
				continue
			}
			command, ok := exampleCommand(line)
			if !ok {
				t.Errorf("pare %s: %q is no example", n.Name, line)
				continue
			}
			if _, err := newParser(&environment{stdout: io.Discard, stderr: io.Discard}, func(int) {}).Parse(command); err != nil {
				t.Errorf("%q: %v", line, err)
			}
		}
	}
}

func exampleCommand(line string) (args []string, ok bool) {
	_, rest, ok := strings.Cut(" "+strings.TrimSpace(line), " pare ")
	if !ok {
		_, rest, ok = strings.Cut(line, "(pare ")
	}
	rest, _, _ = strings.Cut(rest, "  ")
	rest, _, _ = strings.Cut(rest, " | ")
	rest, _, _ = strings.Cut(rest, " > ")
	rest, _, _ = strings.Cut(rest, ")")
	for _, word := range strings.Fields(rest) {
		args = append(args, strings.Trim(word, "'"))
	}
	return args, ok
}
