package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	refusedResult = "messages.6.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_01. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
	refusedCall   = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_abc"
)

func TestForeignInputsGetAdvice(t *testing.T) {
	for _, c := range []struct{ name, input, says, next string }{
		{"anthropic reply", `{"id":"msg_01","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn"}`, "this is a reply of Anthropic", "append its role and content to the messages that you sent"},
		{"reply with a call", `{"type":"message","role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}],"usage":{}}`, "this is a reply of Anthropic", "append"},
		{"chat reply", `{"object":"chat.completion","choices":[{"message":{"role":"assistant","content":"Hi"}}]}`, "this is a reply of a Chat", "choices[0].message"},
		{"chat chunk", `{"object":"chat.completion.chunk","choices":[]}`, "this is a reply in pieces", "the whole message"},
		{"responses reply", `{"object":"response","output":[{"type":"message","role":"assistant","content":[]}]}`, "this is a reply of OpenAI's Responses", "its output to the input"},
		{"gemini reply", `{"candidates":[{"content":{"parts":[{"text":"Hi"}],"role":"model"}}]}`, "this is a reply of Gemini", "candidates[0].content to the contents"},
		{"gemini stream", `[{"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]},{"usageMetadata":{}}]`, "this is a reply of Gemini", "candidates[0]"},
		{"bedrock reply", `{"output":{"message":{"role":"assistant","content":[{"text":"Hi"}]}},"stopReason":"end_turn"}`, "this is a reply of Bedrock", "output.message"},
		{"results of a batch", `{"custom_id":"1","result":{"type":"succeeded"}}`, "the results of a batch", "file of requests"},
		{"a count", `{"input_tokens":2095}`, "the answer to a count of tokens", "what was sent"},

		{"anthropic error", `{"type":"error","error":{"type":"invalid_request_error","message":"` + refusedResult + `"}}`, "a provider's error, not a request: orphan-result in messages.6.content.1", "pare explain orphan-result"},
		{"chat error", `{"error":{"message":"` + refusedCall + `","param":"messages.[3].role"}}`, "a provider's error, not a request: orphan-call in messages.3", "pare doctor"},
		{"bedrock error", `{"message":"The number of toolResult blocks at messages.2.content exceeds the number of toolUse blocks of previous turn."}`, "orphan-result in messages.2.content", "pare fix"},
		{"too long", `{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, "a provider's error, not a request: overflow", "pare trim --max-tokens 200000"},
		{"gateway's error", `{"detail":"litellm.BadRequestError: ` + refusedCall + `"}`, "orphan-call", "pare explain orphan-call"},
		{"error in a list", `[{"error":{"code":400,"message":"Please ensure that function call turn comes immediately after a user turn or after a function response turn."}}]`, "a provider's error", "pare explain"},
		{"a bad key", `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, "the key is missing or wrong; the history is not the cause", "check the key"},
		{"another error", `{"error":{"message":"Something went wrong"}}`, "a provider's error", "the request that was refused"},
		{"error with its request", `{"error":{"message":"x"},"sent":{"messages":[{"role":"user","content":"hi"}]}}`, "not a request", "jq -c '.sent'"},

		{"HAR", `{"log":{"version":"1.2","entries":[]}}`, "this is a HAR file", "jq -c '.log.entries[].request.postData.text | fromjson?' input | pare check"},
		{"curl -i", "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n\r\n{}", "an HTTP reply with its headers, as curl -i prints it", "what was sent"},
		{"curl -i of HTTP/2", "HTTP/2 400 \r\n\r\n{\"error\":{\"message\":\"" + refusedCall + "\"}}", "as curl -i prints it, not a request: orphan-call", "pare explain"},
		{"curl -v", "*   Trying 160.79.104.10:443...\n> POST /v1/messages HTTP/1.1\n", "what curl -v prints", "the body of the request"},
		{"a request with headers", "POST /v1/messages HTTP/1.1\r\nhost: x\r\n\r\n{}", "an HTTP request with its headers", "sed"},
		{"curl command", "curl https://api.openai.com/v1/chat/completions \\\n  -d '{}'", "a curl command", "follows -d"},
		{"HTML", "<html>\r\n<head><title>502 Bad Gateway</title></head>", "an HTML page, not JSON: 502 Bad Gateway", "a gateway or a proxy answered"},
		{"HTML with a doctype", "\n<!DOCTYPE HTML>\n<body><h1>Sign in</h1>", "an HTML page, not JSON: Sign in", "gateway"},
		{"XML", `<?xml version="1.0"?><Error/>`, "XML", "body of the request"},
		{"SSE", "event: message_start\ndata: {\"type\":\"message_start\"}\n\n", "an event stream", "append the whole message"},
		{"SSE without names", "data: {\"choices\":[]}\n\ndata: [DONE]\n", "an event stream", "append"},
		{"SSE after a comment", ": OPENROUTER PROCESSING\n\ndata: {}\n", "an event stream", "append"},
		{"YAML", "model: gpt-5\nmessages:\n  - role: user\n    content: hi\n", "YAML", "yq -o=json . input | pare check"},
		{"YAML list", "- role: user\n  content: hi\n", "YAML", "yq"},
		{"TOML", "[window]\ntokens = 5000\n", "TOML", "pare rules --check --config input"},
		{"Markdown", "# A talk\n\n**User**: hi\n", "Markdown", "Pare reads conversations"},
		{"text", "Dear Pare, please repair this.", "text, not JSON", "Pare reads conversations"},
		{"a pasted error", "API Error: 400 " + refusedResult, "a provider's error, not a request: orphan-result in messages.6.content.1", "pare explain orphan-result"},
		{"ZIP", "PK\x03\x04\x14\x00", "a ZIP archive", "unzip input"},
		{"Git LFS", "version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS", "git lfs pull"},
		{"Python dict", `{'role': 'user', 'content': 'hi'}`, "a Python dict", "json.dumps"},
		{"Python list", `[{'role': 'user', 'content': None}]`, "a Python dict", "json.dumps"},
		{"Python None", `{"messages": [{"role": "user", "content": None}]}`, "a Python dict", "json.dumps"},
		{"Python True", `{"stream": True, "messages": []}`, "a Python dict", "json.dumps"},
		{"Python objects", `[HumanMessage(content='hi'), AIMessage(content='ho')]`, "the repr of Python objects", "json.dumps"},
		{"a pydantic object", `ChatCompletionMessage(content='hi', role='assistant')`, "the repr of Python objects", "model_dump"},
		{"comment", "{\n // the model\n \"messages\": []}", "JSON with comments", "delete the comments"},
		{"comment at the end", `{"messages": [] /* none */}`, "JSON with comments", "delete"},
		{"comment in front", "# saved by hand\n{\"messages\": []}", "JSON with comments", "delete"},
		{"trailing comma", `{"messages": [{"role":"user","content":"hi"},]}`, "JSON5 or JavaScript", "delete that comma"},
		{"bare keys", `{messages: [{role: "user"}]}`, "JSON5 or JavaScript", "JSON.stringify"},
		{"undefined", `{"messages": undefined}`, "JavaScript, not JSON", "JSON.stringify"},
		{"one message", `{"role":"user","content":"hi"}`, "a single message", "jq -s . input | pare check"},
		{"one content", `{"role":"user","parts":[{"text":"hi"}]}`, "a single message", "jq -s"},
		{"messages on lines", "{\"role\":\"user\",\"content\":\"hi\"}\n{\"role\":\"assistant\",\"content\":\"ho\"}\n", "a single message", "where each line is a message"},
		{"one block", `{"type":"tool_result","tool_use_id":"t","content":"x"}`, "a single block", "whole list"},
		{"encoded twice", `"{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}"`, "JSON that was encoded twice", "jq -r . input | pare check"},
		{"a list encoded twice", `"[{\"role\":\"user\"}]"`, "encoded twice", "jq -r"},
		{"a long one encoded twice", `"{\"messages\":[` + strings.Repeat(" ", 3<<20) + `]}"`, "encoded twice", "jq -r"},
		{"package.json", `{"name":"x","version":"1.0.0","scripts":{"test":"x"}}`, "a package.json, not a conversation", "Pare reads conversations"},
		{"lock file", `{"name":"x","lockfileVersion":3,"packages":{}}`, "a lock file of npm", ""},
		{"tsconfig", `{"compilerOptions":{}}`, "a tsconfig.json", ""},
		{"source map", `{"version":3,"sources":["a.ts"],"mappings":"AAAA"}`, "a source map", ""},
		{"notebook", `{"cells":[],"nbformat":4}`, "a Jupyter notebook", ""},
		{"OpenAPI", `{"openapi":"3.1.0","paths":{}}`, "an OpenAPI description", ""},
		{"ChatGPT", `[{"title":"t","mapping":{"a":{"id":"a","message":null}},"current_node":"a"}]`, "an export of ChatGPT", "not what was sent"},
		{"one of ChatGPT", `{"title":"t","create_time":1,"mapping":{}}`, "an export of ChatGPT", ""},
		{"claude.ai", `[{"uuid":"u","name":"n","chat_messages":[{"text":"hi","sender":"human"}]}]`, "an export of claude.ai", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, input := range []string{c.input, "\n  " + c.input} {
				said := mistakenSaid(t, input)
				what, next, _ := strings.Cut(said, "\n")
				if !strings.Contains(what, c.says) {
					t.Errorf("says %s, want %s", what, c.says)
				}
				if !strings.Contains(next, c.next) || strings.TrimSpace(next) == "" {
					t.Errorf("the next step is %s, want %s", next, c.next)
				}
				if strings.HasPrefix(c.input, "PK") || strings.HasPrefix(c.input, "version https") {
					break // these formats start without white space
				}
			}
		})
	}
}

