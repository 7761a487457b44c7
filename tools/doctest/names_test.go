package doctest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// command is code that a shell would run.
var command = regexp.MustCompile("^`(go|docker|podman|make|PARE_[A-Z]+=\\S*) ")

var goName = regexp.MustCompile(`\b[A-Z][a-z]+[A-Za-z]*\b`)

// notNames are words in code that are no names of Go.
var notNames = map[string]bool{"PareMiddleware": true, "PareEdit": true, "PareSession": true, "Shift": true, "Esc": true, "Enter": true, "Home": true, "Grep": true, "Library": true, "Application": true, "Support": true, "Block": true, "Bearer": true}

// goFile is a file, or a pattern of files, from the root of the project.
var goFile = regexp.MustCompile("^`([a-z*]+/[a-z_*/]+\\.go)`$")

// TestPagesNameExistingCode wants every Go name and file that a page shows in code to exist. The changelog and the
// decisions also speak of names that are gone.
func TestPagesNameExistingCode(t *testing.T) {
	names := identifiers(t)
	seen := 0
	for _, p := range pages(t) {
		if p.name == "CHANGELOG.md" || p.name == "docs/rules.md" || p.name == "docs/words.md" || strings.HasPrefix(p.name, "docs/internals/decisions/") {
			continue
		}
		for i, line := range p.prose(t) {
			for _, code := range inlineCode.FindAllString(line, -1) {
				if m := goFile.FindStringSubmatch(code); m != nil && len(glob(t, m[1])) == 0 {
					t.Errorf("%s:%d: there is no %s", p.name, i+1, m[1])
				}
				if strings.ContainsAny(code, "/{\"'<$-") && !strings.Contains(code, ".") || strings.Contains(code, "http") || command.MatchString(code) {
					continue
				}
				for _, name := range goName.FindAllString(code, -1) {
					seen++
					if !names[name] && !notNames[name] {
						t.Errorf("%s:%d: %s names %s, which no Go file has", p.name, i+1, code, name)
					}
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d names were looked at", seen)
	}
}

// identifiers returns every identifier, and every word in a text, of the Go files of the
// project.
func identifiers(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata", d.IsDir() && strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2:
			return filepath.SkipDir
		case !strings.HasSuffix(name, ".go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				names[n.Name] = true
			case *ast.BasicLit:
				if n.Kind == token.STRING {
					for _, word := range goName.FindAllString(n.Value, -1) {
						names[word] = true
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
