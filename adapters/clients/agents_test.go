package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// An agent is a coding agent, and how it is pointed at an address.
type agent struct {
	name, pack, bin string
	// set writes what its home folder must have, and returns arguments and environment.
	set func(t *testing.T, home, base string) (args, env []string)
}

var agents = []agent{
	{"claude-code", "@anthropic-ai/claude-code", "claude", func(t *testing.T, home, base string) ([]string, []string) {
		return []string{"-p", "hello", "--model", "claude-sonnet-4-5"},
			[]string{"ANTHROPIC_BASE_URL=" + base, "ANTHROPIC_API_KEY=none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1"}
	}},
	{"codex", "@openai/codex", "codex", func(t *testing.T, home, base string) ([]string, []string) {
		put(t, home, ".codex/config.toml", "model = \"gpt-5.5\"\nmodel_provider = \"pare\"\n[model_providers.pare]\nname = \"pare\"\nbase_url = \""+base+"/v1\"\nwire_api = \"responses\"\nenv_key = \"PARE_KEY\"\n")
		return []string{"exec", "--skip-git-repo-check", "hello"}, []string{"PARE_KEY=none"}
	}},
	{"opencode", "opencode-ai", "opencode", func(t *testing.T, home, base string) ([]string, []string) {
		put(t, home, ".config/opencode/opencode.json", `{"autoupdate":false,"share":"disabled","provider":{"pare":{"npm":"@ai-sdk/anthropic","options":{"baseURL":"`+base+`/v1","apiKey":"none"},"models":{"claude-opus-4-6":{"name":"x"}}}}}`)
		return []string{"run", "-m", "pare/claude-opus-4-6", "hello"}, []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"}
	}},
	{"gemini-cli", "@google/gemini-cli", "gemini", func(t *testing.T, home, base string) ([]string, []string) {
		put(t, home, ".gemini/settings.json", `{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},"general":{"disableAutoUpdate":true}}`)
		return []string{"-p", "hello", "-m", "gemini-2.5-flash"}, []string{"GOOGLE_GEMINI_BASE_URL=" + base, "GEMINI_API_KEY=none", "GEMINI_CLI_TRUST_WORKSPACE=true"}
	}},
}

