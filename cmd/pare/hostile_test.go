package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/pare-llm/pare/internal/trial"
)

const forged = "x\nFORGED: pare fix --in-place /\r\n\x1b[2J\x1b[31m\x1b]0;t\a\u009b31m\u202eevil\u2066\x7f\u2028FORGED"

func escaped() string {
	raw, _ := json.Marshal(forged)
	return strings.Trim(string(raw), `"`)
}

func hostileBodies() map[string]string {
	bodies := map[string]string{
		"model":       `{"model":"X","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Read","input":{}}]},{"role":"user","content":"go on"}]}`,
		"tool and id": `{"model":"claude-opus-4-6","messages":[{"role":"user","content":"X"},{"role":"assistant","content":[{"type":"text","text":"X"},{"type":"tool_use","id":"X","name":"X","input":{"X":"X"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"other X","content":"X"},{"type":"X"}]},{"role":"X","content":"X"}]}`,
		"chat":        `{"model":"gpt-X","messages":[{"role":"X","content":"X"},{"role":"assistant","content":null,"tool_calls":[{"id":"X","type":"function","function":{"name":"X","arguments":"X"}}]},{"role":"tool","tool_call_id":"y X","content":"X"},{"role":"user","content":[{"type":"X","X":1}]}],"tools":[{"type":"function","function":{"name":"X"}}]}`,
		"responses":   `{"model":"X","input":[{"role":"user","content":"X"},{"type":"function_call","call_id":"X","name":"X","arguments":"X"},{"type":"function_call_output","call_id":"z X","output":"X"},{"type":"X","id":"X"}]}`,
		"gemini":      `{"model":"X","contents":[{"role":"user","parts":[{"text":"X"}]},{"role":"model","parts":[{"functionCall":{"id":"X","name":"X","args":{"X":"X"}}}]},{"role":"user","parts":[{"functionResponse":{"id":"z X","name":"X","response":{"X":"X"}}},{"X":{}}]}]}`,
		"bedrock":     `{"modelId":"X","messages":[{"role":"user","content":[{"text":"X"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"X","name":"X","input":{"X":"X"}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"z X","content":[{"text":"X"}]}},{"X":{}}]}]}`,
		"no request":  `{"X":{"X":["X"]}}`,
		"no JSON":     `{"messages":[{"X":`,
		"foreign":     `{"messages":[{"role":"user","content":[{"type":"X"}]},{"role":"assistant","content":[{"type":"X"},{"type":"X"}]}]}`,
		"claude":      `{"type":"user","sessionId":"X","uuid":"u1","parentUuid":null,"cwd":"X","version":"X","gitBranch":"X","message":{"role":"user","content":"X"}}` + "\n" + `{"type":"assistant","sessionId":"X","uuid":"a1","parentUuid":"u1","cwd":"X","version":"X","message":{"role":"assistant","model":"X","content":[{"type":"tool_use","id":"X","name":"X","input":{}}]}}` + "\n" + `{"type":"user","sessionId":"X","uuid":"u2","parentUuid":"X","cwd":"X","message":{"role":"user","content":"X"}}` + "\n",
		"codex":       `{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"X","cwd":"X","originator":"X","cli_version":"X","model_provider":"X"}}` + "\n" + `{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"X"}]}}` + "\n" + `{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{"type":"function_call","call_id":"X","name":"X","arguments":"{}"}}` + "\n" + `{"timestamp":"2026-01-01T00:00:01Z","type":"response_item","payload":{"type":"function_call_output","call_id":"y X","output":"X"}}` + "\n",
	}
	for name, b := range bodies {
		bodies[name] = strings.ReplaceAll(b, "X", escaped())
	}
	return bodies
}

var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

func checkForPeople(t *testing.T, what, text string, coloured bool) {
	t.Helper()
	if coloured {
		text = colours.ReplaceAllString(text, "")
	}
	for i, r := range text {
		if !unicode.IsPrint(r) && r != '\n' || r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd") {
			t.Errorf("%s: %U is printed: %q", what, r, text[max(0, i-40):min(len(text), i+40)])
			return
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimLeft(line, " "), "FORGED") {
			t.Errorf("%s: a forged line: %q", what, line)
			return
		}
	}
}

func checkJSONLines(t *testing.T, what, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if !json.Valid([]byte(line)) {
			t.Errorf("%s: no JSON: %q", what, line)
			return
		}
		for _, r := range strings.TrimSuffix(line, "\n") {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' {
				t.Errorf("%s: %U stands in JSON: %q", what, r, line)
				return
			}
		}
	}
}

