package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// clockCalls depend on the clock.
var clockCalls = map[string]bool{
	"time.Since": true, "time.Until": true, "time.After": true, "time.AfterFunc": true, "time.NewTimer": true, "time.Tick": true, "time.NewTicker": true,
	"context.WithTimeout": true, "context.WithDeadline": true,
}

// clockAllowed lists tests that use a clock, with the reason why their verdict does not depend
// on how busy the machine is. Benchmarks (*bench_test.go) are exempt.
var clockAllowed = map[string]string{
	"cmd/internal/serve/waits_test.go":          "a soak compares the latency of requests with and without a summarizer",
	"cmd/pare/claude_client_test.go":            "no client outlives the run of tests",
	"cmd/pare/doctor_test.go":                   "samples memory",
	"cmd/pare/folder_test.go":                   "only a soak judges speed",
	"cmd/pare/kill_test.go":                     "kills at any time: nothing may be lost, whenever it happens",
	"cmd/pare/pauses_test.go":                   "the clock of a bubble, which advances only while all goroutines wait",
	"cmd/pare/main_test.go":                     "compares file dates that are hours apart",
	"tools/engine/compactor_test.go":            "the clock of a bubble, which advances only while all goroutines wait",
	"cmd/internal/serve/crowd_test.go":          "only a soak judges speed",
	"proxy/memory_budget_test.go":               "the clock of a bubble, which advances only while all goroutines wait",
	"cmd/internal/serve/pace_of_memory_test.go": "throughput, in a soak only",
	"store/crash_test.go":                       "kills at any time: nothing may be lost, whenever it happens",
	"store/endless_test.go":                     "kills at any time: nothing may be lost, whenever it happens",
	"store/open_test.go":                        "the clock of a bubble, which advances only while all goroutines wait",
	"summary/endpoint_test.go":                  "a request that hangs ends by its deadline, whenever that is",
	"cmd/internal/ui/chrome_test.go":            "waits as long as the run of tests lasts",
	"cmd/internal/ui/serve_test.go":             "changes something while a page waits for it",
}

// TestNoVerdictDependsOnTheClock checks that tests do not use the clock. trial.Linear compares
// processor time, testing/synctest has its own clock, and a soak may run on a quiet machine.
func TestNoVerdictDependsOnTheClock(t *testing.T) {
	used := make(map[string]bool)
	err := filepath.WalkDir("../..", func(path string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel("../..", path)
		name = filepath.ToSlash(name)
		switch {
		case err != nil || e.IsDir():
			return err
		case !strings.HasSuffix(name, "_test.go"), strings.HasSuffix(name, "bench_test.go"), strings.HasPrefix(name, "tools/house/"):
			return nil
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); ok {
				if pkg, ok := f.X.(*ast.Ident); ok && clockCalls[pkg.Name+"."+f.Sel.Name] {
					used[name] = true
					if clockAllowed[name] == "" {
						t.Errorf("%s:%d: %s.%s depends on the clock: count steps, use trial.Linear or synctest, leave it to a soak, or add the file to clockAllowed with a reason",
							name, files.Position(call.Pos()).Line, pkg.Name, f.Sel.Name)
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
	for name := range clockAllowed {
		if !used[name] {
			t.Errorf("%s does not use the clock: remove it from clockAllowed", name)
		}
	}
}
