package main

import (
	"flag"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/engine"
)

// TestPythonClientCallsLines runs the Python program of docs/serve.md against pare serve.
func TestPythonClientCallsLines(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not on this machine")
	}
	const page = "../../docs/serve.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)<!-- calls -->\n```python\n(.*?)```\n\n```text\n(.*?)```\n").FindSubmatchIndex(text)
	if block == nil {
		t.Fatal("the page has no program")
	}
	program, said := string(text[block[2]:block[3]]), string(text[block[4]:block[5]])
	for _, call := range engine.Calls() {
		if call != "fit" && !strings.Contains(program, `pare("`+call+`"`) {
			t.Errorf("%s is not in the program", call)
		}
	}
	server := exec.Command(programPath(t), "serve", "--listen", "127.0.0.1:0", "--no-store")
	stderr, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { server.Process.Kill(); server.Wait() }()
	begins := make([]byte, 2000)
	n, _ := stderr.Read(begins)
	agent := exec.Command(python, "-c", program)
	agent.Env = append(os.Environ(), "PARE="+regexp.MustCompile(`http://[0-9.:]+`).FindString(string(begins[:n])))
	out, err := agent.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, begins[:n], out)
	}
	if string(out) == said {
		return
	}
	if update := flag.Lookup("update"); update == nil || update.Value.String() != "true" {
		t.Fatalf("the page says\n%s\nit prints\n%s\nwith -update the page is rewritten", said, out)
	}
	if err := os.WriteFile(page, []byte(string(text[:block[4]])+string(out)+string(text[block[5]:])), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestLinesHaveEveryCall(t *testing.T) {
	for _, call := range engine.Calls() {
		got := string(answerCall([]byte(`{"call":"` + call + `","body":` + faulty + `}`)))
		if !strings.Contains(got, `"report":`) && !strings.Contains(got, `"type":"`) || strings.Contains(got, "unknown_call") {
			t.Errorf("%s: %s", call, got)
		}
		if !strings.Contains((&linesCmd{}).Help(), call) {
			t.Errorf("pare lines --help does not name %s", call)
		}
	}
}
