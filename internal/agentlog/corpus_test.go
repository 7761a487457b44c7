package agentlog

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/wire"
)

// A sample is a file of the corpus with the counts in the corpus' README.
type sample struct {
	name string // folder/file
	raw  []byte
	want Tally
}

// agentFolders are the folders with files of agents.
var agentFolders = []string{"claude_code", "codex_rollout", "pi_session", "gemini_cli", "cline", "goose", "openhands_events", "adk_session"}

// samples returns the files of some folders that the README counts.
func samples(t testing.TB, folders ...string) []sample {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join(corpus.Dir(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	counts := make(map[string]Tally)
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|.*$")
	number := regexp.MustCompile(`^\d+`)
	for _, m := range row.FindAllStringSubmatch(string(readme), -1) {
		cells := strings.Split(m[0], "|")
		if len(cells) < 12 {
			continue
		}
		n := func(i int) int {
			v, _ := strconv.Atoi(number.FindString(strings.TrimSpace(cells[i])))
			return v
		}
		counts[strings.TrimSuffix(m[1], ".gz")] = Tally{Conversations: n(5), Messages: n(6), Calls: n(7), Results: n(8), OrphanCalls: n(9), OrphanResults: n(10)}
	}
	var all []sample
	for _, folder := range folders {
		for _, f := range corpus.Files(t, folder+"/*") {
			want, ok := counts[f.Name()]
			if !ok {
				t.Fatalf("the README of the corpus does not count %s", f.Name())
			}
			all = append(all, sample{fileName(f.Name()), f.Raw, want})
		}
	}
	return all
}

// fileName returns the name that the agent would have given the file.
func fileName(name string) string {
	if strings.HasPrefix(name, "cline/") {
		return name + "/api_conversation_history.json"
	}
	return name
}

// find returns the file whose name contains part.
func find(t testing.TB, part string) sample {
	t.Helper()
	for _, s := range samples(t, agentFolders...) {
		if strings.Contains(s.name, part) {
			return s
		}
	}
	t.Fatalf("no file %q in the corpus", part)
	return sample{}
}

func mustRead(t testing.TB, name string, raw []byte) *Log {
	t.Helper()
	l, err := Read(name, raw, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestCorpusCounts compares the tallies with the counts in the corpus' README.
func TestCorpusCounts(t *testing.T) {
	for _, s := range samples(t, agentFolders...) {
		l := mustRead(t, s.name, s.raw)
		if got := l.Tally(); got != s.want {
			t.Errorf("%s: %+v, the README says %+v", s.name, got, s.want)
		}
	}
}

// TestCorpusFix repairs every file and checks that the result is clean, that a second fix changes
// nothing, and that other lines stay unchanged.
func TestCorpusFix(t *testing.T) {
	for _, s := range samples(t, agentFolders...) {
		t.Run(s.name, func(t *testing.T) {
			l := mustRead(t, s.name, s.raw)
			found := l.Check(wire.CheckOptions{})
			fixed, err := l.Fix(Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range found {
				t.Logf("line %d:%d %s %s %s dormant=%v open=%v %s", f.Line, f.Column, f.Thread, f.Rule, f.IDs, f.Dormant, f.Open, f.Message)
			}
			for _, c := range fixed.Changes {
				t.Logf("change line %d %s %s %s", c.Line, c.Action, c.Rule, c.Reason)
			}
			verify(t, s.name, s.raw, fixed)
		})
	}
}

// verify checks the promises for a repaired file.
func verify(t testing.TB, name string, raw []byte, fixed *Fixed) {
	t.Helper()
	for _, f := range fixed.Remaining {
		if f.Rule != "broken-line" {
			t.Errorf("left: line %d: %s %s: %s", f.Line, f.Thread, f.Rule, f.Message)
		}
	}
	again, err := mustRead(t, name, fixed.Raw).Fix(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Raw, fixed.Raw) {
		t.Errorf("a second fix is no no-op: %+v", again.Changes)
	}
	if len(fixed.Changes) == 0 && len(raw) > 0 && &raw[0] != &fixed.Raw[0] {
		t.Error("nothing was changed, yet the slice is another one")
	}
}
