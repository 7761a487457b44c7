package wire_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pare-llm/pare/wire"
)

// A request that is read as a dialect that was named, and that holds another one's list, is
// told which list is missing.
func TestNoListNamesTheDialect(t *testing.T) {
	for d, member := range map[wire.Dialect]string{wire.Gemini: "contents", wire.OpenAIResponses: "input", wire.Anthropic: "messages"} {
		body := `{"messages":[{"role":"user","content":"hi"}]}`
		if member == "messages" {
			body = `{"contents":[]}`
		}
		_, err := wire.Parse([]byte(body), wire.Options{Dialect: d})
		if !errors.Is(err, wire.ErrNotRequest) || !strings.Contains(err.Error(), "not a request of "+d.String()+": expected an object with "+member+",") {
			t.Errorf("%s: %v", d, err)
		}
	}
}
