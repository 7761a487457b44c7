package dialect

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare/transcript"
)

// userMessages has, for each dialect, a request in which the user's last message holds %s: next to a
// result where the dialect's results are blocks, else behind the message of a result.
var userMessages = []struct {
	dialect       Dialect
	alone, beside string
	text          string
}{
	{Anthropic, `{"messages":[{"role":"user","content":[%s]}]}`,
		`{"messages":[{"role":"user","content":"T"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"r"},%s]}]}`,
		`{"type":"text","text":"NEWEST"}`},
	{Bedrock, `{"messages":[{"role":"user","content":[%s]}]}`,
		`{"messages":[{"role":"user","content":[{"text":"T"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"r"}]}},%s]}]}`,
		`{"text":"NEWEST"}`},
	{Gemini, `{"contents":[{"role":"user","parts":[%s]}]}`,
		`{"contents":[{"role":"user","parts":[{"text":"T"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"r"}}},%s]}]}`,
		`{"text":"NEWEST"}`},
	{OpenAIChat, `{"messages":[{"role":"user","content":[%s]}]}`,
		`{"messages":[{"role":"user","content":"T"},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"r"},{"role":"user","content":[%s]}]}`,
		`{"type":"text","text":"NEWEST"}`},
	{OpenAIResponses, `{"input":[{"role":"user","content":[%s]}]}`,
		`{"input":[{"role":"user","content":"T"},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":"r"},{"role":"user","content":[%s]}]}`,
		`{"type":"input_text","text":"NEWEST"}`},
	{GeminiInteractions, `{"input":[{"type":"user_input","content":[%s]}]}`,
		`{"input":[{"type":"user_input","content":"T"},{"type":"function_call","id":"a","name":"f","arguments":{}},{"type":"function_result","call_id":"a","name":"f","result":"r"},{"type":"user_input","content":[%s]}]}`,
		`{"type":"text","text":"NEWEST"}`},
}

// lastSpeaks parses a body and reports whether a person speaks in its last message.
func lastSpeaks(t *testing.T, d Dialect, body string, blocks ...string) bool {
	t.Helper()
	r, err := Parse(fmt.Appendf(nil, body, strings.Join(blocks, ",")), Options{Dialect: d})
	if err != nil {
		t.Fatal(err)
	}
	ms := r.t.Messages()
	return ms[len(ms)-1].Speaks
}

// blockOf writes a block of a type.
func blockOf(d Dialect, typ string) string {
	if grammars[d].keyed {
		return fmt.Sprintf(`{%q:{}}`, typ)
	}
	return fmt.Sprintf(`{"type":%q}`, typ)
}

// TestResultWithCompanionIsNoTurnOfPerson: no block but words of a person makes a message of results a
// turn of a person, for all types of blocks and for types that are not known.
func TestResultWithCompanionIsNoTurnOfPerson(t *testing.T) {
	for _, m := range userMessages {
		types := append([]blockType{{name: "tomorrows_block"}}, grammars[m.dialect].types...)
		for _, row := range types {
			if row.kind == transcript.Text || row.author == fromPerson {
				continue
			}
			block := blockOf(m.dialect, row.name)
			if lastSpeaks(t, m.dialect, m.beside, block) {
				t.Errorf("%s: a person speaks in a result with %s", m.dialect, block)
			}
			if !lastSpeaks(t, m.dialect, m.beside, block, m.text) {
				t.Errorf("%s: nobody speaks in a result with %s and words", m.dialect, block)
			}
			want := row.author == fromSender && row.kind != transcript.Result
			if m.dialect == GeminiInteractions && row.name == "user_input" {
				continue // a step, and no part
			}
			if got := lastSpeaks(t, m.dialect, m.alone, block); got != want {
				t.Errorf("%s: %s alone: a person speaks: %t", m.dialect, block, got)
			}
		}
	}
}

// TestPersonsWordsCountNextToResults: words of a person count in every form in which a client writes them.
func TestPersonsWordsCountNextToResults(t *testing.T) {
	guarded := `{"guardContent":{"text":{"text":"NEWEST","qualifiers":["query"]}}}`
	if !lastSpeaks(t, Bedrock, userMessages[1].beside, `{"cachePoint":{"type":"default"}}`, guarded) {
		t.Error("words for a guardrail are not a person's")
	}
	for _, m := range userMessages {
		if m.dialect != GeminiInteractions && !lastSpeaks(t, m.dialect, m.beside, `"NEWEST"`) {
			t.Errorf("%s: a string in the place of a block is not a person's", m.dialect)
		}
	}
}

// TestPicturesOfResultsAreNoTurn: pi sends the pictures of a result in a message of the user where the
// API takes none in results. Each picture that follows a result is the tool's, until a person writes.
func TestPicturesOfResultsAreNoTurn(t *testing.T) {
	for d, parts := range map[Dialect][2]string{
		OpenAIChat:      {`{"type":"text","text":"Attached image(s) from tool result:"}`, `{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}`},
		OpenAIResponses: {`{"type":"input_text","text":"Attached image(s) from tool result:"}`, `{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="}`},
	} {
		for _, m := range userMessages {
			if m.dialect != d {
				continue
			}
			if lastSpeaks(t, d, m.beside, parts[0], parts[1], parts[1]) || lastSpeaks(t, d, m.alone, parts[0], parts[1]) {
				t.Errorf("%s: a person speaks in the pictures of a result", d)
			}
			if !lastSpeaks(t, d, m.beside, parts[0], parts[1], m.text) {
				t.Errorf("%s: nobody speaks in the pictures of a result with words", d)
			}
		}
	}
}
