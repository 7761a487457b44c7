package bindings

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/internal/trial"
)

// made is what the tests share: built once, when first asked for.
var made struct {
	sync.Mutex
	dir   string
	built map[string]error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if made.dir != "" {
		os.RemoveAll(made.dir)
	}
	os.Exit(code)
}

// build runs a command that makes a file, once, and returns its path.
func build(t *testing.T, name string, env []string, command ...string) string {
	t.Helper()
	trial.Long(t, "builds Pare for other languages")
	made.Lock()
	defer made.Unlock()
	if made.dir == "" {
		dir, err := os.MkdirTemp("", "pare-bindings-")
		if err != nil {
			t.Fatal(err)
		}
		made.dir, made.built = dir, map[string]error{}
	}
	path := filepath.Join(made.dir, name)
	err, done := made.built[name]
	if !done {
		cmd := exec.Command(command[0], strings.Split(strings.ReplaceAll(strings.Join(command[1:], "\x00"), "OUT", path), "\x00")...)
		cmd.Env = append(os.Environ(), env...)
		out, failed := cmd.CombinedOutput()
		if failed != nil {
			err = fmt.Errorf("%v: %w\n%s", command, failed, out)
		}
		made.built[name] = err
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// library is the C library.
func library(t *testing.T) string {
	t.Helper()
	need(t, "gcc")
	if runtime.GOOS == "windows" {
		t.Skip("the program in C is for Unix")
	}
	return build(t, "libpare.so", []string{"CGO_ENABLED=1"}, "go", "build", "-buildmode=c-shared", "-o", "OUT", "./c")
}

// need skips a test where a program is missing.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("no %s on this machine: install it to run this test", program)
	}
}

// clean is a file with a clean history of 3 MB.
func clean(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clean.json")
	if err := os.WriteFile(path, benchdata.Anthropic(3<<20), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// run runs a program and shows what it says.
func run(t *testing.T, env []string, command ...string) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// calls is how many calls with callbacks are made: a million in a soak.
func calls() string {
	if trial.Soak() {
		return "PARE_CALLS=1000000"
	}
	return "PARE_CALLS=4000"
}

// TestC: a program in C calls, is called back, by threads and beside a fork.
func TestC(t *testing.T) {
	lib := library(t)
	program := filepath.Join(t.TempDir(), "test")
	run(t, nil, "gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-o", program, "c/testdata/test.c", lib, "-lpthread", "-Wl,-rpath,"+filepath.Dir(lib))
	run(t, nil, program, clean(t))
}

// TestPython: the Python package does the same on the library, and without it on the program.
func TestPython(t *testing.T) {
	need(t, "python3")
	lib := library(t)
	program := build(t, "pare", nil, "go", "build", "-o", "OUT", "../cmd/pare")
	env := []string{calls(), "PYTHONPATH=python", "PARE_LIBRARY=" + lib, "PARE_PROGRAM=" + program, "PARE_CLEAN=" + clean(t), "PYTHONDONTWRITEBYTECODE=1"}
	run(t, env, "python3", "-m", "unittest", "discover", "-s", "python/tests", "-v")
}

// TestJavaScript: the npm package does the same in Node, by WebAssembly.
func TestJavaScript(t *testing.T) {
	dir := npm(t)
	program := build(t, "pare", nil, "go", "build", "-o", "OUT", "../cmd/pare")
	run(t, []string{calls(), "PARE_CLEAN=" + clean(t), "PARE_PROGRAM=" + program}, "node", "--expose-gc", "--test", filepath.Join(dir, "tests"))
}

// TestSeeds: the programs that stand in the place of five others, each in its user's language.
func TestSeeds(t *testing.T) {
	for _, c := range []struct{ program, file, says string }{
		{"node", "pi.mjs", "19 messages, 15 left"},
		{"node", "bindu.mjs", "true and no fact is lost"},
		{"node", "lore.mjs", "true 0 and now?"},
		{"python3", "message_window.py", "[] answer 9"},
		{"php", "agents_api.php", "orphan-call at 1, then 0, tool_result"},
	} {
		t.Run(c.file, func(t *testing.T) {
			need(t, c.program)
			file, err := filepath.Abs("../examples/seeds/" + c.file)
			if err != nil {
				t.Fatal(err)
			}
			var env []string
			switch c.program {
			case "node":
				at := filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(npm(t)))), c.file)
				source, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, source, 0o666); err != nil {
					t.Fatal(err)
				}
				file = at
			case "python3":
				env = []string{"PYTHONPATH=python", "PARE_LIBRARY=" + library(t), "PYTHONDONTWRITEBYTECODE=1"}
			case "php":
				env = []string{"PARE_PROGRAM=" + build(t, "pare", nil, "go", "build", "-o", "OUT", "../cmd/pare")}
			}
			cmd := exec.Command(c.program, file)
			cmd.Env = append(os.Environ(), env...)
			out, err := cmd.CombinedOutput()
			if err != nil || strings.TrimSpace(string(out)) != c.says {
				t.Errorf("%v: %s, want %s", err, out, c.says)
			}
		})
	}
}

// npm is the package as it is installed: in node_modules, with its engine.
func npm(t *testing.T) string {
	t.Helper()
	need(t, "node")
	wasm := build(t, "pare.wasm", []string{"GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0"}, "go", "build", "-ldflags", "-s -w", "-o", "OUT", "./wasm")
	dir := filepath.Join(t.TempDir(), "node_modules", "@pare-llm", "pare")
	if err := os.CopyFS(dir, os.DirFS("js")); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{wasm: "pare.wasm", filepath.Join(runtime.GOROOT(), "lib/wasm/wasm_exec.js"): "wasm_exec.js"} {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, to), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
