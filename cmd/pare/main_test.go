package main

import (
	"bytes"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pare-llm/pare/internal/pgtest"
	"github.com/pare-llm/pare/internal/trial"
)

func TestMain(m *testing.M) {
	standInByName() // does not return in a stand-in
	testscript.Main(tests{m}, map[string]func(){"pare": main, "pare-recorded": recordedPare, "agent": agent})
}

type tests struct{ *testing.M }

func (t tests) Run() int {
	defer pgtest.Stop()
	return t.M.Run()
}

func programPath(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("pare")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestScripts(t *testing.T) {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	var servers serving
	testscript.Run(t, testscript.Params{
		Files:         scripts(t),
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(e *testscript.Env) error {
			e.Setenv("EXAMPLES", examples)
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":   status,
			"pack":     pack,
			"unpack":   unpack,
			"cut":      cut,
			"mark":     mark,
			"nohidden": nohidden,
			"mode":     mode,
			"age":      age,
			"old":      old,
			"sqlite":   sqlite,
			"listen":   servers.listen,
			"reload":   servers.reload,
			"end":      servers.end,
			"post":     post,
			"begins": func(ts *testscript.TestScript, _ bool, args []string) {
				if !strings.HasPrefix(ts.ReadFile(args[0]), ts.ReadFile(args[1])) {
					ts.Fatalf("%s does not begin with %s", args[0], args[1])
				}
			},
			"chomp": func(ts *testscript.TestScript, _ bool, args []string) {
				write(ts, args[0], []byte(strings.TrimSuffix(ts.ReadFile(args[0]), "\n")))
			},
			"cat2": func(ts *testscript.TestScript, _ bool, args []string) {
				write(ts, args[2], []byte(ts.ReadFile(args[0])+ts.ReadFile(args[1])))
			},
			"binary": func(ts *testscript.TestScript, _ bool, args []string) {
				write(ts, args[0], append([]byte{0x7f, 'E', 'L', 'F', 0, 1, 2}, make([]byte, 2000)...))
			},
			"nested": func(ts *testscript.TestScript, _ bool, args []string) {
				write(ts, args[0], []byte(`{"messages":`+strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)+"}"))
			},
		},
	})
}

func scripts(t *testing.T) (some []string) {
	t.Helper()
	all, err := filepath.Glob("testdata/script/*.txt*")
	if err != nil || len(all) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	if strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		return all
	}
	for i := 0; i < len(all); i += trial.Stride(6) {
		some = append(some, all[i])
	}
	return some
}

func status(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	if err != nil || neg {
		ts.Fatalf("usage: status N command [args...]")
	}
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("status %d, want %d", got, want)
	}
}

func pack(ts *testscript.TestScript, _ bool, args []string) {
	var out bytes.Buffer
	in := []byte(ts.ReadFile(args[1]))
	switch args[0] {
	case "gzip":
		z := gzip.NewWriter(&out)
		_, err := z.Write(in)
		ts.Check(errors.Join(err, z.Close()))
	case "zstd":
		z, err := zstd.NewWriter(&out)
		ts.Check(err)
		_, err = z.Write(in)
		ts.Check(errors.Join(err, z.Close()))
	}
	write(ts, args[2], out.Bytes())
}

func unpack(ts *testscript.TestScript, _ bool, args []string) {
	var in io.Reader = strings.NewReader(ts.ReadFile(args[1]))
	var err error
	switch args[0] {
	case "gzip":
		in, err = gzip.NewReader(in)
	case "zstd":
		in, err = zstd.NewReader(in)
	}
	ts.Check(err)
	out, err := io.ReadAll(in)
	ts.Check(err)
	write(ts, args[2], out)
}

func nohidden(ts *testscript.TestScript, _ bool, args []string) {
	for _, dir := range args {
		names, err := filepath.Glob(filepath.Join(ts.MkAbs(dir), ".*"))
		ts.Check(err)
		for _, n := range names {
			if filepath.Base(n) != ".tmp" {
				ts.Fatalf("%s is left behind", n)
			}
		}
	}
}

func mode(ts *testscript.TestScript, _ bool, args []string) {
	st, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := fmt.Sprintf("%o", st.Mode().Perm()); got != args[0] {
		ts.Fatalf("mode %s, want %s", got, args[0])
	}
}

func age(ts *testscript.TestScript, _ bool, args []string) {
	d, err := time.ParseDuration(args[0])
	ts.Check(err)
	for _, name := range args[1:] {
		at := time.Now().Add(-d)
		ts.Check(os.Chtimes(ts.MkAbs(name), at, at))
	}
}

func old(ts *testscript.TestScript, neg bool, args []string) {
	d, err := time.ParseDuration(args[0])
	ts.Check(err)
	for _, name := range args[1:] {
		st, err := os.Stat(ts.MkAbs(name))
		ts.Check(err)
		if (time.Since(st.ModTime()) >= d) == neg {
			ts.Fatalf("%s was changed %v ago", name, time.Since(st.ModTime()))
		}
	}
}

func cut(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	write(ts, args[2], []byte(ts.ReadFile(args[0]))[:n])
}

func mark(ts *testscript.TestScript, _ bool, args []string) {
	write(ts, args[1], append([]byte{0xef, 0xbb, 0xbf}, ts.ReadFile(args[0])...))
}

func write(ts *testscript.TestScript, name string, data []byte) {
	ts.Check(os.WriteFile(ts.MkAbs(name), data, 0o666))
}

func sqlite(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	defer db.Close()
	_, err = db.Exec(ts.ReadFile(args[1]))
	ts.Check(err)
}
