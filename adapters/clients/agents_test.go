package clients

import (
	"bytes"
	"context"
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
	"sync/atomic"
	"testing"

	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// An agent is a coding agent, and how it is pointed at an address.
type agent struct {
	name, pack, bin string
	// set writes what its home folder must have, and returns arguments and environment.
	set func(t *testing.T, home, base string) (args, env []string)
	// look is the call with which its model reads a file.
	look func(path string) paretest.ToolCall
	// stop are the arguments that end what it leaves running; nil: nothing does.
	stop []string
}

var agents = []agent{
	{"claude-code", "@anthropic-ai/claude-code", "claude", func(t *testing.T, home, base string) ([]string, []string) {
		return []string{"-p", "hello", "--model", "claude-sonnet-4-5"},
			[]string{"ANTHROPIC_BASE_URL=" + base, "ANTHROPIC_API_KEY=none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1"}
	}, func(path string) paretest.ToolCall { return call("Read", "file_path", path) }, nil},
	{"codex", "@openai/codex", "codex", func(t *testing.T, home, base string) ([]string, []string) {
		put(t, home, ".codex/config.toml", "model = \"gpt-5.5\"\nmodel_provider = \"pare\"\n[model_providers.pare]\nname = \"pare\"\nbase_url = \""+base+"/v1\"\nwire_api = \"responses\"\nenv_key = \"PARE_KEY\"\n")
		return []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "hello"}, []string{"PARE_KEY=none"}
	}, func(path string) paretest.ToolCall { return call("exec_command", "cmd", "cat "+path) }, nil},
	{"opencode", "opencode-ai", "opencode", func(t *testing.T, home, base string) ([]string, []string) {
		put(t, home, ".config/opencode/opencode.json", `{"autoupdate":false,"share":"disabled","provider":{"pare":{"npm":"@ai-sdk/anthropic","options":{"baseURL":"`+base+`/v1","apiKey":"none"},"models":{"claude-opus-4-6":{"name":"x"}}}}}`)
		return []string{"run", "-m", "pare/claude-opus-4-6", "hello"}, []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"}
	}, func(path string) paretest.ToolCall { return call("read", "filePath", path) }, nil},
	{"gemini-cli", "@google/gemini-cli", "gemini", func(t *testing.T, home, base string) ([]string, []string) {
		put(t, home, ".gemini/settings.json", `{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},"general":{"disableAutoUpdate":true}}`)
		return []string{"-p", "hello", "-m", "gemini-2.5-flash"}, []string{"GOOGLE_GEMINI_BASE_URL=" + base, "GEMINI_API_KEY=none", "GEMINI_CLI_TRUST_WORKSPACE=true"}
	}, func(path string) paretest.ToolCall { return call("read_file", "file_path", path) }, nil},
	{"cline", "cline", "cline", func(t *testing.T, home, base string) ([]string, []string) {
		put(t, home, ".cline/data/settings/providers.json", `{"version":1,"lastUsedProvider":"openai-compatible","modes":{},"providers":{"openai-compatible":{"settings":{"provider":"openai-compatible","apiKey":"none","model":"gpt-5.5","baseUrl":"`+base+`/v1"},"updatedAt":"2026-11-16T00:00:00.000Z","tokenSource":"manual"}}}`)
		return []string{"-P", "openai-compatible", "hello there"}, nil // one word is taken for a command
	}, func(path string) paretest.ToolCall {
		return paretest.ToolCall{Tool: "read_files", Arguments: fmt.Sprintf(`{"files":[{"path":%q}]}`, path)}
	}, []string{"hub", "stop"}},
}

