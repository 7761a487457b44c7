package wire

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// corpusDir is where the recorded transcripts lie; they are not part of the
// project. PARE_CORPUS overrides it.
func corpusDir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("PARE_CORPUS")
	if dir == "" {
		dir = "../../shared/corpus"
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("SKIPPED, LOUDLY: no corpus of recorded requests at %s; set PARE_CORPUS to run this test", dir)
	}
	return dir
}

// A recorded request was sent to a provider and accepted.
type recorded struct {
	Source string
	N      int
	URL    string
	Body   json.RawMessage
}

// model takes the model out of the URL, where Gemini and Bedrock have it.
func (r *recorded) model() string {
	m := regexp.MustCompile(`/models?/([^/:]+(?:%3A\d+)?)`).FindStringSubmatch(r.URL)
	if m == nil {
		return ""
	}
	name, _ := url.PathUnescape(m[1])
	return name
}

func recordings(t testing.TB, yield func(file string, r recorded)) {
	files, _ := filepath.Glob(filepath.Join(corpusDir(t), "*", "*.requests.jsonl*"))
	if len(files) == 0 {
		t.Fatal("a corpus without recorded requests")
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		var in io.Reader = f
		if strings.HasSuffix(file, ".gz") {
			if in, err = gzip.NewReader(f); err != nil {
				t.Fatal(err)
			}
		}
		lines := bufio.NewReader(in)
		for {
			line, err := lines.ReadBytes('\n')
			if len(line) > 1 {
				var r recorded
				if err := json.Unmarshal(line, &r); err != nil {
					t.Fatalf("%s: %v", file, err)
				}
				yield(filepath.Base(filepath.Dir(file)), r)
			}
			if err != nil {
				break
			}
		}
		f.Close()
	}
}

// refused are recordings of a refusal, with the rule they broke. The other
// oddities that the corpus names (two assistant messages in a row, ids reused in a
// later turn, server tools in flight, lone outputs of a stored response, two model
// turns in a row) are legal and must not be reported.
var refused = map[string]string{
	"test_deepseek_responses_rejects_interleaved_function_calls.yaml": "displaced-result",
}

// TestCorpus: what a provider accepted must not be reported.
func TestCorpus(t *testing.T) {
	dialects := map[string]Dialect{"anthropic_messages": Anthropic, "openai_chat": OpenAIChat, "openai_responses": OpenAIResponses, "gemini": Gemini, "bedrock_converse": Bedrock}
	checked := 0
	recordings(t, func(folder string, r recorded) {
		req, err := Parse(r.Body, Options{Model: r.model()})
		if err != nil {
			t.Fatalf("%s #%d: %v", r.Source, r.N, err)
		}
		checked++
		if req.Dialect != dialects[folder] {
			t.Errorf("%s #%d: detected %s in %s", r.Source, r.N, req.Dialect, folder)
		}
		for _, f := range req.Check(CheckOptions{}) {
			if refused[filepath.Base(r.Source)] == f.Rule {
				t.Logf("%s #%d: %s at %s, as the provider said", r.Source, r.N, f.Rule, f.Path)
				continue
			}
			t.Errorf("%s %s #%d (%s, %s): %s at %s", folder, r.Source, r.N, req.Profile.Name, req.Profile.Model, f.Rule, f.Path)
		}
	})
	t.Logf("%d recorded requests", checked)
}
