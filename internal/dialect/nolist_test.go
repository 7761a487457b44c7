package dialect_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/dialect"
)

// A request that is read as a dialect that was named, and that holds another one's list, is
// told which list is missing.
func TestNoListNamesTheDialect(t *testing.T) {
	for d, member := range map[dialect.Dialect]string{dialect.Gemini: "contents", dialect.OpenAIResponses: "input", dialect.Anthropic: "messages"} {
		body := `{"messages":[{"role":"user","content":"hi"}]}`
		if member == "messages" {
			body = `{"contents":[]}`
		}
		_, err := dialect.Parse([]byte(body), dialect.Options{Dialect: d})
		if !errors.Is(err, dialect.ErrNotRequest) || !strings.Contains(err.Error(), "not a request of "+d.String()+": expected an object with "+member+",") {
			t.Errorf("%s: %v", d, err)
		}
	}
}
