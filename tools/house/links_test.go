package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// docLink matches a link of a comment to a name: [Plan.Apply], [wire.Request].
var docLink = regexp.MustCompile(`\[\*?([a-z]+\.)?([A-Z]\w+(?:\.[A-Z]\w*)?)\](?:[^(:\w]|$)`)

// TestDocLinks checks that comments of public packages link to names that are exported.
func TestDocLinks(t *testing.T) {
	isExported := make(map[string]bool)
	comments := make(map[string]string) // by position
	for _, p := range list(t) {
		name := p.name()
		if _, public := exported[name]; !public {
			continue
		}
		for _, n := range exportedNames(t, p) {
			isExported[n] = true
		}
		for _, file := range p.GoFiles {
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, file), nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			own := f.Name.Name
			ast.Inspect(f, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok {
					return true
				}
				switch typ := spec.Type.(type) {
				case *ast.StructType:
					members(typ.Fields, func(m string) { isExported[own+"."+spec.Name.Name+"."+m] = true })
				case *ast.InterfaceType:
					members(typ.Methods, func(m string) { isExported[own+"."+spec.Name.Name+"."+m] = true })
				}
				return true
			})
			for _, c := range f.Comments {
				comments[own+" "+fset.Position(c.Pos()).String()] = c.Text()
			}
		}
	}
	links := 0
	for at, text := range comments {
		own, where, _ := strings.Cut(at, " ")
		for _, m := range docLink.FindAllStringSubmatch(text, -1) {
			pkg := own
			if m[1] != "" {
				pkg = strings.TrimSuffix(m[1], ".")
			}
			if links++; !isExported[pkg+"."+m[2]] && publicName(pkg) {
				t.Errorf("%s: [%s%s] is not exported", where, m[1], m[2])
			}
		}
	}
	if links < 50 {
		t.Errorf("only %d links found", links)
	}
}

// members calls add for each name of a list of fields or methods.
func members(list *ast.FieldList, add func(string)) {
	for _, f := range list.List {
		for _, n := range f.Names {
			add(n.Name)
		}
	}
}

// publicName reports whether it is the name of a package that users can import.
func publicName(pkg string) bool {
	_, public := exported[pkg]
	return public || pkg == "pare"
}
