//go:build unix

package house

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
)

// The list of files in the architecture page is between these lines.
const (
	architecturePage = "../../docs/internals/architecture.md"
	listBegin        = "<!-- files of a clean request: begin -->\n"
	listEnd          = "<!-- files of a clean request: end -->"
)

// TestArchitectureListsFilesOfCleanRequest runs pare serve with coverage, sends one clean
// request through it, and compares the files of proxy and server that the request enters with
// the list of the architecture page. -update writes the list.
func TestArchitectureListsFilesOfCleanRequest(t *testing.T) {
	trial.Long(t, "builds the program with coverage")
	program := filepath.Join(t.TempDir(), "pare")
	// Without the main package, the program writes no coverage.
	packages := module + "/cmd/pare," + module + "/proxy/...," + module + "/cmd/internal/serve/..."
	build := exec.Command("go", "build", "-cover", "-coverpkg="+packages, "-o", program, "./cmd/pare")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	idle := runServer(t, program, func(string) {})
	busy := runServer(t, program, func(address string) { postCleanRequest(t, address) })
	entered := make(map[string]bool)
	for block := range busy {
		file, _, _ := strings.Cut(block, ":")
		if !idle[block] && !strings.HasPrefix(file, "cmd/pare/") {
			entered[file] = true
		}
	}
	if len(entered) < 5 {
		t.Fatalf("the request entered only %d files", len(entered))
	}
	compareList(t, formatFiles(slices.Sorted(maps.Keys(entered))))
}

// runServer starts pare serve before a stand-in for a provider, calls use with its address, and
// returns the statements that ran.
func runServer(t *testing.T, program string, use func(address string)) map[string]bool {
	t.Helper()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"Hello."}],"usage":{"input_tokens":10,"output_tokens":2}}`)
	}))
	defer upstream.Close()
	folder := t.TempDir()
	serve := exec.Command(program, "serve", "--listen", "127.0.0.1:0", "--no-store", "--upstream", "anthropic="+upstream.URL)
	serve.Env = append(os.Environ(), "GOCOVERDIR="+folder, "HOME="+t.TempDir())
	serve.Dir = folder
	stderr, err := serve.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stderr)
	line, err := lines.ReadString('\n')
	_, address, found := strings.Cut(strings.TrimSpace(line), "listening on ")
	if err != nil || !found {
		t.Fatalf("pare serve printed %q: %v", line, err)
	}
	go io.Copy(io.Discard, lines)
	use(address)
	if err := serve.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	serve.Wait() // the status of an interrupted server does not matter
	return coveredBlocks(t, folder)
}

func postCleanRequest(t *testing.T, address string) {
	t.Helper()
	body := `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"Hello"}]}`
	request, err := http.NewRequest(http.MethodPost, address+"/v1/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Api-Key", "none")
	response, text := trial.RoundTrip(t, request)
	if response.StatusCode != http.StatusOK {
		t.Fatalf("status %d: %s", response.StatusCode, text)
	}
}

// coveredBlocks returns the blocks of statements that ran, as file:position without the module.
func coveredBlocks(t *testing.T, folder string) map[string]bool {
	t.Helper()
	profile := filepath.Join(t.TempDir(), "profile")
	if out, err := exec.Command("go", "tool", "covdata", "textfmt", "-i="+folder, "-o="+profile).CombinedOutput(); err != nil {
		t.Fatalf("go tool covdata: %v\n%s", err, out)
	}
	raw, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	covered := make(map[string]bool)
	for line := range strings.Lines(string(raw)) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[2] != "0" {
			covered[strings.TrimPrefix(fields[0], module+"/")] = true
		}
	}
	return covered
}

// formatFiles lists files by package.
func formatFiles(files []string) string {
	byPackage := make(map[string][]string)
	for _, file := range files {
		folder := path.Dir(file)
		byPackage[folder] = append(byPackage[folder], "`"+path.Base(file)+"`")
	}
	var out strings.Builder
	for _, folder := range slices.Sorted(maps.Keys(byPackage)) {
		fmt.Fprintf(&out, "- `%s`: %s\n", folder, strings.Join(byPackage[folder], ", "))
	}
	return out.String()
}

// compareList compares the list with that of the architecture page, regardless of line breaks.
func compareList(t *testing.T, list string) {
	t.Helper()
	raw, err := os.ReadFile(architecturePage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(raw), listBegin)
	old, after, closed := strings.Cut(rest, listEnd)
	if !found || !closed {
		t.Fatalf("%s has no list of the files of a clean request", architecturePage)
	}
	if slices.Equal(strings.Fields(old), strings.Fields(list)) {
		return
	}
	if *update {
		page := before + listBegin + "\n" + list + "\n" + listEnd + after
		if err := os.WriteFile(architecturePage, []byte(page), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("a clean request enters\n%sthe architecture page lists\n%s\nrun the test with -update and go test ./tools/doctest -run TestWrapped -update", list, old)
}
