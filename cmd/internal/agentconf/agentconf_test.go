package agentconf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A start is an agent in its surroundings and the expected result.
type start struct {
	name  string
	agent string
	args  []string
	env   []string
	files map[string]string // below "home" and "work"
	trust bool              // the user has accepted all files of the project
	given []string
	want  []string // lines of summary
	err   string
}

const gate = "https://gate.example"

var starts = []start{
	{name: "claude, no settings", agent: "claude", want: []string{"anthropic=https://api.anthropic.com (vendor)", "ANTHROPIC_BASE_URL=P/u/anthropic", "ENABLE_TOOL_SEARCH=true"}},
	{name: "claude, variable with a path", agent: "claude", env: []string{"ANTHROPIC_BASE_URL=" + gate + "/llm/v4/"}, want: []string{"anthropic=https://gate.example/llm/v4", "ANTHROPIC_BASE_URL=P/u/anthropic"}},
	{name: "claude, user settings beat the variable", agent: "claude", args: []string{"-p", "hi"}, env: []string{"ANTHROPIC_BASE_URL=https://other.example"},
		files: map[string]string{"home/.claude/settings.json": `{"env":{"ANTHROPIC_BASE_URL":"https://gate.example"}}`},
		want:  []string{"anthropic=https://gate.example", "ANTHROPIC_BASE_URL=P/u/anthropic", `args --settings {"env":{"ANTHROPIC_BASE_URL":"P/u/anthropic"}} -p hi`}},
	{name: "claude, the argument keeps its other settings", agent: "claude", args: []string{"-p", `--settings={"model":"x","env":{"A":"b","ANTHROPIC_BASE_URL":"https://gate.example"}}`, "hi"},
		want: []string{"anthropic=https://gate.example", "ANTHROPIC_BASE_URL=P/u/anthropic", `args --settings {"env":{"A":"b","ANTHROPIC_BASE_URL":"P/u/anthropic"},"model":"x"} -p hi`}},
	{name: "claude, project not trusted", agent: "claude", files: map[string]string{"work/.claude/settings.json": `{"env":{"ANTHROPIC_BASE_URL":"https://gate.example"}}`},
		err: "work/.claude/settings.json sends the requests of Claude Code to https://gate.example, and the file is not trusted"},
	{name: "claude, project trusted", agent: "claude", trust: true, files: map[string]string{"work/.claude/settings.local.json": `{"env":{"ANTHROPIC_BASE_URL":"https://gate.example"}}`},
		want: []string{"anthropic=https://gate.example", "ANTHROPIC_BASE_URL=P/u/anthropic", `args --settings {"env":{"ANTHROPIC_BASE_URL":"P/u/anthropic"}}`}},
	{name: "claude, project without a host needs no trust", agent: "claude", files: map[string]string{"work/.claude/settings.json": `{"model":"x"}`},
		want: []string{"anthropic=https://api.anthropic.com (vendor)", "ANTHROPIC_BASE_URL=P/u/anthropic", "ENABLE_TOOL_SEARCH=true"}},
	{name: "claude, an upstream of the command line replaces all", agent: "claude", given: []string{"anthropic"}, files: map[string]string{"work/.claude/settings.json": `{"env":{"ANTHROPIC_BASE_URL":"https://gate.example"}}`},
		want: []string{"ANTHROPIC_BASE_URL=P/u/anthropic", `args --settings {"env":{"ANTHROPIC_BASE_URL":"P/u/anthropic"}}`}},
	{name: "claude, settings that cannot be read", agent: "claude", files: map[string]string{"home/.claude/settings.json": `{"env":`}, err: "home/.claude/settings.json"},
	{name: "codex, key", agent: "codex", args: []string{"exec", "hi"}, want: []string{"openai=https://api.openai.com (vendor)", `args -c openai_base_url="P/u/openai/v1" exec hi`}},
	{name: "codex, login", agent: "codex", files: map[string]string{"home/.codex/auth.json": `{"OPENAI_API_KEY":null,"tokens":{"id_token":"x"}}`},
		want: []string{"chatgpt=https://chatgpt.com/backend-api/codex (vendor)", `args -c openai_base_url="P/u/chatgpt"`}},
	{name: "codex, a login that is in no file", agent: "codex", files: map[string]string{"home/.codex/config.toml": `cli_auth_credentials_store = "keyring"`},
		want: []string{"note openai of Codex is left alone: its login is not in a file, so that its host is unknown; use --upstream openai=URL"}},
	{name: "codex, providers", agent: "codex", files: map[string]string{"home/.codex/config.toml": "model_provider = \"corp\"\nopenai_base_url = \"https://gate.example/v1\"\n[model_providers.corp]\nname = \"Corp\"\nbase_url = \"https://corp.example/x/v1\"\nenv_key = \"CORP\"\n"},
		want: []string{"openai=https://gate.example/v1", "corp=https://corp.example/x/v1", `args -c model_providers.corp.base_url="P/u/corp" -c openai_base_url="P/u/openai"`}},
	{name: "codex, argument", agent: "codex", args: []string{"exec", "-c", `openai_base_url="https://gate.example/v1"`, "-c", "model=x", "hi"},
		want: []string{"openai=https://gate.example/v1", `args -c openai_base_url="P/u/openai" exec -c model=x hi`}},
	{name: "codex ignores hosts of a project", agent: "codex", files: map[string]string{"work/.codex/config.toml": `openai_base_url = "https://gate.example/v1"`},
		want: []string{"openai=https://api.openai.com (vendor)", `args -c openai_base_url="P/u/openai/v1"`}},
	{name: "codex does not read the variable", agent: "codex", env: []string{"OPENAI_BASE_URL=" + gate},
		want: []string{"note openai of Codex is left alone: Codex does not read OPENAI_BASE_URL; to send the requests there: --upstream openai=https://gate.example"}},
	{name: "gemini, .env of the user", agent: "gemini", files: map[string]string{"home/.gemini/.env": "# gate\nexport GOOGLE_GEMINI_BASE_URL=\"https://gate.example\" # ours\n"},
		want: []string{"gemini=https://gate.example", "codeassist=https://cloudcode-pa.googleapis.com (vendor)", "GOOGLE_GEMINI_BASE_URL=P/u/gemini", "CODE_ASSIST_ENDPOINT=P/u/codeassist"}},
	{name: "gemini, .env of the project", agent: "gemini", files: map[string]string{"work/.env": "GOOGLE_GEMINI_BASE_URL=https://gate.example"}, err: "work/.env sends the requests of Gemini CLI to https://gate.example"},
	{name: "gemini, the variable beats .env", agent: "gemini", env: []string{"GOOGLE_GEMINI_BASE_URL=https://other.example"}, files: map[string]string{"work/.env": "GOOGLE_GEMINI_BASE_URL=https://gate.example"},
		want: []string{"gemini=https://other.example", "codeassist=https://cloudcode-pa.googleapis.com (vendor)", "GOOGLE_GEMINI_BASE_URL=P/u/gemini", "CODE_ASSIST_ENDPOINT=P/u/codeassist"}},
	{name: "qwen, settings", agent: "qwen", files: map[string]string{"home/.qwen/settings.json": "{// ours\n\"security\":{\"auth\":{\"baseUrl\":\"https://gate.example/v1\",}}}"},
		want: []string{"openai=https://gate.example/v1", "anthropic=https://gate.example/v1", "gemini=https://gate.example/v1", "ANTHROPIC_BASE_URL=P/u/anthropic", "OPENAI_BASE_URL=P/u/openai", "GOOGLE_GEMINI_BASE_URL=P/u/gemini"}},
	{name: "qwen, env in settings of the project", agent: "qwen", files: map[string]string{"work/.qwen/settings.json": `{"env":{"OPENAI_BASE_URL":"https://gate.example/v1"}}`}, err: "work/.qwen/settings.json sends"},
	{name: "goose, config", agent: "goose", files: map[string]string{"home/.config/goose/config.yaml": "GOOSE_PROVIDER: openai\nOPENAI_HOST: https://gate.example\nextensions:\n  ANTHROPIC_HOST: https://nested.example\n"},
		want: []string{"anthropic=https://api.anthropic.com (vendor)", "openai=https://gate.example", "gemini=https://generativelanguage.googleapis.com (vendor)", "ANTHROPIC_HOST=P/u/anthropic", "OPENAI_HOST=P/u/openai", "GOOGLE_HOST=P/u/gemini"}},
	{name: "opencode, providers of the user and a vendor", agent: "opencode", env: []string{"GATE=gate.example", `OPENCODE_CONFIG_CONTENT={"share":"disabled"}`},
		files: map[string]string{"home/.config/opencode/opencode.jsonc": `{"provider":{"anthropic":{"options":{"baseURL":"https://{env:GATE}/a/v1"}},/* */"corp":{"npm":"@ai-sdk/openai-compatible","options":{"baseURL":"https://corp.example/v1"}}}}`},
		want: []string{"anthropic=https://gate.example/a/v1", "corp=https://corp.example/v1", "gemini=https://generativelanguage.googleapis.com (vendor)", "openai=https://api.openai.com (vendor)",
			`OPENCODE_CONFIG_CONTENT={"provider":{"anthropic":{"options":{"baseURL":"P/u/anthropic"}},"corp":{"options":{"baseURL":"P/u/corp"}},"google":{"options":{"baseURL":"P/u/gemini/v1beta"}},"openai":{"options":{"baseURL":"P/u/openai/v1"}}},"share":"disabled"}`}},
	{name: "opencode, project", agent: "opencode", files: map[string]string{"work/opencode.json": `{"provider":{"openai":{"options":{"baseURL":"https://gate.example/v1"}}}}`}, err: "work/opencode.json sends the requests of opencode to https://gate.example/v1"},
	{name: "opencode, another adapter, a host of a model, a login with settings of a server", agent: "opencode",
		files: map[string]string{"home/.local/share/opencode/auth.json": `{"https://x.example":{"type":"wellknown"}}`, "home/.config/opencode/opencode.json": `{"provider":{"anthropic":{"npm":"own"},"openai":{"models":{"m":{"provider":{"api":"https://m.example"}}}}}}`},
		want: []string{"note anthropic of opencode is left alone: the agent loads settings from a server, which may name its host; use --upstream anthropic=URL",
			"note google of opencode is left alone: the agent loads settings from a server, which may name its host; use --upstream gemini=URL", "note openai of opencode is left alone: a model has a host of its own"}},
	{name: "pi, models", agent: "pi", args: []string{"-p"}, files: map[string]string{"home/.pi/agent/models.json": `{"providers":{"anthropic":{"baseUrl":"https://gate.example"},"corp":{"baseUrl":"https://corp.example/v1","models":[{"id":"m"}]},"openai":{"models":[{"id":"m","baseUrl":"https://m.example"}]}}}`},
		want: []string{"anthropic=https://gate.example", "corp=https://corp.example/v1", "gemini=https://generativelanguage.googleapis.com (vendor)", "note openai of pi is left alone: a model has a host of its own",
			"args --extension F/pare.mjs -p", `file export default function (pi) {   pi.registerProvider("anthropic", { baseUrl: "P/u/anthropic" });   pi.registerProvider("corp", { baseUrl: "P/u/corp" });   pi.registerProvider("google", { baseUrl: "P/u/gemini/v1beta" }); }`}},
	{name: "pi, an extension that registers providers", agent: "pi", files: map[string]string{"home/.pi/agent/extensions/gate.ts": `pi.registerProvider("anthropic", { baseUrl: GATE })`},
		want: []string{"note anthropic of pi is left alone: home/.pi/agent/extensions/gate.ts registers providers, and may name its host", "note google of pi is left alone: home/.pi/agent/extensions/gate.ts registers providers, and may name its host", "note openai of pi is left alone: home/.pi/agent/extensions/gate.ts registers providers, and may name its host"}},
	{name: "pi, a command that uses no model", agent: "pi", args: []string{"list"}, want: []string{"anthropic=https://api.anthropic.com (vendor)", "gemini=https://generativelanguage.googleapis.com (vendor)", "openai=https://api.openai.com (vendor)"}},
}

