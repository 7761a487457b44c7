package agentlog

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pare-llm/pare/wire"
)

// corpusDir is where the collected sessions lie; they are not part of the project.
// PARE_CORPUS overrides it.
func corpusDir(t testing.TB) string {
	t.Helper()
	for _, dir := range []string{os.Getenv("PARE_CORPUS"), "../../shared/corpus"} {
		if dir == "" {
			continue
		}
		if _, err := os.Stat(dir); err == nil {
			return dir
		}
	}
	t.Skip("SKIPPED, LOUDLY: no corpus of sessions; set PARE_CORPUS to run this test")
	return ""
}

// A sample is a file of the corpus and what its README says about it.
type sample struct {
	name string // folder/file
	raw  []byte
	want Tally
}

// agentFolders are the folders whose files are agents' own.
var agentFolders = []string{"claude_code", "codex_rollout", "pi_session", "gemini_cli", "cline", "goose", "openhands_events", "adk_session"}

// corpus holds what has been read of it: nothing changes a file.
var corpus = make(map[string][]sample)

// samples returns the files of some folders.
func samples(t testing.TB, folders ...string) []sample {
	t.Helper()
	var all []sample
	for _, f := range folders {
		if corpus[f] == nil {
			corpus[f] = readSamples(t, f)
		}
		all = append(all, corpus[f]...)
	}
	return all
}

func readSamples(t testing.TB, folders ...string) []sample {
	t.Helper()
	dir := corpusDir(t)
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|.*$")
	orphans := regexp.MustCompile(`^\d+`)
	var all []sample
	for _, m := range row.FindAllStringSubmatch(string(readme), -1) {
		folder, _, _ := strings.Cut(m[1], "/")
		if !contains(folders, folder) {
			continue
		}
		cells := strings.Split(m[0], "|")
		if len(cells) < 12 {
			continue
		}
		n := func(i int) int {
			v, err := strconv.Atoi(orphans.FindString(strings.TrimSpace(cells[i])))
			if err != nil {
				t.Fatalf("%s: %v", m[0], err)
			}
			return v
		}
		s := sample{name: fileName(m[1]), raw: unzip(t, filepath.Join(dir, m[1]))}
		s.want = Tally{Conversations: n(5), Messages: n(6), Calls: n(7), Results: n(8), OrphanCalls: n(9), OrphanResults: n(10)}
		all = append(all, s)
	}
	if len(all) == 0 {
		t.Fatal("a corpus without sessions")
	}
	return all
}

// fileName is what the agent would have called the file.
func fileName(name string) string {
	if strings.HasPrefix(name, "cline/") {
		return name + "/api_conversation_history.json"
	}
	return name
}

func contains(all []string, s string) bool {
	for _, a := range all {
		if a == s {
			return true
		}
	}
	return false
}

func unzip(t testing.TB, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(file, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return raw
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

// TestCorpusCounts compares what is read with the counts of the corpus' README.
func TestCorpusCounts(t *testing.T) {
	for _, s := range samples(t, agentFolders...) {
		l := mustRead(t, s.name, s.raw)
		if got := l.Tally(); got != s.want {
			t.Errorf("%s: %+v, the README says %+v", s.name, got, s.want)
		}
	}
}

// TestCorpusFix mends every file: the result is clean, a second fix has nothing to
// do, and lines that no change names are as they were.
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

// verify checks what every mended file must be.
func verify(t testing.TB, name string, raw []byte, fixed *Fixed) {
	t.Helper()
	for _, f := range fixed.Left {
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
