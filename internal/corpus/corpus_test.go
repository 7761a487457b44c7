package corpus

import (
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A small corpus of our own, in the layout of the real one.
func small(t *testing.T) string {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"gemini/a.requests.jsonl": `{"source":"s","n":0,"url":"https://x/v1/models/gemini-2%2E5:generate","body":{"contents":[1]}}` + "\n" +
			`{"source":"s","n":1,"url":"https://x/","body":{"contents":[1,2]}}` + "\n" + `{"source":"other","n":0,"url":"","body":{"contents":[1]}}`,
		"codex_rollout/b.jsonl.gz": `{"type":"session_meta","payload":{}}{"type":"response_item","payload":{"type":"message"}}` + "\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if strings.HasSuffix(name, ".gz") {
			z := gzip.NewWriter(&b)
			z.Write([]byte(text))
			z.Close()
			text = b.String()
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PARE_CORPUS", dir)
	return dir
}

func TestRequests(t *testing.T) {
	small(t)
	all := Requests(t)
	if len(all) != 3 || all[0].Model != "gemini-2.5" || all[0].Group != "gemini" || all[1].Name != "gemini/a.requests.jsonl #1" || string(all[2].Raw) != `{"contents":[1]}` {
		t.Errorf("%+v", all)
	}
	if last := LastRequests(t); len(last) != 2 || last[0].N != 1 || last[1].Source != "other" {
		t.Errorf("%+v", last)
	}
}

func TestCodex(t *testing.T) {
	small(t)
	c := &collection{t: t}
	c.codex()
	if len(c.all) != 1 || c.all[0].Group != CodexEnvelopes || !strings.Contains(string(c.all[0].Raw), `"input":[{"type":"message"}]`) || c.all[0].Name != "b.jsonl" {
		t.Errorf("%+v", c.all)
	}
}

// TestMissingCorpusSkips: without a corpus a test is skipped, with a reason that helps.
func TestMissingCorpusSkips(t *testing.T) {
	t.Setenv("PARE_CORPUS", filepath.Join(t.TempDir(), "none"))
	v := &verdict{TB: t}
	Dir(v)
	if !strings.Contains(v.skipped, "PARE_CORPUS=DIR") {
		t.Errorf("%q", v.skipped)
	}
}

// A verdict records whether a test would be skipped.
type verdict struct {
	testing.TB
	skipped string
}

func (v *verdict) Helper()          {}
func (v *verdict) Skip(args ...any) { v.skipped = fmt.Sprint(args...) }

// TestCorpusIsFoundFromAnyFolder checks that the corpus is found next to the module from every folder of it.
func TestCorpusIsFoundFromAnyFolder(t *testing.T) {
	want, err := filepath.Abs("../..")
	if err != nil || module(t) != want {
		t.Errorf("%s, want %s: %v", module(t), want, err)
	}
}
