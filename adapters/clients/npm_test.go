package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// versions are the packages that are tried, and which of them.
var versions = map[string]string{
	"@anthropic-ai/sdk": "1.10.0", "openai": "6.49.0", "@google/genai": "2.32.0", "@aws-sdk/client-bedrock-runtime": "3.1162.0",
	"ai": "6.0.326", "@ai-sdk/anthropic": "3.0.138", "@ai-sdk/openai": "3.0.139", "@ai-sdk/google": "3.0.141",
	"@langchain/core": "1.2.13", "@langchain/anthropic": "1.5.11", "@langchain/openai": "1.6.0", "@langchain/google-genai": "2.3.2",
	"@openai/agents-core": "0.20.0", "@earendil-works/pi-ai": "0.74.2",
	"cline": "3.0.65", "@anthropic-ai/claude-code": "2.1.197", "@openai/codex": "0.166.0", "opencode-ai": "1.18.33", "@google/gemini-cli": "0.61.0",
}

var installing sync.Mutex

// installed returns the folder that holds packages of npm, in $PARE_CLIENTS or among the
// caches of the user. What is missing is installed if PARE_CLIENTS_TEST asks for it.
func installed(t *testing.T, packages ...string) string {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("there is no node to run the clients of npm with")
	}
	root := os.Getenv("PARE_CLIENTS")
	if root == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Skip(err)
		}
		root = filepath.Join(cache, "pare-clients")
	}
	installing.Lock()
	defer installing.Unlock()
	dir := filepath.Join(root, "npm")
	var missing []string
	for _, p := range packages {
		if versionOf(filepath.Join(dir, "node_modules", filepath.FromSlash(p))) != versions[p] {
			missing = append(missing, p+"@"+versions[p])
		}
	}
	if len(missing) == 0 {
		return dir
	}
	if os.Getenv("PARE_CLIENTS_TEST") == "" {
		t.Skipf("%s is not installed; with PARE_CLIENTS_TEST=1 it is", strings.Join(missing, ", "))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "package.json")); err != nil {
		if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"private":true}`), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("npm", append([]string{"install", "--no-audit", "--no-fund"}, missing...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("npm install: %v\n%s", err, out)
	}
	return dir
}

// versionOf is that of a package that is installed in a folder, or "".
func versionOf(dir string) string {
	raw, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return ""
	}
	var p struct{ Version string }
	if json.Unmarshal(raw, &p) != nil {
		return ""
	}
	return p.Version
}

// node is a client that is one of the SDKs of npm.
func node(dir, sdk string) client {
	return func(t *testing.T, base string, history []turn, stream bool) (string, error) {
		script, err := os.ReadFile("testdata/sdk.mjs")
		if err != nil {
			t.Fatal(err)
		}
		input, err := json.Marshal(history)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "node", "--input-type=module", "-e", string(script), "--", sdk, base, strconv.FormatBool(stream))
		cmd.Dir, cmd.Stdin = dir, bytes.NewReader(input)
		cmd.Env = append(os.Environ(), "AI_SDK_LOG_WARNINGS=false", "NO_PROXY=127.0.0.1")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("%w: %s", err, &stderr)
		}
		var said struct{ Text, Error string }
		if err := json.Unmarshal(out, &said); err != nil {
			return "", fmt.Errorf("%w in %s", err, out)
		}
		if said.Error != "" {
			return "", errors.New(said.Error)
		}
		return said.Text, nil
	}
}

func TestNPM(t *testing.T) {
	for _, c := range []struct {
		sdk      string
		poison   []turn
		refused  string
		packages []string
	}{
		{"anthropic", poisoned, "ids were found without `tool_result` blocks immediately after", []string{"@anthropic-ai/sdk"}},
		{"chat", poisoned, "must be followed by tool messages responding to each", []string{"openai"}},
		{"responses", poisoned, "No tool output found for function call", []string{"openai"}},
		{"gemini", poisoned, "number of function response parts is equal to the number of function call parts", []string{"@google/genai"}},
		{"bedrock", poisoned, "Expected toolResult blocks at messages.", []string{"@aws-sdk/client-bedrock-runtime"}},
		// The AI SDK itself refuses a call without a result, but not the reverse.
		{"vercel-anthropic", stray, "unexpected `tool_use_id` found in `tool_result` blocks", []string{"ai", "@ai-sdk/anthropic"}},
		{"vercel-openai", stray, "No tool call found for function call output", []string{"ai", "@ai-sdk/openai"}},
		{"vercel-google", stray, "function response turn comes immediately after a function call turn", []string{"ai", "@ai-sdk/google"}},
		{"langchain-anthropic", poisoned, "ids were found without `tool_result` blocks immediately after", []string{"@langchain/core", "@langchain/anthropic"}},
		{"langchain-chat", poisoned, "must be followed by tool messages responding to each", []string{"@langchain/core", "@langchain/openai"}},
		{"langchain-responses", poisoned, "No tool output found for function call", []string{"@langchain/core", "@langchain/openai"}},
		{"langchain-google", poisoned, "number of function response parts is equal to the number of function call parts", []string{"@langchain/core", "@langchain/google-genai"}},
	} {
		t.Run(c.sdk, func(t *testing.T) {
			try(t, node(installed(t, c.packages...), c.sdk), c.poison, c.refused)
		})
	}
}
