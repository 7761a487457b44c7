//go:build unix

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/wire"
)

func agentBodies(t *testing.T, d wire.Dialect) map[string][]byte {
	long := "user \"Read them all.\""
	for i := range 24 {
		long += fmt.Sprintf(" | call r%d Read f%d.txt | result r%d %s", i, i, i, strings.Repeat(fmt.Sprintf("line %d of a file ", i), 20))
	}
	bodies := map[string][]byte{}
	for name, notation := range map[string]string{
		"clean":  `user "hello" | call t1 Read a.go | result t1 package a | say "done" | user "thanks"`,
		"broken": `user "hello" | call t1 Read a.go | user "and now?"`,
		"long":   long,
	} {
		s, err := histories.Parse(notation)
		if err != nil {
			t.Fatal(err)
		}
		bodies[name+".json"] = s.Render(d, histories.RenderOptions{})
	}
	return bodies
}

type recorder struct {
	next http.Handler
	mu   sync.Mutex
	got  [][]byte
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return
	}
	r.mu.Lock()
	r.got = append(r.got, body)
	r.mu.Unlock()
	q.Body = io.NopCloser(bytes.NewReader(body))
	r.next.ServeHTTP(w, q)
}

var withoutBaseURLs = []string{"ANTHROPIC_BASE_URL=", "OPENAI_BASE_URL=", "OPENAI_API_BASE=", "GOOGLE_GEMINI_BASE_URL=", "GEMINI_BASE_URL=", "XDG_CONFIG_HOME=", "XDG_DATA_HOME="}

func filesIn(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&all, "%s %q\n", path, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// TestRunServesAgents starts agents that find their base URL in different ways. A clean request
// must arrive unchanged, broken and overlong ones must be answered, and the exit status must be the
// agent's.
func TestRunServesAgents(t *testing.T) {
	all := agentStandIns
	if testing.Short() {
		all = all[:trial.Size(len(all))]
	}
	for _, a := range all {
		t.Run(a.name, a.start)
	}
}

func (a agentStandIn) start(t *testing.T) {
	up := &recorder{next: &paretest.Mock{MaxTokens: 2500}}
	server := httptest.NewServer(up)
	defer server.Close()
	home, work, temp := t.TempDir(), t.TempDir(), t.TempDir()
	bodies := agentBodies(t, a.dialect)
	for name, body := range bodies {
		if err := os.WriteFile(filepath.Join(work, name), body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, ".profile"), []byte("# mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(bin, a.name))
	}
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "HOME="+home, "TMPDIR="+temp, "CODEX_HOME=")
	env = append(env, withoutBaseURLs...)
	run := []string{"run", "--upstream", "anthropic=" + server.URL, "--upstream", "openai=" + server.URL, "--upstream", "gemini=" + server.URL}
	if a.set != "" {
		run, env = []string{"run"}, append(env, a.set+"="+server.URL+"/v1")
	}
	before := filesIn(t, home) + filesIn(t, work)

	// Pare is killed while the agent runs.
	cmd := exec.Command(programPath(t), append(run, "--", a.name, "wait")...)
	cmd.Env, cmd.Dir = env, work
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "waiting http://127.0.0.1:") {
		t.Errorf("the agent says %q, %v", line, err)
	}
	cmd.Process.Kill()
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	cmd.Wait()

	// The next run returns the status of the agent and leaves the environment as it was.
	cmd = exec.Command("sh", append([]string{"-c", `before=$(env); "$@"; status=$?; test "$before" = "$(env)" || exit 99; exit $status`, "sh", programPath(t)},
		append(run, "--", a.name, "clean.json", "broken.json", "long.json", "exit=7")...)...)
	cmd.Env, cmd.Dir = env, work
	text, _ := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != 7 {
		t.Errorf("status %d, want that of the agent, 7\n%s", got, text)
	}
	for name := range bodies {
		if !strings.Contains(string(text), name+" 200\n") {
			t.Errorf("%s was not answered:\n%s", name, text)
		}
	}
	if said := "pare: 3 requests, 1 repaired, 1 made to fit, 1 healed after a refusal"; !strings.Contains(string(text), said) {
		t.Errorf("the last line is not %q:\n%s", said, text)
	}
	if len(up.got) == 0 || !bytes.Equal(up.got[0], bodies["clean.json"]) {
		t.Error("the clean request did not arrive byte for byte")
	}
	if after := filesIn(t, home) + filesIn(t, work); after != before {
		t.Errorf("files were\n%s\nand are\n%s", before, after)
	}
	// Without Pare, the provider rejects the other two requests.
	for _, name := range []string{"broken.json", "long.json"} {
		answer, err := http.Post(server.URL+a.direct(), "application/json", bytes.NewReader(bodies[name]))
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusBadRequest {
			t.Errorf("%s alone is answered with %d", name, answer.StatusCode)
		}
	}
}

func (a agentStandIn) direct() string {
	switch a.dialect {
	case wire.Anthropic:
		return "/v1/messages"
	case wire.OpenAIResponses:
		return "/v1/responses"
	case wire.Gemini:
		return "/v1beta/models/" + histories.DefaultModel(wire.Gemini) + ":generateContent"
	}
	return "/v1/chat/completions"
}
