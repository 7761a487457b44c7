package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare/internal/trial"
)

// built holds the files that the tests of this package have built.
var built = map[string][]byte{}

// checkSums checks that every file of a release has a correct checksum.
func checkSums(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.IsDir() || f.Name() == "SHA256SUMS" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if line := fmt.Sprintf("%x  %s\n", sha256.Sum256(data), f.Name()); !strings.Contains(string(text), line) {
			t.Errorf("SHA256SUMS does not have %s", line)
		}
	}
	for _, kind := range []string{".tgz", ".whl", ".cdx.json", ".intoto.json"} {
		if !strings.Contains(string(text), kind+"\n") {
			t.Errorf("there is no %s among\n%s", kind, text)
		}
	}
}

// sameAgain builds a second release elsewhere and compares the bytes. TestArchives already
// compares archives of the same files, so only their content is built again: the documents,
// and the library, which two compilers build. A soak builds everything again.
func sameAgain(t *testing.T, dir string, first *release) {
	again := release{root: "../..", out: t.TempDir(), version: "v9.8.7", cached: first.cached}
	if trial.Soak() {
		if err := again.run([]string{"host"}); err != nil {
			t.Fatal(err)
		}
		one, two := read(t, filepath.Join(dir, "SHA256SUMS")), read(t, filepath.Join(again.out, "SHA256SUMS"))
		if !bytes.Equal(one, two) {
			t.Errorf("two releases differ:\n%s\n%s", one, two)
		}
		return
	}
	again.made = maps.Clone(built)
	maps.DeleteFunc(again.made, func(command string, _ []byte) bool { return strings.Contains(command, "c-shared") })
	again.identify()
	if err := again.collectDocuments(); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(first.docs, again.docs) || first.commit != again.commit || first.at != again.at {
		t.Error("the documents, the commit or the time of two releases differ")
	}
	host, err := parseSystem("host")
	if err != nil {
		t.Fatal(err)
	}
	one, err := first.library(host)
	two, err2 := again.library(host)
	if err := errors.Join(err, err2); err != nil || !bytes.Equal(one, two) {
		t.Errorf("two libraries differ: %d and %d bytes, %v", len(one), len(two), err)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// find is the one file of a release that a pattern names.
func find(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v, %v", pattern, found, err)
	}
	return found[0]
}

func execute(t *testing.T, dir string, command ...string) string {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PYTHONPATH=", "PARE_LIBRARY=", "PARE_PROGRAM=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", command, err, out)
	}
	return string(out)
}

// installNPM installs the packages into an empty folder, without scripts and without the network, and
// uses both the module and the program.
func installNPM(t *testing.T, dir string) {
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("no npm on this machine: install Node to run this test")
	}
	into := t.TempDir()
	alias := npmName + "-" + npmOS[runtime.GOOS] + "-" + npmCPU[runtime.GOARCH]
	own := find(t, dir, "pare-llm-pare-*-"+npmOS[runtime.GOOS]+"-*.tgz")
	execute(t, into, "npm", "install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", alias+"@file:"+own, find(t, dir, "pare-llm-pare-9.8.7.tgz"))
	if err := os.WriteFile(filepath.Join(into, "try.mjs"), []byte(`import { fix } from "@pare-llm/pare";
console.log(JSON.stringify(fix([{ role: "user", content: "hi" }, { role: "assistant", content: [{ type: "tool_use", id: "t", name: "n", input: {} }] }, { role: "user", content: "so?" }])));
`), 0o666); err != nil {
		t.Fatal(err)
	}
	if out := execute(t, into, "node", "try.mjs"); !strings.Contains(out, `"tool_use_id":"t"`) {
		t.Errorf("the module says %s", out)
	}
	if out := execute(t, into, filepath.Join(into, "node_modules/.bin/pare"), "--version"); !strings.HasPrefix(out, "pare 9.8.7 ") {
		t.Errorf("the program says %s", out)
	}
}

