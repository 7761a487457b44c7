package dialect

import (
	"path/filepath"
	"testing"

	"github.com/pare-llm/pare/internal/corpus"
)

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
	all := corpus.Requests(t)
	for _, r := range all {
		req, err := Parse(r.Raw, Options{Model: r.Model})
		if err != nil {
			t.Fatalf("%s #%d: %v", r.Source, r.N, err)
		}
		if req.Dialect != dialects[r.Group] {
			t.Errorf("%s #%d: detected %s in %s", r.Source, r.N, req.Dialect, r.Group)
		}
		for _, f := range req.Check(CheckOptions{}) {
			if refused[filepath.Base(r.Source)] == f.Rule {
				t.Logf("%s #%d: %s at %s, as the provider said", r.Source, r.N, f.Rule, f.Path)
				continue
			}
			t.Errorf("%s %s #%d (%s, %s): %s at %s", r.Group, r.Source, r.N, req.Profile.Name, req.Profile.Model, f.Rule, f.Path)
		}
	}
	t.Logf("%d recorded requests", len(all))
}