func TestRoutesFollowConfiguration(t *testing.T) {
	for _, s := range starts {
		t.Run(s.name, func(t *testing.T) {
			dir := t.TempDir()
			got, err := s.read(t, dir)
			if s.err != "" {
				if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), dir+"/", ""), s.err) {
					t.Fatalf("the error is %v, want one with %q", err, s.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if lines := summary(got, dir); !slices.Equal(lines, s.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(s.want, "\n"))
			}
		})
	}
}

// TestVariablesOfOneVendorAgree: for a command that is no known agent, a variable is set only if no
// other place names a host that some program would use instead.
func TestVariablesOfOneVendorAgree(t *testing.T) {
	for _, c := range []struct {
		name  string
		env   []string
		files map[string]string
		trust bool
		want  string // the variables of OpenAI
	}{
		{"nothing is set", nil, nil, false, "OPENAI_BASE_URL=P/u/openai/v1 OPENAI_API_BASE=P/u/openai/v1 OPENAI_HOST=P/u/openai OPENAI_API_ENDPOINT=P/u/openai/v1"},
		{"one is set", []string{"OPENAI_API_BASE=https://gate.example/v1"}, nil, false, "OPENAI_API_BASE=P/u/openai"},
		{"two are set", []string{"OPENAI_API_BASE=https://gate.example/v1", "OPENAI_HOST=https://host.example"}, nil, false, "OPENAI_API_BASE=P/u/openai OPENAI_HOST=P/u/openai-host"},
		{"a .env file that is not trusted", nil, map[string]string{"work/.env": "OPENAI_BASE_URL=https://gate.example/v1"}, false, ""},
		{"a .env file that is trusted", nil, map[string]string{"work/.env": "OPENAI_BASE_URL=https://gate.example/v1"}, true, "OPENAI_BASE_URL=P/u/openai"},
		{"a file of goose", nil, map[string]string{"home/.config/goose/config.yaml": "OPENAI_HOST: https://gate.example"}, false, "OPENAI_BASE_URL=P/u/openai/v1 OPENAI_API_BASE=P/u/openai/v1 OPENAI_API_ENDPOINT=P/u/openai/v1"},
	} {
		dir := t.TempDir()
		l, err := start{agent: "sh", env: c.env, files: c.files, trust: c.trust}.read(t, dir)
		if err != nil {
			t.Fatal(c.name, err)
		}
		var got []string
		for _, v := range l.Override("P", "F").Env {
			if strings.HasPrefix(v.Name, "OPENAI_") {
				got = append(got, v.Name+"="+v.Value)
			}
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestDeadHostStopsTheStart: no variable that names a dead host is replaced by another host.
func TestDeadHostStopsTheStart(t *testing.T) {
	for _, c := range []start{
		{agent: "sh", env: []string{"OPENAI_BASE_URL=http://dead"}},
		{agent: "codex", env: []string{"OPENAI_BASE_URL=http://dead"}},
		{agent: "opencode", env: []string{"OPENAI_BASE_URL=http://dead"}},
		{agent: "claude", files: map[string]string{"home/.claude/settings.json": `{"env":{"ANTHROPIC_BASE_URL":"http://dead"}}`}},
	} {
		_, err := c.read(t, t.TempDir())
		var dead *DeadError
		if !errors.As(err, &dead) || dead.URL != "http://dead" {
			t.Errorf("%s %v: %v", c.agent, c.env, err)
		}
	}
}

// read writes the files and reads the configuration.
func (s start) read(t *testing.T, dir string) (*Launch, error) {
	t.Helper()
	for _, folder := range []string{"home", "work/.git"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range s.files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	getenv := func(name string) string {
		for _, line := range s.env {
			if value, ok := strings.CutPrefix(line, name+"="); ok {
				return value
			}
		}
		return ""
	}
	around := Surroundings{
		Getenv: getenv, Folder: filepath.Join(dir, "work"), Home: filepath.Join(dir, "home"),
		IsTrusted: func(string, []byte) bool { return s.trust }, IsDead: func(base string) bool { return base == "http://dead" },
	}
	return Read(around, Command{s.agent, s.args}, s.given)
}

// summary returns routes, notes and overrides as lines.
func summary(l *Launch, dir string) (lines []string) {
	for _, r := range l.Routes {
		line := r.Upstream + "=" + r.URL
		if r.IsVendor {
			line += " (vendor)"
		}
		lines = append(lines, line)
	}
	for _, n := range l.Notes {
		lines = append(lines, "note "+strings.ReplaceAll(n, dir+"/", ""))
	}
	o := l.Override("P", "F")
	for _, v := range o.Env {
		if !strings.EqualFold(v.Name, "NO_PROXY") {
			lines = append(lines, v.Name+"="+v.Value)
		}
	}
	if !slices.Equal(o.Args, l.command.Args) {
		lines = append(lines, "args "+strings.Join(o.Args, " "))
	}
	for _, f := range o.Files {
		lines = append(lines, fmt.Sprint("file ", strings.TrimSpace(strings.ReplaceAll(f.Text, "\n", " "))))
	}
	return lines
}
