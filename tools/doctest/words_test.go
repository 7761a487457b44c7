package doctest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// strangeWords lists words that users find strange, with replacements. Code and pages about the code
// may use them.
var strangeWords = []struct{ word, instead string }{
	{`(?i)\bmend(s|ed|ing|er)?\b`, "repair, fix"},
	{`(?i)\bhang(s|ing)? (on|from)\b`, "links to, belongs to"},
	{`(?i)\bnothing is said\b`, "is empty"},
	{`(?i)\b(leave|leaves|left) [^.;:,]{1,30} away\b`, "omit"},
	{`(?i)\btold\b`, "said, named, shown"},
	{`(?i)\btells?\b`, "says, shows, names"},
	{`(?i)\bunfit\b`, "over the limit"},
	{`(?i)\bwho minds\b|\bminds\b`, "who refuses it"},
	{`\bgood; `, "valid: "},
	{`(?i)\b(take|takes|taken|taking) [^.;:,]{0,12}\bback\b`, "undo, restore, revert"},
	{`(?i)\b(take|takes|taken|taking) [^.;:,]{0,12}\bout\b`, "remove"},
	{`(?i)\ball the same\b`, "still, anyway"},
	{`(?i)\bheed(s|ed)?\b`, "follow, respect"},
	{`(?i)\bparted\b`, "divided"},
	{`(?i)\bamiss\b`, "wrong"},
	{`(?i)\bdearer\b`, "more expensive"},
	{`(?i)\bnobody answered\b`, "without a result"},
	{`(?i)\bsummaris`, "summarize, as the flag and the names of the library spell it"},
	{`(?i)\bas you wish\b|\bsecond thoughts\b`, "skipped; undo"},
	{`(?i)\blies elsewhere\b`, "another file"},
	{`(?i)\bvalid everywhere\b`, "what any vendor would refuse"},
	{`(?i)\bthe talk of\b|\btalks by\b`, "conversation"},
	{`(?i)\bin the midst\b`, "in the middle"},
	{`(?i)\b(slip of the pen|thrown? away|go(es)? home)\b`, "a plain word"},
}

func compileWords(t *testing.T) []*regexp.Regexp {
	t.Helper()
	all := make([]*regexp.Regexp, len(strangeWords))
	for i, o := range strangeWords {
		all[i] = regexp.MustCompile(o.word)
	}
	return all
}

// TestTextsForUsersUsePlainWords checks the words of all texts for users: pages, man pages, texts of
// the program, outputs of scripts, and web pages.
func TestTextsForUsersUsePlainWords(t *testing.T) {
	patterns := compileWords(t)
	seen := 0
	look := func(where, text string) {
		seen++
		text = keys.ReplaceAllString(text, "")
		for i, p := range patterns {
			if m := p.FindString(text); m != "" {
				t.Errorf("%s: %q in %q; plainer: %s", where, m, clip(text), strangeWords[i].instead)
			}
		}
	}
	for _, p := range pages(t) {
		if forContributors(p.name) {
			continue
		}
		for i, line := range p.lines {
			look(fmt.Sprintf("%s:%d", p.name, i+1), link.ReplaceAllString(inlineCode.ReplaceAllString(line, ""), ""))
		}
	}
	for _, pattern := range []string{"docs/man/*", "cmd/pare/testdata/script/*"} {
		for _, name := range glob(t, pattern) {
			for i, line := range strings.Split(read(t, name), "\n") {
				if !strings.HasPrefix(line, "#") { // a script's comments are about it
					look(fmt.Sprintf("%s:%d", rel(name), i+1), line)
				}
			}
		}
	}
	for _, name := range sources(t) {
		texts(t, name, look)
	}
	for _, pattern := range []string{"cmd/internal/ui/assets/*.js", "cmd/internal/ui/assets/*.html", "cmd/internal/ui/assets/*.css", "cmd/internal/ui/*.html", "cmd/internal/ui/*.js", "cmd/internal/ui/*/*.js", "cmd/internal/ui/*/*.html"} {
		for _, name := range glob(t, pattern) {
			for i, line := range strings.Split(withoutComments(read(t, name)), "\n") {
				look(fmt.Sprintf("%s:%d", rel(name), i+1), line)
			}
		}
	}
	if seen < 5_000 {
		t.Errorf("only %d texts were looked at", seen)
	}
}

// forContributors reports whether a page is about the code, in the words of the code.
func forContributors(name string) bool {
	return name == "AGENTS.md" || name == "CONTRIBUTING.md" || name == "docs/clients.md" ||
		strings.HasPrefix(name, "docs/internals/")
}

// keys are names of members, which programs read.
var keys = regexp.MustCompile(`json:"[^"]*"|\\?"[a-z_]+\\?"`)

var inlineCode = regexp.MustCompile("`[^`]*`")

// sources lists the Go files whose texts reach users.
func sources(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 || slices.Contains([]string{"testdata", "tools", "scripts", "paretest", "node_modules"}, d.Name()) || filepath.ToSlash(name) == root+"/internal"):
			return filepath.SkipDir
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			all = append(all, name)
		}
		return nil
	})
	if err != nil || len(all) < 50 {
		t.Fatalf("%d sources, %v", len(all), err)
	}
	return all
}

// texts looks at the texts of a Go file. What a provider says,
// and where that was seen, are not our words.
func texts(t *testing.T, name string, look func(where, text string)) {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && (key.Name == "Says" || key.Name == "Source") {
				return false
			}
		case *ast.BasicLit:
			if n.Kind != token.STRING {
				break
			}
			s, err := strconv.Unquote(n.Value)
			if err == nil {
				look(strings.TrimPrefix(fset.Position(n.Pos()).String(), root+"/"), s)
			}
		}
		return true
	})
}

var comments = regexp.MustCompile(`(?s)/\*.*?\*/|<!--.*?-->`)

// withoutComments takes the comments of a script or page out; lines stay where they are.
func withoutComments(text string) string {
	text = comments.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) })
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if at := strings.Index(line, "// "); at >= 0 && (at == 0 || line[at-1] == ' ' || line[at-1] == '\t') {
			lines[i] = line[:at]
		}
	}
	return strings.Join(lines, "\n")
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func read(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func rel(name string) string { return strings.TrimPrefix(filepath.ToSlash(name), root+"/") }

func clip(s string) string {
	if r := []rune(strings.TrimSpace(s)); len(r) > 160 {
		return string(r[:160]) + "…"
	}
	return strings.TrimSpace(s)
}