func put(t *testing.T, home, name, text string) {
	t.Helper()
	path := filepath.Join(home, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A tap stands between a client and the proxy: it remembers what the client sent, and may
// damage it.
type tap struct {
	next   http.Handler
	damage func(d wire.Dialect, body []byte) []byte
	mu     sync.Mutex
	sent   map[string][]byte // by request, as the client sent them
	broken int
}

func (p *tap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if d, _ := wire.ParseURL(r.URL.Path); d != wire.Auto && p.damage != nil {
		if bad := p.damage(d, body); bad != nil {
			p.mu.Lock()
			p.broken++
			p.mu.Unlock()
			body = bad
		}
	}
	p.mu.Lock()
	p.sent[string(body)] = body
	p.mu.Unlock()
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if len(body) == 0 {
		r.Body = http.NoBody
	}
	p.next.ServeHTTP(w, r)
}

// loseResults takes the results of calls out of a body, as a crash between call and result
// does. It returns nil if there are none.
func loseResults(_ wire.Dialect, body []byte) []byte {
	var tree map[string]any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if d.Decode(&tree) != nil {
		return nil
	}
	lost := false
	is := func(item any) bool {
		m, ok := item.(map[string]any)
		if !ok {
			return false
		}
		kind, _ := m["type"].(string)
		_, response := m["functionResponse"]
		return kind == "tool_result" || strings.HasSuffix(kind, "_call_output") || response
	}
	keep := func(list []any) []any {
		var kept []any
		for _, item := range list {
			if is(item) {
				lost = true
				continue
			}
			kept = append(kept, item)
		}
		return kept
	}
	for _, list := range []struct{ name, inner, text string }{{"messages", "content", `{"type":"text","text":"go on"}`}, {"contents", "parts", `{"text":"go on"}`}, {"input", "", ""}} {
		items, ok := tree[list.name].([]any)
		if !ok {
			continue
		}
		if list.inner == "" {
			tree[list.name] = keep(items)
			continue
		}
		for _, item := range items {
			m := item.(map[string]any)
			inner, ok := m[list.inner].([]any)
			if !ok {
				continue
			}
			if m[list.inner] = keep(inner); len(m[list.inner].([]any)) == 0 {
				m[list.inner] = []any{json.RawMessage(list.text)}
			}
		}
	}
	if !lost {
		return nil
	}
	out, err := json.Marshal(tree)
	if err != nil {
		return nil
	}
	return out
}

// TestAgents: coding agents hold a conversation with a call in it. What they send arrives
// byte for byte; when the result of the call gets lost on the way, the history is repaired
// and the conversation goes on.
func TestAgents(t *testing.T) {
	for _, a := range agents {
		t.Run(a.name, func(t *testing.T) {
			dir := installed(t, a.pack)
			for _, poisoned := range []bool{false, true} {
				t.Run(map[bool]string{false: "normal", true: "poisoned"}[poisoned], func(t *testing.T) {
					a.converse(t, dir, poisoned)
				})
			}
		})
	}
}

func (a agent) converse(t *testing.T, dir string, poisoned bool) {
	m := &paretest.Mock{RequireKey: true, Reply: callOnce}
	record := new(recording)
	m.Record = record
	up := httptest.NewServer(m)
	t.Cleanup(up.Close)
	c := proxy.Config{Upstreams: map[string]proxy.Upstream{}}
	for _, name := range []string{"anthropic", "openai", "gemini"} {
		u, err := proxy.ParseUpstream(name + "=" + up.URL)
		if err != nil {
			t.Fatal(err)
		}
		c.Upstreams[name] = u
	}
	var mu sync.Mutex
	changed, refused := 0, 0
	var rules []string
	c.Record = func(r *proxy.Record) {
		mu.Lock()
		defer mu.Unlock()
		if len(r.Changes) > 0 {
			changed++
			rules = append(rules, r.Rules...)
		}
		if r.Status >= 400 {
			refused++
		}
	}
	p := &tap{next: proxy.New(c), sent: make(map[string][]byte)}
	if poisoned {
		p.damage = loseResults
	}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)

	home := t.TempDir()
	args, env := a.set(t, home, s.URL)
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "node_modules", ".bin", a.bin), args...)
	cmd.Dir = filepath.Join(home, "work")
	if err := os.Mkdir(cmd.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(env, "HOME="+home, "PATH="+os.Getenv("PATH"), "TMPDIR="+home, "NO_PROXY=127.0.0.1", "NO_COLOR=1", "CI=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "All is done") {
		t.Fatalf("%s: %v\n%s", a.name, err, out)
	}
	mu.Lock()
	defer mu.Unlock()
	if refused > 0 {
		t.Errorf("%d requests were refused", refused)
	}
	histories := 0
	for _, r := range record.take(t) {
		if d, _ := wire.ParseURL(r.Path); d == wire.Auto {
			continue
		}
		histories++
		if !poisoned && p.sent[string(r.Body)] == nil {
			t.Errorf("%s: what arrived is not what was sent: %.400s", r.Path, r.Body)
		}
	}
	if histories < 2 {
		t.Errorf("only %d requests with a history", histories)
	}
	if poisoned && (p.broken == 0 || changed == 0) || !poisoned && changed > 0 {
		t.Errorf("%d requests were damaged, %d repaired: %q", p.broken, changed, rules)
	}
	t.Logf("%d requests, %d damaged, %d repaired", histories, p.broken, changed)
}

// callOnce lets the model call a tool that there is none of, and then be done.
func callOnce(r *wire.Request) paretest.Reply {
	tools := bytes.Contains(r.Raw(), []byte(`"tools":[{`))
	for _, x := range r.Transcript().Exchanges() {
		if x.Call != transcript.NoBlock {
			tools = false
		}
	}
	if !tools {
		return paretest.Reply{Text: "All is done."}
	}
	return paretest.Reply{Text: "Let me look.", Calls: []paretest.ToolCall{{Tool: "no_such_tool", Arguments: fmt.Sprintf(`{"path":%q}`, "a.go")}}}
}
