package wire_test

import (
	"testing"

	"github.com/pare-llm/pare/wire"
)

// TestDefectP2Hollow: a member that says nothing (clients write null or an empty list for what
// they do not use) does not hide the list that holds the conversation, wherever it stands.
func TestDefectP2Hollow(t *testing.T) {
	const messages = `"messages":[{"role":"user","content":"q"}]`
	for _, c := range []struct {
		body string
		want wire.Dialect
	}{
		{messages + `,"input":null`, wire.OpenAIChat},
		{messages + `,"input":[ ]`, wire.OpenAIChat},
		{messages + `,"input":""`, wire.OpenAIChat},
		{messages + `,"input":{"a":1}`, wire.OpenAIChat},
		{messages + `,"contents":null`, wire.OpenAIChat},
		{messages + `,"contents":[]`, wire.OpenAIChat},
		{messages + `,"contents":null,"input":null,"model":"claude-opus-4-6"`, wire.Anthropic},
		{`"messages":[],"input":[{"role":"user","content":"q"}]`, wire.OpenAIResponses},
		{`"messages":null,"contents":[{"role":"user","parts":[{"text":"q"}]}]`, wire.Gemini},
		{`"input":null,"contents":[{"role":"user","parts":[{"text":"q"}]}]`, wire.Gemini},
		{`"contents":[],"input":[{"type":"user_input","content":[{"type":"text","text":"q"}]}]`, wire.GeminiInteractions},
		{`"input":""`, wire.OpenAIResponses},
		{`"input":[]`, wire.OpenAIResponses},
		{`"contents":[]`, wire.Gemini},
		{`"contents":null`, wire.Gemini},
		{`"messages":[],"input":[]`, wire.OpenAIResponses},
		{`"model":"gemini-3-pro","input":"q"`, wire.GeminiInteractions},
	} {
		for _, body := range []string{`{` + c.body + `}`, `{"stream":true,` + c.body + `}`} {
			if got, err := wire.Detect([]byte(body)); err != nil || got.Dialect != c.want {
				t.Errorf("%s: %v, %v; want %v", body, got, err, c.want)
			}
		}
	}
	// The other way round.
	for _, empty := range []string{`"input":null`, `"input":[]`, `"contents":[]`, `"contents":null`} {
		body := `{` + empty + `,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}]}`
		r, err := wire.Parse([]byte(body), wire.Options{})
		if err != nil || r.Dialect != wire.OpenAIChat || len(r.Check(wire.CheckOptions{})) != 1 {
			t.Errorf("%s: %v", body, err)
		}
	}
}
