package dialect

import (
	"strings"
	"testing"
)

func TestParseURL(t *testing.T) {
	for address, want := range map[string]struct {
		d     Dialect
		model string
	}{
		"https://api.anthropic.com/v1/messages":                                                                {Anthropic, ""},
		"https://api.anthropic.com/v1/messages?beta=true":                                                      {Anthropic, ""},
		"https://api.deepseek.com/anthropic/v1/messages/":                                                      {Anthropic, ""},
		"https://r.services.ai.azure.com/anthropic/v1/messages":                                                {Anthropic, ""},
		"/v1/projects/p/locations/l/publishers/anthropic/models/claude-opus-4-6@20260101:rawPredict":           {Anthropic, "claude-opus-4-6@20260101"},
		"/v1/projects/p/locations/l/publishers/anthropic/models/claude-opus-4-6:streamRawPredict":              {Anthropic, "claude-opus-4-6"},
		"https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-sonnet-4-5-v1%3A0/invoke":   {Anthropic, "us.anthropic.claude-sonnet-4-5-v1:0"},
		"/model/anthropic.claude-3-haiku/invoke-with-response-stream":                                          {Anthropic, "anthropic.claude-3-haiku"},
		"/model/meta.llama4/invoke":                                                                            {Auto, "meta.llama4"},
		"https://api.openai.com/v1/chat/completions":                                                           {OpenAIChat, ""},
		"/v1beta/openai/chat/completions":                                                                      {OpenAIChat, ""},
		"https://r.openai.azure.com/openai/deployments/my-gpt/chat/completions?api-version=2024-10-21":         {OpenAIChat, "azure/my-gpt"},
		"/v1/projects/p/locations/l/publishers/mistralai/models/codestral:rawPredict":                          {OpenAIChat, "codestral"},
		"/v1/projects/p/locations/l/publishers/somebody/models/x:rawPredict":                                   {Auto, "x"},
		"https://api.openai.com/v1/responses":                                                                  {OpenAIResponses, ""},
		"https://r.openai.azure.com/openai/v1/responses?api-version=preview":                                   {OpenAIResponses, ""},
		"https://api.openai.com/v1/responses/resp_1/cancel":                                                    {Auto, ""},
		"https://api.openai.com/v1/threads/thread_1/messages":                                                  {Auto, ""},
		"https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent":               {Gemini, "gemini-2.5-pro"},
		"https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse": {Gemini, "gemini-2.5-pro"},
		"/v1/projects/p/locations/l/publishers/google/models/gemini-3-pro:streamRaw?alt=sse":                   {Auto, "gemini-3-pro"},
		"/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse":                                       {Bedrock, "us.anthropic.claude-sonnet-4-5-20250929-v1:0"},
		"/model/amazon.nova-pro-v1:0/converse-stream":                                                          {Bedrock, "amazon.nova-pro-v1:0"},
		"/v1beta/models/gemini-2.5-pro%3AgenerateContent":                                                      {Gemini, "gemini-2.5-pro"},
		"/v1/publishers/anthropic/models/claude-opus-4-6@20260101%3arawPredict":                                {Anthropic, "claude-opus-4-6@20260101"},
		"/models/%zz:x": {Auto, "%zz"},
		"":              {Auto, ""},
	} {
		if d, model := ParseURL(address); d != want.d || model != want.model {
			t.Errorf("%s: %s, %q", address, d, model)
		}
	}
}

func TestUnwrap(t *testing.T) {
	for _, c := range []struct {
		raw, body, pointer string
		d                  Dialect
		model              string
		request            bool
	}{
		{`{"messages":[]}`, `{"messages":[]}`, "", Auto, "", true},
		{`[{"role":"user"}]`, `[{"role":"user"}]`, "", Auto, "", false},
		{`{"type":"user","messages":[]}`, `{"type":"user","messages":[]}`, "", Auto, "", false},
		{`{"n":1,"url":"/v1beta/models/gemini-3-pro:generateContent","body":{"contents":[]}}`, `{"contents":[]}`, "/body", Gemini, "gemini-3-pro", true},
		{`{"request":{"uri":"/model/x%3A0/converse","body":{"messages":[]}},"body":{}}`, `{"messages":[]}`, "/request/body", Bedrock, "x:0", true},
		{`{"body":{"input":"hi"}}`, `{"input":"hi"}`, "/body", Auto, "", true},
		{`{"body":{"messages":[]}`, `{"body":{"messages":[]}`, "", Auto, "", false},
		{`{"body":{"a":1}}`, `{"body":{"a":1}}`, "", Auto, "", false},
		{`{"custom_id":"a","params":{"max_tokens":9,"messages":[]}}`, `{"max_tokens":9,"messages":[]}`, "/params", Auto, "", true},
		{`{"recordId":"a","modelInput":{"anthropic_version":"x","messages":[]}}`, `{"anthropic_version":"x","messages":[]}`, "/modelInput", Auto, "", true},
		{`{"schemaType":"ModelInvocationLog","input":{"inputBodyJson":{"messages":[]}},"output":{}}`, `{"messages":[]}`, "/input/inputBodyJson", Auto, "", true},
		{`{"input":{"converse":{"messages":[]}}}`, `{"messages":[]}`, "/input/converse", Auto, "", true},
		{`{"generateContentRequest":{"model":"models/m","contents":[]}}`, `{"model":"models/m","contents":[]}`, "/generateContentRequest", Auto, "", true},
		{`{"request_id":"a","request_body":{"messages":[]},"response_body":{}}`, `{"messages":[]}`, "/request_body", Auto, "", true},
		{`{"name":"llm","input":{"messages":[]},"output":{"role":"assistant"}}`, `{"messages":[]}`, "/input", Auto, "", true},
		{`{"model":"gemini-3-pro","input":{"type":"text","text":"q"}}`, `{"model":"gemini-3-pro","input":{"type":"text","text":"q"}}`, "", Auto, "", true},
		{`{"params":{"a":1}}`, `{"params":{"a":1}}`, "", Auto, "", false},
		{`7`, `7`, "", Auto, "", false},
	} {
		e := Unwrap([]byte(c.raw))
		if string(e.Body) != c.body || e.Pointer != c.pointer || e.Dialect != c.d || e.Model != c.model || c.raw[e.At:e.At+len(e.Body)] != c.body {
			t.Errorf("%s: %s at %d, %q, %s, %q", c.raw, e.Body, e.At, e.Pointer, e.Dialect, e.Model)
		}
		if got := IsRequest([]byte(c.raw)); got != c.request {
			t.Errorf("%s: a request: %t", c.raw, got)
		}
	}
}

