package rules_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/transcript"
)

// shownBy is what is sent of a result that a call brings, with results shortened as they arrive.
func shownBy(t *testing.T, tool, args, result string) string {
	t.Helper()
	said, _ := json.Marshal(result)
	r, err := pare.Parse(fmt.Appendf(nil, `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"go"},
		{"role":"assistant","content":[{"type":"tool_use","id":"a1","name":%q,"input":%s}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"a1","content":%s}]}]}`, tool, args, said))
	if err != nil {
		t.Fatal(err)
	}
	rule, err := rules.Oversized{Arrival: true}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	p, err := pare.Compile(rule)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := (&pare.Policy{Rules: p}).Plan(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	out := plan.Result()
	for b, blk := range out.Transcript().Blocks() {
		if blk.Kind == transcript.Result {
			return out.Text(transcript.BlockID(b))
		}
	}
	t.Fatal("the result is gone")
	return ""
}

var numbered = regexp.MustCompile(`^ *\d+(→|\t|\| |\||: )`)

// TestNumbersOfLines: of a file that a tool shows with numbers every line stays to the letter, the
// first and every tenth with its number, and what was made is not changed again.
func TestNumbersOfLines(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, x := range []struct{ name, format, before, behind string }{
		{"Claude Code", "%6d→%s", "", "\n<system-reminder>\nbe careful\n</system-reminder>"},
		{"Claude Code, compact", "%d\t%s", "", ""},
		{"opencode", "%05d| %s", "<file>\n", "\n(End of file)\n</file>"},
		{"opencode, now", "%d: %s", "<content>\n", "\n</content>"},
	} {
		for _, lines := range []int{5, 19, 100, 200} {
			first := 1 + random.IntN(300)
			var shown, texts []string
			for i := range lines {
				text := strings.Repeat("\t", i%4) + fmt.Sprintf("call(%d) // %d", random.IntN(1000), i)
				texts, shown = append(texts, text), append(shown, fmt.Sprintf(x.format, first+i, text))
			}
			whole := x.before + strings.Join(shown, "\n") + x.behind
			got := shownBy(t, "Read", `{"file_path":"a.go"}`, whole)
			if lines < 20 {
				if got != whole {
					t.Errorf("%s, %d lines: %q", x.name, lines, got)
				}
				continue
			}
			if len(got) >= len(whole) || !strings.Contains(got, "[pare: line numbers but every tenth left out by oversized]") || !strings.HasPrefix(got, x.before) || !strings.Contains(got, x.behind) {
				t.Errorf("%s, %d lines: %q", x.name, lines, got)
			}
			all := strings.Split(strings.TrimPrefix(got, x.before), "\n")
			for i, text := range texts {
				mark := numbered.FindString(all[i])
				if all[i][len(mark):] != text || (mark != "") != (i == 0 || (first+i)%10 == 0) {
					t.Errorf("%s, line %d: %q, not %q", x.name, i, all[i], text)
				}
			}
			if again := shownBy(t, "Read", `{"file_path":"a.go"}`, got); again != got {
				t.Errorf("%s: changed again: %q", x.name, again)
			}
		}
	}
}

// TestNoNumbersOfLines: what only looks like a numbered file stays.
func TestNoNumbersOfLines(t *testing.T) {
	rows := func(format string, number func(i int) int) string {
		var b strings.Builder
		for i := range 100 {
			fmt.Fprintf(&b, format+"\n", number(i), "some words of a row")
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"numbers that jump":    rows("%d\t%s", func(i int) int { return i * i }),
		"no sign":              rows("%d %s", func(i int) int { return i }),
		"a line in front":      "id\tname\n" + rows("%d\t%s", func(i int) int { return i }),
		"all the same numbers": rows("%d\t%s", func(int) int { return 7 }),
	} {
		if got := shownBy(t, "Read", `{"file_path":"a.tsv"}`, text); got != text {
			t.Errorf("%s: %q", name, got)
		}
	}
	if text := rows("%6d→%s", func(i int) int { return i }); shownBy(t, "Bash", `{"command":"make"}`, text) != text {
		t.Error("what a program prints is no file")
	}
}

// TestNamesOfFilesFound: of what a search finds every line stays with its number, and each file is
// named above its lines.
func TestNamesOfFilesFound(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for _, call := range [][2]string{{"Grep", `{"pattern":"x"}`}, {"Bash", `{"command":"rg -n x src"}`}} {
		for range 20 {
			var shown, want []string
			for f := range 1 + random.IntN(6) {
				file := fmt.Sprintf("internal/a_long_folder/of_package_%d/file.go", f)
				n := 1 + random.IntN(6)
				if n > 1 {
					want = append(want, file+":")
				}
				for i := range n {
					text := fmt.Sprintf("found: %d", random.IntN(100))
					sign := ":"
					if i > 0 && i%3 == 0 {
						sign = "-" // a line around it
					}
					line := fmt.Sprintf("%d%s%s", 10+i, sign, text)
					shown = append(shown, file+sign+line)
					if n == 1 {
						line = file + sign + line
					}
					want = append(want, line)
				}
			}
			whole := strings.Join(shown, "\n")
			got := shownBy(t, call[0], call[1], whole)
			if got == whole {
				if saved := len(whole) - len(strings.Join(want, "\n")); saved > 256 {
					t.Errorf("%s: %d bytes could go: %q", call[0], saved, whole)
				}
				continue
			}
			all := strings.Split(got, "\n")
			if !slices.Equal(all[:len(all)-1], want) || all[len(all)-1] != "[pare: repeated file names left out by oversized]" {
				t.Errorf("%s: %q, not %q", call[0], all, want)
			}
			if again := shownBy(t, call[0], call[1], got); again != got {
				t.Errorf("changed again: %q", again)
			}
		}
	}
}

// TestColours: what a program prints arrives without the colours of a terminal, its words to the letter;
// other sequences stay, and so does what is hardly shorter without them.
func TestColours(t *testing.T) {
	var coloured, plain strings.Builder
	for i := range 40 {
		fmt.Fprintf(&coloured, "\x1b[32m✓\x1b[39m \x1b[1mtest %d\x1b[22m\x1b[K took \x1b[38;5;244m%d ms\x1b[0m\n", i, i*i)
		fmt.Fprintf(&plain, "✓ test %d took %d ms\n", i, i*i)
	}
	got := shownBy(t, "Bash", `{"command":"npm test"}`, coloured.String())
	text, note, ok := strings.Cut(got, "\n[pare: colours left out by oversized")
	if !ok || text != plain.String() || !strings.HasSuffix(note, "]") {
		t.Error(got)
	}
	if again := shownBy(t, "Bash", `{"command":"npm test"}`, got); again != got {
		t.Errorf("changed again: %s", again)
	}
	for _, said := range []string{
		"\x1b[32mok\x1b[0m",
		strings.Repeat("\x1b[2J\x1b]0;title\x07\x1b", 40),
		strings.Repeat("\x1b[12", 40),
	} {
		if got := shownBy(t, "Bash", `{"command":"npm test"}`, said); got != said {
			t.Errorf("%q became %q", said, got)
		}
	}
	numbered := "\x1b[0m"
	for i := range 40 {
		numbered += fmt.Sprintf("%6d\t\x1b[34mline\x1b[0m\n", i+1)
	}
	if got := shownBy(t, "Bash", `{"command":"cat -n x.go"}`, strings.TrimPrefix(numbered, "\x1b[0m")); !strings.Contains(got, "[pare: colours and line numbers but every tenth left out") {
		t.Error(got)
	}
}
