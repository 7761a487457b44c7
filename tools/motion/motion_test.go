package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain plays the two binaries: the test binary under another name.
func TestMain(m *testing.M) {
	name := filepath.Base(os.Args[0])
	if name != "before" && name != "after" {
		os.Exit(m.Run())
	}
	words := map[string]string{"before": "2 faults repaired", "after": "2 faults fixed"}[name]
	switch os.Args[1] {
	case "fix":
		fmt.Fprintln(os.Stderr, words)
		if name == "before" && len(os.Args) > 2 {
			_ = os.WriteFile(os.Args[2]+".bak", []byte("x"), 0o600)
		}
	case "check":
		fmt.Printf(`{"source":"in.json","calls":%d,"findings":[]}`+"\n", len(name))
		if name == "after" {
			os.Exit(1)
		}
	default:
		fmt.Println("the same")
	}
	os.Exit(0)
}

func binaries(t *testing.T) (before, after string) {
	t.Helper()
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	before, after = filepath.Join(dir, "before"), filepath.Join(dir, "after")
	for _, name := range []string{before, after} {
		if err := os.WriteFile(name, self, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return before, after
}

func TestMotion(t *testing.T) {
	before, after := binaries(t)
	in := input{name: "x", file: "in.json", data: []byte(`{"messages":[]}`)}
	cases := every(in, []command{"fix IN", "check IN", "count IN"})
	o := options{workers: 2, each: time.Minute}
	for name, want := range map[string][]string{
		"": {"3 cases, 3 commands", "4 differences without a name, in 4 groups", "1 × fix · stderr", "- 0 faults repaired", "+ 0 faults fixed",
			"1 × fix · file in.json.bak", "+ not written", "1 × check · status", "1 × check · stdout", `smallest: x (15 bytes), stdout: pare check in.json`},
		"words ~ repaired => fixed\nR1 = file .*\\.bak\n# a comment\ncalls = (?s)^check (stdout|status)": {"0 differences without a name", "named: words, 1 times", "named: R1, 1 times", "named: calls, 2 times"},
		"words ~ repaired => repaired\nR1 = file .*\\.bak\ncalls = (?s)^check (stdout|status)":           {"1 differences without a name"},
	} {
		file := ""
		if name != "" {
			file = filepath.Join(t.TempDir(), "allow")
			if err := os.WriteFile(file, []byte(name), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		names, err := readAllowed(file)
		if err != nil {
			t.Fatal(err)
		}
		r := newReport(names)
		compareAll(context.Background(), o, cases, t.TempDir(), before, after, r)
		var out bytes.Buffer
		r.print(&out, 10, 0)
		for _, w := range want {
			if !strings.Contains(out.String(), w) {
				t.Errorf("with %q: %q is not in:\n%s", name, w, out.String())
			}
		}
	}
}

// TestNotRun: a run that was cut short has shown nothing.
func TestNotRun(t *testing.T) {
	before, _ := binaries(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := newReport(&allowed{})
	cases := every(input{name: "x", file: "in.json"}, []command{"count IN"})
	compareAll(ctx, options{workers: 1, each: time.Minute}, cases, t.TempDir(), before, before, r)
	if r.notRun != 1 || r.same() {
		t.Errorf("%d not run, same %v; want 1, false", r.notRun, r.same())
	}
}

func TestHunks(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"a\nb\nc\n", "a\nx\nc\n", `["b\n" "x\n"]`},
		{"a\nb\nc\nd\n", "b\nc\ne\nd\n", `["a\n" ""] ["" "e\n"]`},
		{`{"a":1,"b":2}`, `{"a":1,"b":3}`, `["\"b\":2}" "\"b\":3}"]`},
		{"", "x", `["" "x"]`},
	} {
		var got []string
		for _, h := range hunks(pieces(c.old), pieces(c.new)) {
			got = append(got, fmt.Sprintf("[%q %q]", h.old, h.new))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%q to %q: %s, want %s", c.old, c.new, s, c.want)
		}
	}
}

func TestCollect(t *testing.T) {
	t.Chdir("../..")
	cases, err := collect(options{histories: 3, corpus: "none", zoo: "none"}, []string{"orphan-call"})
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]bool{}
	for _, c := range cases {
		for _, s := range c.steps {
			labels[strings.Split(s.label, " ")[0]] = true
		}
	}
	for _, want := range []string{"check", "fix", "prune", "trim", "split", "compact", "count", "view", "explain", "rules", "replay", "doctor", "undo", "script"} {
		if !labels[want] {
			t.Errorf("no case runs %s", want)
		}
	}
}

// TestAllowed checks that the list of allowed differences can be read and never allows a
// change of a clean transcript.
func TestAllowed(t *testing.T) {
	names, err := readAllowed("second-house.allow")
	if err != nil {
		t.Fatal(err)
	}
	if len(names.rows) < 40 {
		t.Errorf("only %d rows", len(names.rows))
	}
	same := difference{c: &testCase{input: "zoo/x"}, step: step{label: "fix"}, what: "stdout", causes: " clean"}
	for _, h := range []hunk{{`"content":"a"`, `"content":"b"`}, {"0", "1"}, {"", "lost"}} {
		if name, ok := names.name(same, h); ok {
			t.Errorf("%q to %q on a clean transcript passes as %s", h.old, h.new, name)
		}
	}
}