func TestReply(t *testing.T) {
	for body, want := range map[string]int{
		`{"max_tokens":7,"messages":[]}`: 7, `{"messages":[],"max_completion_tokens":8}`: 8, `{"input":[],"max_output_tokens":9}`: 9, `{"messages":[]}`: 0, `[]`: 0,
		`{"contents":[],"generationConfig":{"maxOutputTokens":5}}`: 5, `{"messages":[],"modelId":"x","inferenceConfig":{"maxTokens":6}}`: 6, `{"messages":[],"max_tokens":"7"}`: 0,
		`{"max_\u0074okens":7,"messages":[]}`: 7,
	} {
		r, err := Parse([]byte(body), Options{})
		if err != nil {
			t.Fatal(body, err)
		}
		if got := r.MaxOutputTokens(); got != want {
			t.Errorf("%s: %d, want %d", body, got, want)
		}
	}
}

// TestBatch finds the requests of a batch, and puts others in their place.
func TestBatch(t *testing.T) {
	for address, want := range map[string]Dialect{
		"https://api.anthropic.com/v1/messages/batches": Anthropic, "/v1/messages/batches/?beta=1": Anthropic, "/v1/messages/batches/x/results": Auto, "/v1/messages": Auto, "/v1/batches": Auto,
		"/v1beta/models/gemini-3-pro:batchGenerateContent": Gemini, "/v1beta/models/gemini-3-pro%3AbatchGenerateContent": Gemini, "": Auto,
	} {
		if d, _ := BatchURL(address); d != want {
			t.Errorf("%s: %v", address, d)
		}
	}
	if _, model := BatchURL("/v1beta/models/gemini-3-pro:batchGenerateContent"); model != "gemini-3-pro" {
		t.Errorf("model %q", model)
	}
	raw := []byte(` {"requests":1,"requests":[{"params":{"a":1},"custom_id":"x","params":{"b" : 2}},{"params":null},[],{"\u0070arams":{}}]} `)
	all, err := Anthropic.batch(raw)
	if err != nil || len(all) != 2 || string(all[0].Body) != `{"b" : 2}` || all[0].Pointer != "/requests/0/params" || all[1].Pointer != "/requests/3/params" {
		t.Fatalf("%v %+v", err, all)
	}
	for _, e := range all {
		if got := e.Holding(raw, e.Body); string(got) != string(raw) {
			t.Errorf("%s", got)
		}
	}
	if got := string(all[1].Holding(raw, []byte("[]"))); !strings.HasSuffix(got, `{"\u0070arams":[]}]} `) {
		t.Error(got)
	}
	for _, text := range []string{"", " ", "{", "[]", "7", `{"requests":[]} x`, `{"requests":[{"params":{}}`} {
		for _, d := range Dialects() {
			if all, err := d.batch([]byte(text)); len(all) > 0 {
				t.Errorf("%s: %q: %v %v", d, text, all, err)
			}
		}
		if e, ok := UnwrapInvokeModel([]byte(text)); ok {
			t.Errorf("%q: %v", text, e)
		}
		if d := DetectInvokeModel([]byte(text)); d != Auto {
			t.Errorf("%q: %v", text, d)
		}
	}
	packed := []byte(`{"input":{"invokeModel":{"body":"eyJhbnRocm9waWNfdmVyc2lvbiI6ImIifQ\u003d="}}}`)
	e, ok := UnwrapInvokeModel(packed)
	if !ok || e.Dialect != Anthropic || string(e.Body) != `{"anthropic_version":"b"}` || string(e.Holding(packed, []byte("{}"))) != `{"input":{"invokeModel":{"body":"e30="}}}` {
		t.Errorf("%v %+v", ok, e)
	}
}
