package house

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The bounds of what is read at one go. A file of rows is one table and may be as long as it is.
const (
	longestFile     = 500
	longestFunction = 80
)

// entrances are what users get: the programs, the libraries for other languages, and every package that may be imported.
// What none of them depends on is there for the tests.
var entrances = []string{"cmd/pare", "cmd/playground", "bindings", "bindings/c"}

// TestSizes holds the lengths of files and functions of what is shipped. With -v it counts the lines by package: first
// what users get, then what only tests need.
func TestSizes(t *testing.T) {
	all := map[string]pkg{}
	for _, p := range list(t) {
		all[strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")] = p
	}
	shipped := map[string]bool{}
	for _, name := range slices.Concat(entrances, slices.Sorted(maps.Keys(exported))) {
		ship(all, shipped, name)
	}
	lines := map[string]int{}
	for name, p := range all {
		n, long := measure(t, p.Dir)
		lines[name] = n
		if shipped[name] {
			for _, what := range long {
				t.Error(what)
			}
		}
	}
	t.Logf("users get\n%s", table(lines, func(name string) bool { return shipped[name] }))
	t.Logf("only tests need\n%s", table(lines, func(name string) bool { return !shipped[name] && !strings.HasPrefix(name, "tools/") }))
	t.Logf("tools\n%s", table(lines, func(name string) bool { return strings.HasPrefix(name, "tools/") }))
}

// ship marks a package and all of the house that it imports.
func ship(all map[string]pkg, shipped map[string]bool, name string) {
	if shipped[name] {
		return
	}
	shipped[name] = true
	for _, imp := range all[name].Imports {
		if other, ours := strings.CutPrefix(imp, module); ours {
			ship(all, shipped, strings.TrimPrefix(other, "/"))
		}
	}
}

// measure counts the lines of a folder without tests, those of every system and processor, and names what is too long.
func measure(t *testing.T, dir string) (lines int, long []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		n := bytes.Count(raw, []byte("\n"))
		lines += n
		if n > longestFile && !strings.HasSuffix(path, "_rules.go") {
			long = append(long, fmt.Sprintf("%s has %d lines; %d are allowed", path, n, longestFile))
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, raw, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				first, last := fset.Position(fn.Pos()), fset.Position(fn.End())
				if n := last.Line - first.Line + 1; n > longestFunction {
					long = append(long, fmt.Sprintf("%s: %s has %d lines; %d are allowed", first, fn.Name.Name, n, longestFunction))
				}
			}
		}
	}
	return lines, long
}

// table lists packages with their lines, the largest first, and the sum.
func table(lines map[string]int, of func(name string) bool) string {
	var names []string
	sum := 0
	for name := range lines {
		if of(name) {
			names = append(names, name)
			sum += lines[name]
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(lines[b]-lines[a], cmp.Compare(a, b)) })
	var b strings.Builder
	fmt.Fprintf(&b, "%7d  in all\n", sum)
	for _, name := range names {
		fmt.Fprintf(&b, "%7d  %s\n", lines[name], cmp.Or(name, "."))
	}
	return b.String()
}