func call(tool, argument, value string) paretest.ToolCall {
	return paretest.ToolCall{Tool: tool, Arguments: fmt.Sprintf(`{%q:%q}`, argument, value)}
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
		return m["role"] == "tool" || kind == "tool_result" || strings.HasSuffix(kind, "_call_output") || response
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
		items = keep(items)
		tree[list.name] = items
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

// A session is what an agent goes through.
type session uint8

const (
	plain session = iota // one call, as it comes
	lossy                // the result of the call gets lost on the way
	large                // files are read until the window is passed, more than once
)

// TestAgents: coding agents hold a conversation with calls in it. What they send arrives
// byte for byte; when the result of a call gets lost on the way, the history is repaired,
// and when it outgrows the window, it is cut: the conversation goes on.
func TestAgents(t *testing.T) {
	for _, a := range agents {
		t.Run(a.name, func(t *testing.T) {
			dir := installed(t, a.pack)
			for s, name := range []string{plain: "normal", lossy: "poisoned", large: "overflow"} {
				t.Run(name, func(t *testing.T) { a.converse(t, dir, session(s)) })
			}
		})
	}
}

func (a agent) converse(t *testing.T, dir string, kind session) {
	home := t.TempDir()
	work := filepath.Join(home, "work")
	record := new(recording)
	up := &provider{reply: callOnce, record: record}
	if kind == large {
		up.reply, up.room = a.readsAll(t, work), 12_000
	}
	upstream := httptest.NewServer(up)
	t.Cleanup(upstream.Close)
	c := proxy.Config{Upstreams: map[string]proxy.Upstream{}}
	for _, name := range []string{"anthropic", "openai", "gemini"} {
		u, err := proxy.ParseUpstream(name + "=" + upstream.URL)
		if err != nil {
			t.Fatal(err)
		}
		c.Upstreams[name] = u
	}
	var mu sync.Mutex
	changed, healed, refused := 0, 0, 0
	var rules []string
	c.Record = func(r *proxy.Record) {
		mu.Lock()
		defer mu.Unlock()
		if len(r.Changes) > 0 {
			changed++
			rules = append(rules, r.Rules...)
		}
		if r.Healed != "" {
			healed++
		}
		if r.Status >= 400 {
			refused++
		}
	}
	p := &tap{next: proxy.New(c), sent: make(map[string][]byte)}
	if kind == lossy {
		p.damage = loseResults
	}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)

	args, env := a.set(t, home, s.URL)
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(ctx context.Context, args []string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, filepath.Join(dir, "node_modules", ".bin", a.bin), args...)
		cmd.Dir = work
		cmd.Env = append(env, "HOME="+home, "PATH="+os.Getenv("PATH"), "TMPDIR="+home, "NO_PROXY=127.0.0.1", "NO_COLOR=1", "CI=1")
		return cmd.CombinedOutput()
	}
	if a.stop != nil {
		t.Cleanup(func() {
			if out, err := run(context.Background(), a.stop); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	out, err := run(t.Context(), args)
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
		if kind == plain && p.sent[string(r.Body)] == nil {
			t.Errorf("%s: what arrived is not what was sent: %.400s", r.Path, r.Body)
		}
	}
	if histories < 2 {
		t.Errorf("only %d requests with a history", histories)
	}
	switch {
	case kind == plain && changed > 0, kind == lossy && (p.broken == 0 || changed == 0), kind == large && (changed < 2 || healed == 0):
		t.Errorf("%d requests were damaged, %d changed, %d healed: %q", p.broken, changed, healed, rules)
	}
	t.Logf("%d requests, %d damaged, %d changed, %d healed, %d refused", histories, p.broken, changed, healed, refused)
}

// A provider is a stand-in whose window is a little larger than the first request that has
// tools in it: agents begin with much that they alone know the size of.
type provider struct {
	reply  func(*wire.Request) paretest.Reply
	room   int // beside the first request; zero: there is no limit
	record *recording
	mu     sync.Mutex
	mock   *paretest.Mock
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	p.mu.Lock()
	if p.mock == nil {
		p.mock = &paretest.Mock{RequireKey: true, Reply: p.reply, Record: p.record}
	}
	if d, model := wire.ParseURL(r.URL.Path); p.room > 0 && p.mock.MaxTokens == 0 && d != wire.Auto && hasTools(body) {
		if one, err := wire.Parse(body, wire.Options{Dialect: d, Model: model}); err == nil {
			p.mock = &paretest.Mock{RequireKey: true, Reply: p.reply, Record: p.record, MaxTokens: one.Tokens(tokens.For(one.Model())) + p.room}
		}
	}
	m := p.mock
	p.mu.Unlock()
	m.ServeHTTP(w, r)
}

func hasTools(body []byte) bool { return bytes.Contains(body, []byte(`"tools":[{`)) }

// callOnce lets the model call a tool that there is none of, and then be done.
func callOnce(r *wire.Request) paretest.Reply {
	tools := hasTools(r.Raw())
	for _, x := range r.Transcript().Exchanges() {
		if x.Call != transcript.NoBlock {
			tools = false
		}
	}
	if !tools {
		return paretest.Reply{Text: "All is done."}
	}
	return paretest.Reply{Text: "Let me look.", Calls: []paretest.ToolCall{call("no_such_tool", "path", "a.go")}}
}

// readsAll lets the model read files of some 3,000 tokens each, one after the other. How far
// it has come it does not take from the history, which may have been cut.
func (a agent) readsAll(t *testing.T, work string) func(*wire.Request) paretest.Reply {
	const files = 10
	var read atomic.Int32
	for i := range files {
		var text strings.Builder
		for k := range 240 {
			fmt.Fprintf(&text, "In part %d line %d tells how the parser goes on.\n", i, k)
		}
		put(t, work, fmt.Sprintf("part%d.txt", i), text.String())
	}
	return func(r *wire.Request) paretest.Reply {
		if !hasTools(r.Raw()) {
			return paretest.Reply{Text: "Parts of a parser"}
		}
		i := int(read.Add(1)) - 1
		if i >= files {
			return paretest.Reply{Text: "All is done."}
		}
		return paretest.Reply{Text: "Let me look.", Calls: []paretest.ToolCall{a.look(filepath.Join(work, fmt.Sprintf("part%d.txt", i)))}}
	}
}