func mistakenSaid(t *testing.T, content string) string {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("input", []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, notes bytes.Buffer
	env := &environment{args: []string{"check", "input"}, stdin: strings.NewReader(""), stdout: &out, stderr: &notes, getenv: func(string) string { return "" }}
	if status := run(env); status != statusInvalid {
		t.Errorf("status %d", status)
	}
	if out.Len() > 0 {
		t.Errorf("standard output has %s", out.Bytes())
	}
	return notes.String()
}

// TestAdvisedCommandsWork runs the commands that hints name, if the machine has them.
func TestAdvisedCommandsWork(t *testing.T) {
	for name, input := range map[string]string{
		"HAR":           `{"log":{"entries":[{"request":{"postData":{"text":"{\n\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}"}}},{"request":{"url":"x"}}]}}`,
		"encoded twice": `"{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}"`,
		"one message":   `{"role":"user","content":"hi"}`,
		"headers":       "POST /v1/messages HTTP/1.1\r\nhost: x\r\n\r\n{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}",
	} {
		t.Run(name, func(t *testing.T) {
			said := mistakenSaid(t, input)
			_, way, ok := strings.Cut(said, ": ")
			for ok && !strings.HasPrefix(way, "jq ") && !strings.HasPrefix(way, "sed ") {
				_, way, ok = strings.Cut(way, ": ")
			}
			if !ok {
				t.Fatalf("no command in %s", said)
			}
			runShell(t, way)
		})
	}
}

func TestDeniedFileNamesItsOwner(t *testing.T) {
	if os.Geteuid() == 0 {
		said := ownerHint("/etc/passwd/x")
		if !strings.HasPrefix(said, "/etc/passwd belongs to root (") {
			t.Errorf("says %s", said)
		}
		return // root may read every file
	}
	path := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(path, []byte("{}"), 0); err != nil {
		t.Fatal(err)
	}
	var notes bytes.Buffer
	env := &environment{args: []string{"check", path}, stdout: &notes, stderr: &notes, getenv: func(string) string { return "" }}
	if status := run(env); status != statusInvalid || !strings.Contains(notes.String(), " belongs to ") {
		t.Errorf("status %d, says %s", status, notes.String())
	}
}

func runShell(t *testing.T, command string) {
	t.Helper()
	tool, _, _ := strings.Cut(command, " ")
	if _, err := exec.LookPath(tool); err != nil {
		t.Skipf("%s is not on this machine", tool)
	}
	cmd := exec.Command("sh", "-c", command)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(programPath(t))+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", command, err, out)
	}
}
