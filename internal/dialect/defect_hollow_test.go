package dialect_test

import (
	"testing"

	"github.com/pare-llm/pare/internal/dialect"
)

// TestDefectP2Hollow: a member that says nothing (clients write null or an empty list for what
// they do not use) does not hide the list that holds the conversation, wherever it stands.
func TestDefectP2Hollow(t *testing.T) {
	const messages = `"messages":[{"role":"user","content":"q"}]`
	for _, c := range []struct {
		body string
		want dialect.Dialect
	}{
		{messages + `,"input":null`, dialect.OpenAIChat},
		{messages + `,"input":[ ]`, dialect.OpenAIChat},
		{messages + `,"input":""`, dialect.OpenAIChat},
		{messages + `,"input":{"a":1}`, dialect.OpenAIChat},
		{messages + `,"contents":null`, dialect.OpenAIChat},
		{messages + `,"contents":[]`, dialect.OpenAIChat},
		{messages + `,"contents":null,"input":null,"model":"claude-opus-4-6"`, dialect.Anthropic},
		{`"messages":[],"input":[{"role":"user","content":"q"}]`, dialect.OpenAIResponses},
		{`"messages":null,"contents":[{"role":"user","parts":[{"text":"q"}]}]`, dialect.Gemini},
		{`"input":null,"contents":[{"role":"user","parts":[{"text":"q"}]}]`, dialect.Gemini},
		{`"contents":[],"input":[{"type":"user_input","content":[{"type":"text","text":"q"}]}]`, dialect.GeminiInteractions},
		{`"input":""`, dialect.OpenAIResponses},
		{`"input":[]`, dialect.OpenAIResponses},
		{`"contents":[]`, dialect.Gemini},
		{`"contents":null`, dialect.Gemini},
		{`"messages":[],"input":[]`, dialect.OpenAIResponses},
		{`"model":"gemini-3-pro","input":"q"`, dialect.GeminiInteractions},
	} {
		for _, body := range []string{`{` + c.body + `}`, `{"stream":true,` + c.body + `}`} {
			if got, err := dialect.Detect([]byte(body)); err != nil || got.Dialect != c.want {
				t.Errorf("%s: %v, %v; want %v", body, got, err, c.want)
			}
		}
	}
	// The other way round.
	for _, empty := range []string{`"input":null`, `"input":[]`, `"contents":[]`, `"contents":null`} {
		body := `{` + empty + `,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}]}`
		r, err := dialect.Parse([]byte(body), dialect.Options{})
		if err != nil || r.Dialect != dialect.OpenAIChat || len(r.Check(dialect.CheckOptions{})) != 1 {
			t.Errorf("%s: %v", body, err)
		}
	}
}
