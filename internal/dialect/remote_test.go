package dialect_test

import (
	"context"
	"errors"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/planner"
)

// TestRemoteHistory: a body without a list, whose history the server has, is a request
// with nothing to check, and goes through every command byte for byte.
func TestRemoteHistory(t *testing.T) {
	for body, want := range map[string]dialect.Dialect{
		`{"model":"gemini-3.8-flash","continuation_token":"v1_t"}`:                                            dialect.GeminiInteractions,
		`{"continuation_token":"v1_t","stream":true,"agent":"deep-research"}`:                                 dialect.GeminiInteractions,
		`{"model":"gemini-3.8-flash","previous_interaction_id":"v1_x","continuation_token":"v1_t"}`:           dialect.GeminiInteractions,
		`{"model":"gpt-5","previous_response_id":"resp_1"}`:                                                   dialect.OpenAIResponses,
		`{"conversation":"conv_1","model":"gpt-5","stream":true}`:                                             dialect.OpenAIResponses,
		`{"conversation":{"id":"conv_1"},"model":"gpt-5"}`:                                                    dialect.OpenAIResponses,
		`{ "model":"gpt-5", "prompt":{"version":"2","id":"pmpt_1","variables":{"city":"Rome"}}, "store":1.0}`: dialect.OpenAIResponses,
	} {
		r, err := dialect.Parse([]byte(body), dialect.Options{})
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		if r.Dialect != want || len(r.Transcript().Messages()) > 0 {
			t.Errorf("%s is taken for %v", body, r.Dialect)
		}
		if found := r.Check(dialect.CheckOptions{Strict: true}); len(found) > 0 {
			t.Errorf("%s: %+v", body, found)
		}
		plan, err := planner.Repair(context.Background(), r, pare.Options{})
		if err != nil || !plan.Empty() || string(plan.Result().Raw()) != body {
			t.Errorf("%s: %v, became %s", body, err, plan.Result().Raw())
		}
	}
}

// TestNoHistory: what only looks like one of these is no request.
func TestNoHistory(t *testing.T) {
	for _, body := range []string{
		`{"model":"gpt-5"}`, `{"prompt":"Once upon a time"}`, `{"prompt":{"text":"x"}}`, `{"conversation":[{"from":"human","value":"hi"}]}`,
		`{"conversation":"hello there"}`, `{"previous_response_id":null,"model":"gpt-5"}`, `{"continuation_token":null}`, `{"previous_interaction_id":"v1_x"}`,
	} {
		if _, err := dialect.Parse([]byte(body), dialect.Options{}); !errors.Is(err, dialect.ErrNotRequest) {
			t.Errorf("%s: %v", body, err)
		}
	}
	for _, d := range []dialect.Dialect{dialect.Anthropic, dialect.OpenAIChat, dialect.Gemini, dialect.Bedrock} {
		if _, err := dialect.Parse([]byte(`{"prompt":{"id":"p"},"continuation_token":"t","conversation":"conv_1"}`), dialect.Options{Dialect: d}); !errors.Is(err, dialect.ErrNotRequest) {
			t.Errorf("%v: %v", d, err)
		}
	}
}
