package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTell checks that a passed package is one line, a failed one has its output, and a
// skipped test has its reason.
func TestTell(t *testing.T) {
	events := `{"Action":"start","Package":"m/a"}
{"Action":"output","Package":"m/a","Test":"TestGood","Output":"=== RUN   TestGood\n"}
{"Action":"output","Package":"m/a","Test":"TestGood","Output":"    a_test.go:3: chatter\n"}
{"Action":"pass","Package":"m/a","Test":"TestGood"}
{"Action":"output","Package":"m/a","Test":"TestSkip/one","Output":"    a_test.go:5: no shell\n"}
{"Action":"output","Package":"m/a","Test":"TestSkip/one","Output":"        to be had\n"}
{"Action":"output","Package":"m/a","Test":"TestSkip/one","Output":"    --- SKIP: TestSkip/one (0.00s)\n"}
{"Action":"skip","Package":"m/a","Test":"TestSkip/one"}
{"Action":"skip","Package":"m/a","Test":"TestSilent"}
{"Action":"output","Package":"m/a","Test":"TestScripts/x","Output":"        testscript.go:5: WORK=$WORK\n"}
{"Action":"output","Package":"m/a","Test":"TestScripts/x","Output":"            # A folder. (0.0s)\n"}
{"Action":"output","Package":"m/a","Test":"TestScripts/x","Output":"            > [root] skip 'root may write'\n"}
{"Action":"skip","Package":"m/a","Test":"TestScripts/x"}
{"Action":"output","Package":"m/a","Output":"PASS\n"}
{"Action":"output","Package":"m/a","Output":"ok  \tm/a\t0.1s\n"}
{"Action":"pass","Package":"m/a"}
{"Action":"output","Package":"m/b","Test":"TestBad","Output":"    b_test.go:7: got 1, want 2\n"}
{"Action":"output","Package":"m/b","Test":"TestBad","Output":"--- FAIL: TestBad (0.00s)\n"}
{"Action":"fail","Package":"m/b","Test":"TestBad"}
{"Action":"output","Package":"m/b","Test":"TestCut","Output":"panic: boom\n"}
{"Action":"output","Package":"m/b","Output":"FAIL\tm/b\t0.1s\n"}
{"Action":"fail","Package":"m/b"}
{"ImportPath":"m/c","Action":"build-output","Output":"c.go:1:1: expected package\n"}
not of go test
{"Action":"output","Package":"m/d","Output":"?   \tm/d\t[no test files]\n"}
{"Action":"skip","Package":"m/d"}
`
	want := `ok  	m/a	0.1s
    b_test.go:7: got 1, want 2
--- FAIL: TestBad (0.00s)
panic: boom
FAIL	m/b	0.1s
c.go:1:1: expected package
not of go test
?   	m/d	[no test files]

1 passed, 2 failed, 3 skipped
  failed: m/b TestBad
  failed: m/b TestCut
  skipped: no reason given
    m/a TestSilent
  skipped: no shell to be had
    m/a TestSkip/one
  skipped: root may write
    m/a TestScripts/x
`
	var got bytes.Buffer
	writeReport(&got, strings.NewReader(events))
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

// TestStatus checks that the exit status is that of go test for every kind of failure.
func TestStatus(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "testrun")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for file, text := range map[string]string{
		"go.mod":         "module m\n",
		"good/x_test.go": "package x\nimport \"testing\"\nfunc TestX(t *testing.T) { t.Skip(\"not today\") }\n",
		"bad/x_test.go":  "package x\nimport \"testing\"\nfunc TestX(t *testing.T) { t.Error(\"wrong\") }\n",
		"odd/x_test.go":  "package x\nfunc\n",
	} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for pkg, want := range map[string]struct {
		status int
		says   string
	}{
		"./good": {0, "0 passed, 0 failed, 1 skipped\n  skipped: not today\n    m/good TestX\n"},
		"./bad":  {1, "0 passed, 1 failed, 0 skipped\n  failed: m/bad TestX\n"},
		"./odd":  {1, "0 passed, 0 failed, 0 skipped\n"},
	} {
		cmd := exec.Command(bin, pkg)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=")
		out, _ := cmd.CombinedOutput()
		told := regexp.MustCompile(`(?s)^(.*\n)\d+ s of processor time, [^\n]+\n$`).FindSubmatch(out)
		if got := cmd.ProcessState.ExitCode(); got != want.status || told == nil || !strings.HasSuffix(string(told[1]), want.says) {
			t.Errorf("%s: status %d: %s", pkg, got, out)
		}
	}
	// With -count each package is measured; the time that go test itself takes is a separate line.
	cmd := exec.Command(bin, "-count=1", "./good", "./bad")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	out, _ := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != 1 || !costTable.Match(out) {
		t.Errorf("status %d: %s", got, out)
	}
}

var costTable = regexp.MustCompile(`(?m)^ +[0-9.]+ s  (good|bad)
 +[0-9.]+ s  (good|bad)
 +[0-9.]+ s  compiling, vetting and linking
[0-9]+ s of processor time`)
