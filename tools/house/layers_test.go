package house

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/pare-llm/pare"

// lastPureLayer is the last layer whose packages import only the standard library, so that
// any program can embed them.
const lastPureLayer = 5

// layers is the one table of packages. A package imports only packages of lower layers. The
// root package is "".
var layers = map[string]int{
	// 0: tools of bytes, text and tests
	"internal/atomicfile": 0,
	"internal/benchdata":  0,
	"internal/breaker":    0,
	"internal/corpus":     0,
	"internal/cpu":        0,
	"internal/grapheme":   0,
	"internal/inside":     0,
	"internal/jsonspan":   0,
	"internal/names":      0,
	"internal/oracle":     0,
	"internal/plain":      0,
	"internal/suggest":    0,
	"internal/trial":      0,
	"internal/wording":    0,
	"tools/doctest":       0,
	"tools/extend":        0,
	"tools/house":         0,
	"tools/prose":         0,
	"tools/release":       0,
	"tools/testrun":       0,
	"tools/unions":        0,

	// 1: structure of a conversation and of JSON
	"cmd/internal/trust": 1,
	"internal/excerpt":   1,
	"internal/jsonedit":  1,
	"internal/jsontree":  1,
	"transcript":         1,

	// 2: formats, tokens, archive
	"archive":          2,
	"internal/needs":   2,
	"tokens":           2,
	"internal/dialect": 2,
	"wire":             3,

	// 4: the engine and its parts
	"":                     4,
	"internal/guidance":    4,
	"internal/histories":   4,
	"internal/planner":     4,
	"internal/refusal":     4,
	"internal/tally":       4,
	"proxy/internal/reply": 4,

	// 5: rules, summaries
	"internal/fullness": 5,
	"internal/rulelist": 5,
	"paretest":          5,
	"rules":             5,
	"summary":           5,

	// 6: configuration, sessions, store, proxy
	"cmd/internal/agentconf": 6,
	"cmd/internal/replay":    6,
	"cmd/internal/screen":    6,
	"cmd/internal/ui":        6,
	"internal/agentlog":      6,
	"internal/config":        6,
	"internal/fault":         6,
	"internal/hosts":         6,
	"internal/pgtest":        6,
	"proxy":                  6,
	"store":                  6,
	"tools/engine":           6,
	"tools/truth":            6,

	// 7: faces for users and other languages
	"agentlog":                7,
	"cmd/internal/background": 7,
	"cmd/internal/manual":     7,
	"cmd/internal/picture":    7,
	"cmd/internal/tables":     7,
	"config":                  7,
	"internal/engine":         7,
	"store/storehttp":         7,
	"tools/campaign":          7,
	"tools/floors":            7,
	"tools/load":              7,
	"tools/motion":            7,

	// 8: input and server of the program
	"cmd/internal/serve":  8,
	"cmd/internal/source": 8,

	// 9: programs and libraries
	"bindings":       9,
	"bindings/c":     9,
	"cmd/pare":       9,
	"cmd/playground": 9,
}

// onlyImports limits packages that may not import every lower package.
var onlyImports = map[string][]string{
	"transcript":        {"internal/inside"},
	"internal/cpu":      {},
	"internal/jsonspan": {"internal/cpu"},
	"tokens":            {"internal/inside"},
	"archive":           {"internal/jsonspan"},
	"internal/oracle":   {},
}

// sameLayer lists imports within a layer that are allowed.
var sameLayer = map[string][]string{
	"":                  {"internal/planner"},
	"internal/planner":  {"internal/guidance"},
	"internal/jsonspan": {"internal/cpu"},
	"internal/rulelist": {"rules"},
}

// A pkg is a package as the Go command lists it.
type pkg struct {
	ImportPath string
	Imports    []string
	Dir        string
	GoFiles    []string
	CgoFiles   []string
}

// name returns the import path within the module.
func (p pkg) name() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

// listOnce lists all packages of the repository.
var listOnce = sync.OnceValues(func() ([]pkg, error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Dir,GoFiles,CgoFiles", "./...", "./bindings/...", "./cmd/...", "./store/...", "./tools/...")
	cmd.Dir = "../.."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p pkg
		if err := dec.Decode(&p); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
})

func list(t *testing.T) []pkg {
	t.Helper()
	all, err := listOnce()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return all
}

// TestPackagesImportLowerLayers checks every import between packages of the repository.
func TestPackagesImportLowerLayers(t *testing.T) {
	exists := make(map[string]bool)
	for _, p := range list(t) {
		exists[p.name()] = true
		if _, known := layers[p.name()]; !known {
			t.Errorf("package %q has no layer: add it to the table in this test", p.name())
			continue
		}
		for _, imported := range p.Imports {
			if reason := forbiddenImport(p.name(), imported); reason != "" {
				t.Errorf("%s (layer %d) imports %s: %s", p.name(), layers[p.name()], imported, reason)
			}
		}
	}
	for name := range layers {
		if !exists[name] {
			t.Errorf("package %q does not exist: remove it from the table in this test", name)
		}
	}
}

// forbiddenImport returns the reason why a package may not import another one, or "".
func forbiddenImport(name, imported string) string {
	other, ours := strings.CutPrefix(imported, module)
	if !ours {
		isStandard := !strings.Contains(strings.Split(imported, "/")[0], ".")
		if !isStandard && layers[name] <= lastPureLayer {
			return "layers 0 to 4 use the standard library only"
		}
		return ""
	}
	other = strings.TrimPrefix(other, "/")
	if slices.Contains(sameLayer[name], other) {
		return ""
	}
	if allowed, limited := onlyImports[name]; limited && !slices.Contains(allowed, other) {
		return "it is not in the list of its imports"
	}
	if layers[other] >= layers[name] {
		return "a package imports only packages of lower layers"
	}
	return ""
}

// TestEveryPackageHasOneComment checks that a package has one package comment, which begins
// with its name.
func TestEveryPackageHasOneComment(t *testing.T) {
	for _, p := range list(t) {
		var comments []string
		name := ""
		for _, file := range slices.Concat(p.GoFiles, p.CgoFiles) {
			parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.ParseComments|parser.PackageClauseOnly)
			if err != nil {
				t.Fatal(err)
			}
			name = parsed.Name.Name
			if parsed.Doc != nil {
				comments = append(comments, parsed.Doc.Text())
			}
		}
		want := "Package " + name + " "
		if name == "main" {
			want = "Command " + filepath.Base(p.ImportPath) + " "
		}
		if len(comments) != 1 || !strings.HasPrefix(comments[0], want) {
			t.Errorf("%s: found %d package comments, expected one that begins with %q", p.ImportPath, len(comments), want)
		}
	}
}
