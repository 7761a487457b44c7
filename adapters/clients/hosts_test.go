package clients

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// linkOwn builds our package and puts it among the packages of npm in a folder.
func linkOwn(t *testing.T, dir string) {
	t.Helper()
	own := filepath.Join(t.TempDir(), "node_modules", "@pare-llm", "pare")
	if err := os.CopyFS(own, os.DirFS("../../bindings/js")); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(own, "pare.wasm"), "./wasm")
	build.Dir = "../../bindings"
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "GOWORK=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	runs, err := os.ReadFile(filepath.Join(runtime.GOROOT(), "lib/wasm/wasm_exec.js"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(own, "wasm_exec.js"), runs, 0o666); err != nil {
		t.Fatal(err)
	}
	// A package that is not installed is found by a link, and finds the others in turn.
	link := filepath.Join(dir, "node_modules", "@pare-llm")
	if err := os.RemoveAll(link); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(link, os.DirFS(filepath.Dir(own))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(link) })
}

// TestHosts: ten thousand random histories, built by the packages of five hosts, go through our adapters for
// them; the hosts' own checks find every pair whole, and every element that no repair was about is the same.
func TestHosts(t *testing.T) {
	dir := installed(t, "ai", "@langchain/core", "@openai/agents-core", "@earendil-works/pi-ai")
	linkOwn(t, dir)
	script, err := os.ReadFile("testdata/hosts.mjs")
	if err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), "node", "--input-type=module", "-e", string(script), "--", "2000", "11")
	run.Dir, run.Env = dir, append(os.Environ(), "AI_SDK_LOG_WARNINGS=false")
	var stderr bytes.Buffer
	run.Stderr = &stderr
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	var counts map[string]struct{ Histories, Repaired, Fitted int }
	if err := json.Unmarshal(out, &counts); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for host, c := range counts {
		if c.Histories != 2000 || c.Repaired < 200 || c.Fitted < 200 {
			t.Errorf("%s: %+v", host, c)
		}
	}
	if len(counts) != 5 {
		t.Errorf("%d hosts", len(counts))
	}
	t.Log(strings.TrimSpace(string(out)))
}
