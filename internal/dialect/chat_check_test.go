package dialect

import (
	"slices"
	"testing"
)

// Two findings about calls and results of Chat follow from the index and were not noted by the
// parser. They come where they would if they had been, and of two with one rule the first counts.
func TestUsualNotes(t *testing.T) {
	const body = `{"model":"mistral-large","messages":[{"role":"user","content":"q"},
{"role":"assistant","content":null,"tool_calls":[{"id":"longer_than_forty_one_bytes_and_not_of_nine","type":"function","function":{"name":7,"arguments":{}}},
 {"id":"","type":"function","function":{"name":"b!","arguments":"{}"}},{"id":"abcdefghi","type":"function","function":{"name":"c","arguments":"{}"}}]},
{"role":"tool","tool_call_id":"longer_than_forty_one_bytes_and_not_of_nine","content":7},{"role":"tool","tool_call_id":"","content":null,"name":null},
{"role":"tool","tool_call_id":"abcdefghi","content":"x","name":""},
{"role":"tool","tool_call_id":"zz","content":[{"type":"image_url","image_url":{"url":"https://x/y.png"}}],"foo":1},
{"role":"assistant","content":"c","function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"x"},{"role":"user","content":"z"}]}`
	for _, c := range []struct {
		strict bool
		want   []string
	}{
		{false, []string{
			"messages.1.tool_calls.0.function.name openai-chat/wrong-type", "messages.1.tool_calls.0 mistral/tool-id", "messages.1.tool_calls.0 mistral/name-pattern",
			"messages.1.tool_calls.1 mistral/tool-id", "messages.1.tool_calls.1 mistral/name-pattern", "messages.2 mistral/tool-id", "messages.2.content openai-chat/wrong-type",
			"messages.3 mistral/tool-id", "messages.3 openai-chat/content-required-role", "messages.5 mistral/tool-id", "messages.5 mistral/tool-content-image",
			"messages.5 mistral/tool-after-user",
		}},
		{true, []string{
			"messages.1 xai/empty-content", "messages.1.tool_calls.0.function.name openai-chat/wrong-type", "messages.1.tool_calls.0 openai-chat/id-length",
			"messages.1.tool_calls.0 mistral/name-pattern", "messages.1.tool_calls.0.function.arguments openai-chat/arguments-type", "messages.1.tool_calls.1 mistral/tool-id",
			"messages.1.tool_calls.1 mistral/name-pattern", "messages.2 openai-chat/id-length", "messages.2.content openai-chat/wrong-type", "messages.2 template/tool-name",
			"messages.3 mistral/tool-id", "messages.3 openai-chat/content-required-role", "messages.3 template/tool-name", "messages.5 mistral/tool-id",
			"messages.5 mistral/tool-content-image", "messages.5 template/tool-name", "messages.5 mistral/tool-after-user", "messages.8 mistral/user-after-tool",
		}},
	} {
		r, err := Parse([]byte(body), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range r.Check(CheckOptions{Strict: c.strict}) {
			got = append(got, f.Path+" "+f.Source)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("strict is %t: found\n%q, want\n%q", c.strict, got, c.want)
		}
	}
}