// installWheel installs the wheel into a bare environment, and uses both the library and the program.
func installWheel(t *testing.T, dir string) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no Python on this machine: install it to run this test")
	}
	into := t.TempDir()
	if out, err := exec.Command("python3", "-m", "venv", into).CombinedOutput(); err != nil {
		t.Skipf("no venv here: install python3-venv to run this test\n%s", out)
	}
	bin := filepath.Join(into, "bin")
	if runtime.GOOS == "windows" {
		bin = filepath.Join(into, "Scripts")
	}
	python := filepath.Join(bin, "python3")
	execute(t, into, python, "-m", "pip", "install", "--no-index", "--no-deps", "--disable-pip-version-check", find(t, dir, "*.whl"))
	const try = `import pare_llm, pare_llm._engine as e
print(pare_llm.fix([{"role": "user", "content": "hi"}, {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": {}}]}, {"role": "user", "content": "so?"}]))
print(type(e._engine).__name__, pare_llm.__version__)`
	if out := execute(t, into, python, "-c", try); !strings.Contains(out, "'tool_use_id': 't'") || !strings.Contains(out, "Library 9.8.7") {
		t.Errorf("the package says %s", out)
	}
	if out := execute(t, into, filepath.Join(bin, "pare-llm"), "--version"); !strings.HasPrefix(out, "pare 9.8.7 ") {
		t.Errorf("the program says %s", out)
	}
}

// TestPlayground opens the playground in a browser and repairs its example.
func TestPlayground(t *testing.T) {
	if testing.Short() {
		t.Skip("builds WebAssembly and starts a browser; left to make test")
	}
	browser := ""
	for _, name := range []string{os.Getenv("PARE_BROWSER"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		t.Skip("no Chromium found: run scripts/browser.sh, or set PARE_BROWSER")
	}
	r := release{root: "../..", cached: true, made: built}
	parts, err := r.playgroundFiles()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range parts {
		if err := os.WriteFile(filepath.Join(dir, f.name), f.data, 0o666); err != nil {
			t.Fatal(err)
		}
		if f.name == "playground.wasm" {
			t.Logf("%s has %d bytes", f.name, len(f.data))
		}
	}
	// The page sends its text to the test as soon as it shows the example.
	said := make(chan string, 1)
	script := filepath.Join(dir, "playground.js")
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, `
new MutationObserver(() => { if (by("says").textContent) fetch("/said", { method: "POST", body: by("says").textContent + "\n" + by("page").srcdoc }); }).observe(by("says"), { childList: true });`...)
	if err := os.WriteFile(script, text, 0o666); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(dir)))
	mux.HandleFunc("/said", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		select {
		case said <- string(body):
		default:
		}
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	profile, err := os.MkdirTemp("", "pare-browser-")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--user-data-dir="+profile, server.URL+"/#example")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
		// Its other processes end when they see that, and write until then.
		for range 100 {
			if os.RemoveAll(profile) == nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Errorf("%s cannot be removed", profile)
	}()
	out := <-said
	if !strings.HasPrefix(out, "anthropic: 2 faults, ") || !strings.Contains(out, ", clean now\n<!doctype html>") || !strings.Contains(out, "toolu_01") {
		t.Errorf("the page does not say that its example was repaired:\n%.3000s", out)
	}
}

