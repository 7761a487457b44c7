package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pare-llm/pare/cmd/internal/ui"
)

func told(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var out, errs bytes.Buffer
	status := run(&environment{args: args, stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: func(string) string { return "" }})
	return status, out.String() + errs.String()
}

func pageTold(t *testing.T, args ...string) (p ui.Page, sum int) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "page.html")
	if status, said := told(t, append([]string{"view", "-o", name}, args...)...); status != statusClean {
		t.Fatalf("view %v: %d %s", args, status, said)
	}
	html, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	_, data, _ := strings.Cut(string(html), `data-version="">`)
	data, _, _ = strings.Cut(data, "</script>")
	if err := json.Unmarshal([]byte(data), &p); err != nil {
		t.Fatal(err)
	}
	for _, h := range p.Before.Head {
		sum += h.Tokens
	}
	for _, m := range p.Before.Messages {
		for _, b := range m.Blocks {
			sum += b.Tokens
		}
	}
	return p, sum
}

func talkOf(t *testing.T, counted int) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "talk.jsonl")
	lines := fmt.Sprintf(`{"parentUuid":null,"isSidechain":false,"sessionId":"s1","type":"user","message":{"role":"user","content":"Add a discount code to the checkout."},"uuid":"u1","timestamp":"2026-03-01T10:00:00.000Z"}
{"parentUuid":"u1","isSidechain":false,"sessionId":"s1","type":"assistant","message":{"id":"msg_1","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"Done."}],"usage":{"input_tokens":%d,"output_tokens":9,"cache_creation_input_tokens":1000,"cache_creation":{"ephemeral_1h_input_tokens":1000}}},"uuid":"u2","timestamp":"2026-03-01T10:00:05.000Z"}
{"parentUuid":"u2","isSidechain":false,"sessionId":"s1","type":"user","message":{"role":"user","content":"And a test for it, please."},"uuid":"u3","timestamp":"2026-03-01T10:01:00.000Z"}
`, counted)
	if err := os.WriteFile(name, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestCommandsAgreeOnTokens compares the numbers of check, count, view and doctor for one file.
func TestCommandsAgreeOnTokens(t *testing.T) {
	for _, name := range []string{talkOf(t, 140_000), talkOf(t, 199_500), "../../examples/seed-incident.json"} {
		var n struct {
			Tokens, Window, Room, Recorded, Beside int
			Share                                  float64
			Over                                   bool `json:"over_window"`
		}
		_, said := told(t, "count", "--json", name)
		if err := json.Unmarshal([]byte(said), &n); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		p, sum := pageTold(t, name)
		if sum != n.Tokens || p.Window != n.Room || p.Whole != n.Window || p.Recorded != n.Recorded || p.Over != n.Over {
			t.Errorf("%s: count says %+v, view %d of %d in %d, %d counted, over %v", name, n, sum, p.Window, p.Whole, p.Recorded, p.Over)
		}
		_, said = told(t, "view", "--text", name)
		percent := fmt.Sprintf("%.1f %% of the", 100*float64(n.Tokens)/float64(n.Room))
		if !strings.Contains(said, percent) {
			t.Errorf("%s: view --text does not say %q:\n%s", name, percent, said)
		}
		if _, said = told(t, "count", name); !strings.Contains(said, percent) {
			t.Errorf("%s: count does not say %q:\n%s", name, percent, said)
		}
		_, said = told(t, "check", name)
		found := regexp.MustCompile(`(?:it|the request) is ([\d,]+) tokens`).FindStringSubmatch(said)
		if (found != nil) != n.Over || found != nil && found[1] != grouped(n.Tokens) {
			t.Errorf("%s: count says %d tokens, over %v, and check %q", name, n.Tokens, n.Over, found)
		}
	}
}

// TestCommandsAgreeOnFullness compares the share of fullness in check, count, view and doctor.
func TestCommandsAgreeOnFullness(t *testing.T) {
	for name, c := range map[string]struct {
		words int
		usage string
		over  bool
	}{
		"short, not counted": {10, `{}`, false},
		"long, not counted":  {160_000, `{}`, true},
		"long, zero":         {160_000, `{"input_tokens":0,"output_tokens":0}`, true},
		"long, false":        {160_000, `{"input_tokens":2,"output_tokens":2}`, true},
		"long, counted":      {160_000, `{"input_tokens":150000,"output_tokens":2}`, false},
		"above the room":     {160_000, `{"input_tokens":190000,"output_tokens":2}`, false},
		"above the window":   {160_000, `{"input_tokens":199000,"output_tokens":5000}`, true},
	} {
		home := t.TempDir()
		file := filepath.Join(home, ".claude/projects/-x/s.jsonl")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		lines := fmt.Sprintf(`{"parentUuid":null,"isSidechain":false,"sessionId":"s1","type":"user","message":{"role":"user","content":"First. %s"},"uuid":"u1","timestamp":"2026-03-01T10:00:00.000Z"}
{"parentUuid":"u1","isSidechain":false,"sessionId":"s1","type":"assistant","message":{"id":"msg_1","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"Done."}],"usage":%s},"uuid":"u2","timestamp":"2026-03-01T10:00:05.000Z"}
`, strings.Repeat("word ", c.words), c.usage)
		if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		var n struct {
			Share float64
			Over  bool `json:"over_window"`
		}
		_, counted := told(t, "count", "--json", file)
		if err := json.Unmarshal([]byte(counted), &n); err != nil || n.Over != c.over {
			t.Fatalf("%s: %v: %s", name, err, counted)
		}
		percent := fmt.Sprintf("%.1f %% of the 168,000 ", 100*n.Share)
		for _, args := range [][]string{{"count", file}, {"view", "--text", file}, {"check", file}, {"doctor", "--home", home}, {"count", "--above", "1%", file}} {
			_, said := told(t, args...)
			said = strings.Join(strings.Fields(strings.ReplaceAll(said, "│", "")), " ")
			switch {
			case args[0] != "check" && args[0] != "doctor":
				if !strings.Contains(said, percent) && !strings.Contains(said, fmt.Sprintf("%.1f %% full", 100*n.Share)) {
					t.Errorf("%s: %v does not say %q:\n%s", name, args, percent, said)
				}
			case strings.Contains(said, "over-window") != c.over || c.over && !strings.Contains(said, percent):
				t.Errorf("%s: %v does not say %q, or over-window without need:\n%s", name, args, percent, said)
			}
			if n.Share > 1 && strings.Contains(said, "at this pace about") {
				t.Errorf("%s: %v has a pace for what is full:\n%s", name, args, said)
			}
		}
	}
}

func TestCountIncludesSystemAndTools(t *testing.T) {
	p, _ := pageTold(t, talkOf(t, 140_000))
	kinds := map[string]int{}
	for _, h := range p.Before.Head {
		kinds[h.Kind] += h.Tokens
		if h.Name == "system prompt" || h.Name == "tools" {
			t.Errorf("a session file has no %s", h.Name)
		}
	}
	if kinds["unseen"] < 140_000 || kinds["marks"] == 0 || kinds["head"] != 0 {
		t.Errorf("%v", kinds)
	}
	if p, _ = pageTold(t, "../../examples/seed-incident.json"); p.Recorded != 0 {
		t.Error("nobody has counted a request that was never sent")
	}
	for _, h := range p.Before.Head {
		if h.Kind == "unseen" {
			t.Error("a request holds all that is sent")
		}
	}
}

func TestViewShowsTimesAndCosts(t *testing.T) {
	p, _ := pageTold(t, talkOf(t, 100_000))
	m := p.Before.Messages[1]
	if p.Title != "Add a discount code to the checkout." || p.Agent != "Claude Code" || m.Time-p.Before.Messages[0].Time != 5000 || m.Model != "claude-sonnet-4-5" || m.Usage == nil || m.Usage.Written != 1000 {
		t.Errorf("%q %q %+v", p.Title, p.Agent, m.Note)
	}
	if want := (100_000*3 + 1000*6 + 9*15) / 1e6; m.Dollars < want-1e-9 || m.Dollars > want+1e-9 {
		t.Errorf("$%v, want $%v", m.Dollars, want)
	}
}

// TestBytesOfSessionChangesAddUp compares the bytes of all changes with the difference in file
// size.
func TestBytesOfSessionChangesAddUp(t *testing.T) {
	name := filepath.Join(t.TempDir(), "torn.jsonl")
	lines := `{"parentUuid":null,"isSidechain":false,"sessionId":"s1","version":"1.0.128","type":"user","message":{"role":"user","content":"first words"},"uuid":"u1","timestamp":"2026-03-01T10:00:00.000Z"}
{"parentUuid":"lost","isSidechain":false,"sessionId":"s1","version":"1.0.128","type":"user","message":{"role":"user","content":"go on"},"uuid":"u2","timestamp":"2026-03-01T10:00:05.000Z"}
{"parentUuid":"u2","isSidechain":false,"sessionId":"s1","version":"1.0.128","type":"assistant","message":{"id":"msg_1","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}]},"uuid":"u3","timestamp":"2026-03-01T10:00:06.000Z"}
{"parentUuid":"u3","isSidechain":false,"sessionId":"s1","version":"1.0.128","type":"user","message":{"role":"user","content":"well?"},"uuid":"u4","timestamp":"2026-03-01T10:00:07.000Z"}
`
	if err := os.WriteFile(name, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	_, said := told(t, "fix", "-n", name)
	sum := 0
	for _, m := range regexp.MustCompile(`([+-]\d+) bytes`).FindAllStringSubmatch(said, -1) {
		n, _ := strconv.Atoi(m[1])
		sum += n
	}
	total := regexp.MustCompile(`([\d,]+) → ([\d,]+) bytes`).FindStringSubmatch(said)
	if total == nil {
		t.Fatalf("no sum: %s", said)
	}
	number := func(s string) int { n, _ := strconv.Atoi(strings.ReplaceAll(s, ",", "")); return n }
	if want := number(total[2]) - number(total[1]); sum != want || want == 0 {
		t.Errorf("the parts come to %+d bytes, and the file changes by %+d:\n%s", sum, want, said)
	}
	p, _ := pageTold(t, "--plan", "fix", name)
	rules := map[string]bool{}
	for _, c := range p.Changes {
		rules[c.Rule] = true
	}
	for _, m := range regexp.MustCompile(`(?m)^\S+: \w+ +([\w-]+)`).FindAllStringSubmatch(said, -1) {
		if !rules[m[1]] {
			t.Errorf("fix -n tells of %s, and the page lists %v", m[1], rules)
		}
	}
}

func TestViewShowsPlans(t *testing.T) {
	for _, plan := range []string{"trim", "compact", "prune", "fix"} {
		for _, name := range []string{"../../examples/prune-me.json", talkOf(t, 199_500)} {
			if p, _ := pageTold(t, "--plan", plan, name); p.After == nil {
				t.Errorf("--plan %s %s: there is no other side", plan, name)
			}
		}
	}
}