// TestCommandsPrintNoControlCharacters runs every reporting command on hostile conversations in
// files with hostile names.
func TestCommandsPrintNoControlCharacters(t *testing.T) {
	trial.Long(t, "runs every command a thousand times")
	commands := []string{
		"check", "check --strict", "count", "split", "split --min-keep 1", "replay", "replay --markdown", "view --text", "view --text --plan fix", "fix --dry-run", "prune --dry-run",
		"trim --dry-run --max-messages 2", "trim --dry-run --max-tokens 5", "compact --dry-run --min-keep 1", "fix -o out", "fix --in-place", "doctor --all --home .", "doctor --fix --yes --home .", "undo",
	}
	withJSON := []string{"check", "check --pairs", "count", "split", "replay", "fix --dry-run", "prune --dry-run", "trim --dry-run --max-messages 2", "doctor --home ."}
	ran, files := 0, 0
	for name, body := range hostileBodies() {
		for _, file := range []string{"s.json", forged + ".json"} {
			files++
			file = strings.ReplaceAll(file, "/", "")
			once := func(command string, flags ...string) (string, string) {
				t.Chdir(t.TempDir())
				project := filepath.Join(".claude", "projects", strings.ReplaceAll(forged, "/", ""))
				if err := os.MkdirAll(project, 0o777); err != nil {
					t.Fatal(err)
				}
				for _, to := range []string{file, filepath.Join(project, file+"l"), file + ".bak"} {
					if err := os.WriteFile(to, []byte(body), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				args := append(strings.Fields(command), flags...)
				if !strings.HasPrefix(command, "doctor") {
					args = append(args, file)
				}
				ran++
				_, out, errs := program(strings.NewReader(""), args...)
				return out, errs
			}
			for i, command := range commands {
				for j, colour := range []string{"never", "always"} {
					if (i+j+files)%2 > 0 && !trial.Soak() {
						continue
					}
					var flags []string
					if command != "undo" && !strings.HasPrefix(command, "replay") {
						flags = []string{"--color", colour}
					}
					what := name + ": " + command + " " + colour
					out, errs := once(command, flags...)
					checkForPeople(t, what, out, colour == "always")
					checkForPeople(t, what+", notes", errs, colour == "always")
				}
			}
			for _, command := range withJSON {
				what := name + ": " + command + " --json"
				out, errs := once(command, "--json")
				checkJSONLines(t, what, out)
				checkForPeople(t, what+", notes", errs, false)
			}
		}
	}
	t.Logf("%d runs", ran)
}

func TestPrintedPathsCanBeCopied(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash to copy commands to:", err)
	}
	names := []string{
		"plain", "two words", "it's", `back\slash`, "$(touch gone)", "`touch gone`", "a;touch gone", "a\ntouch gone\n", "a\rb", "\x1b[31mred", "-rf", "--help", "~", "~root", "a\"b", "!x", "*", "\u202eevil", "\xff\xfe",
		"\u009b31m", "tab\there", "'\n'", `\n`, "#x", "&& touch gone", "日本", "a'\x1b'b", "\x011", "{a,b}", "a b\nc'd\\e",
	}
	for _, name := range names {
		t.Chdir(t.TempDir())
		if err := os.WriteFile(name, []byte(faulty), 0o600); err != nil {
			t.Fatal(err)
		}
		home, _ := os.Getwd()
		status, _, errs := program(strings.NewReader(""), "fix", "--in-place", "--", name)
		if status != statusClean {
			t.Fatalf("%q: status %d: %s", name, status, errs)
		}
		checkCopied(t, bash, home, errs, "undo: ", name)

		project := filepath.Join(home, ".claude", "projects", name)
		if err := os.MkdirAll(project, 0o777); err != nil {
			t.Fatal(err)
		}
		session := filepath.Join(project, name+".jsonl")
		lines := `{"type":"user","sessionId":"s","uuid":"u1","parentUuid":null,"cwd":"/w","message":{"role":"user","content":"hi"}}
{"type":"assistant","sessionId":"s","uuid":"a1","parentUuid":"u1","cwd":"/w","message":{"role":"assistant","model":"claude-opus-4-6","content":[{"type":"tool_use","id":"t1","name":"Read","input":{}}]}}
{"type":"user","sessionId":"s","uuid":"u2","parentUuid":"a1","cwd":"/w","message":{"role":"user","content":"go on"}}
`
		if err := os.WriteFile(session, []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		_, out, errs := program(strings.NewReader(""), "doctor", "--all", "--home", home)
		if !strings.Contains(out, "fix: ") {
			t.Errorf("%q: the session is not seen: %s%s", name, out, errs)
			continue
		}
		checkCopied(t, bash, home, out, "fix: ", session)
	}
}

func checkCopied(t *testing.T, bash, home, text, mark, want string) {
	t.Helper()
	checkForPeople(t, mark+want, text, false)
	_, command, ok := strings.Cut(text, mark)
	if !ok {
		t.Errorf("%q: no command in %s", want, text)
		return
	}
	command, _, _ = strings.Cut(command, "\n")
	cmd := exec.Command(bash, "--norc", "-c", `pare() { printf %s "${!#}"; }
`+command)
	cmd.Env = []string{"HOME=" + home, "PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	got, err := cmd.Output()
	if err != nil || strings.TrimPrefix(string(got), "./") != want {
		t.Errorf("%q: %s means %q (%v %s)", want, command, got, err, errs.String())
	}
	if _, err := os.Stat("gone"); err == nil {
		t.Errorf("%q: %s did something else", want, command)
	}
}