// readProvenance checks the commit and that every other file is among the subjects.
func readProvenance(t *testing.T, dir string, r *release) {
	var says struct {
		Type    string `json:"_type"`
		Subject []struct {
			Name   string
			Digest map[string]string
		}
		Predicate struct {
			BuildDefinition struct {
				ResolvedDependencies []struct {
					URI    string
					Digest map[string]string
				}
			}
		}
	}
	if err := json.Unmarshal(read(t, find(t, dir, "*.intoto.json")), &says); err != nil {
		t.Fatal(err)
	}
	if len(says.Subject) != len(r.files)-1 || says.Type != "https://in-toto.io/Statement/v1" {
		t.Errorf("%d files, %d in the statement, which is a %s", len(r.files), len(says.Subject), says.Type)
	}
	for _, s := range says.Subject {
		if got := sum(read(t, filepath.Join(dir, s.Name))); got != s.Digest["sha256"] {
			t.Errorf("%s is %s, the statement says %s", s.Name, got, s.Digest["sha256"])
		}
	}
	if r.commit != "" && says.Predicate.BuildDefinition.ResolvedDependencies[0].Digest["gitCommit"] != r.commit {
		t.Errorf("%+v", says.Predicate)
	}
	brew := read(t, filepath.Join(dir, "pare.rb"))
	archive := read(t, find(t, dir, "pare_*_"+runtime.GOOS+"_"+runtime.GOARCH+".tar.gz"))
	if !bytes.Contains(brew, []byte(sum(archive))) || !bytes.Contains(brew, []byte("pare_#{version}_"+runtime.GOOS)) {
		t.Errorf("the formula does not name the archive:\n%s", brew)
	}
}

// TestFormula checks that each system has one block, in the form of brew style, with an
// archive for each processor.
func TestFormula(t *testing.T) {
	r := release{out: t.TempDir(), version: "1.2.3"}
	var systems []system
	for _, target := range strings.Split(everywhere, ",") {
		s, err := parseSystem(target)
		if err != nil {
			t.Fatal(err)
		}
		systems = append(systems, s)
		r.files = append(r.files, file{r.archiveName(s), sum([]byte(target))})
	}
	if err := r.formula(systems); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(r.out, "pare.rb")
	text := string(read(t, path))
	for _, os := range [][2]string{{"macos", "darwin"}, {"linux", "linux"}} {
		want := "\n  on_" + os[0] + " do\n"
		for _, cpu := range [][2]string{{"arm", "arm64"}, {"intel", "amd64"}} {
			want += fmt.Sprintf("    on_%s do\n      url \"%spare_#{version}_%s_%s.tar.gz\"\n      sha256 %q\n    end\n", cpu[0], downloads, os[1], cpu[1], sum([]byte(os[1]+"/"+cpu[1])))
		}
		if strings.Count(text, "  on_"+os[0]+" do") != 1 || !strings.Contains(text, want+"  end\n") {
			t.Errorf("want one block\n%s\nin\n%s", want, text)
		}
	}
	if ruby, err := exec.LookPath("ruby"); err == nil {
		if out, err := exec.Command(ruby, "-wc", path).CombinedOutput(); err != nil || string(out) != "Syntax OK\n" {
			t.Errorf("%v: %s", err, out)
		}
	}
}

// TestCompose checks that the program accepts the flags of compose.yaml.
func TestCompose(t *testing.T) {
	text := string(read(t, "../../compose.yaml"))
	code := string(read(t, "../../cmd/pare/serve.go"))
	for _, flag := range regexp.MustCompile(`"--([a-z-]+)"`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`-?\b[a-z]`).ReplaceAllStringFunc(flag[1], func(s string) string { return strings.ToUpper(strings.TrimPrefix(s, "-")) })
		if !regexp.MustCompile(`\t` + name + `\b`).MatchString(code) {
			t.Errorf("serve has no --%s", flag[1])
		}
	}
	for _, name := range regexp.MustCompile(`(?m)^      (PARE_[A-Z]+):`).FindAllStringSubmatch(text, -1) {
		if !strings.Contains(code, name[1]) {
			t.Errorf("serve does not read %s", name[1])
		}
	}
	for _, v := range regexp.MustCompile(`\$\{\w+:?\?\}`).FindAllString(text, -1) {
		t.Errorf("%s says nothing when it is missing, and podman-compose takes it for a value", v)
	}
	if regexp.MustCompile(`//[^/]*\$\{`).MatchString(text) {
		t.Error("a password in an address has to be one that needs no escapes")
	}
	if strings.Contains(text, `["CMD", `) {
		t.Error("podman-compose takes the words of a check for one")
	}
	if !strings.Contains(text, `user: "65532:65532"`) {
		t.Error("the program runs as another user than in its image")
	}
}
