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

// The bounds of files and functions. Files of rules are tables and have no bound.
const (
	longestFile     = 500
	longestFunction = 80
)

// entrances are the programs and libraries that users get, in addition to the public packages.
// Packages that none of these import are for tests only.
var entrances = []string{"cmd/pare", "cmd/playground", "bindings", "bindings/c"}

// TestSizes checks the lengths of files and functions that users get. With -v it also prints
// the lines of each package.
func TestSizes(t *testing.T) {
	all := map[string]pkg{}
	for _, p := range list(t) {
		all[p.name()] = p
	}
	shipped := map[string]bool{}
	for _, name := range slices.Concat(entrances, slices.Sorted(maps.Keys(exported))) {
		markShipped(all, shipped, name)
	}
	lines := map[string]int{}
	for name, p := range all {
		n, long := measure(t, p.Dir)
		lines[name] = n
		if shipped[name] {
			for _, message := range long {
				t.Error(message)
			}
		}
	}
	t.Logf("users get\n%s", table(lines, func(name string) bool { return shipped[name] }))
	t.Logf("only tests need\n%s", table(lines, func(name string) bool { return !shipped[name] && !strings.HasPrefix(name, "tools/") }))
	t.Logf("tools\n%s", table(lines, func(name string) bool { return strings.HasPrefix(name, "tools/") }))
}

// markShipped marks a package and everything that it imports.
func markShipped(all map[string]pkg, shipped map[string]bool, name string) {
	if shipped[name] {
		return
	}
	shipped[name] = true
	for _, imp := range all[name].Imports {
		if other, ours := strings.CutPrefix(imp, module); ours {
			markShipped(all, shipped, strings.TrimPrefix(other, "/"))
		}
	}
}

// measure counts the lines of a folder without tests, for all systems and processors. It also
// lists the files and functions that are too long.
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
func table(lines map[string]int, isIncluded func(name string) bool) string {
	var names []string
	sum := 0
	for name := range lines {
		if isIncluded(name) {
			names = append(names, name)
			sum += lines[name]
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(lines[b]-lines[a], cmp.Compare(a, b)) })
	var b strings.Builder
	fmt.Fprintf(&b, "%7d  total\n", sum)
	for _, name := range names {
		fmt.Fprintf(&b, "%7d  %s\n", lines[name], cmp.Or(name, "."))
	}
	return b.String()
}
