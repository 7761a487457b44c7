package paretest

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/pare-llm/pare/internal/jsontree"
	"github.com/pare-llm/pare/wire"
)

// long ago: when answers were created. A clock would make each answer another one.
const longAgo = 1750000000

var chatAPI = api{
	dialect: "openai-chat",
	callID:  "call_",
	counted: "input_tokens",
	knows:   []string{"gpt-5.5", "gpt-5.5-mini", "gpt-4.1"},

	whole:      chatCompletion,
	stream:     (*answer).chatChunks,
	shape:      chatError,
	aModel:     openAIModel,
	listModels: openAIModels,

	badJSON: refusal{message: "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. " +
		"The OpenAI API expects a JSON payload, but what was sent was not valid JSON. If you have trouble figuring out how to fix this, please contact us through our help center at help.openai.com.)"},
	noModel:   refusal{message: "you must provide a model parameter"},
	noHistory: refusal{message: "Missing required parameter: 'messages'.", param: "messages", code: "missing_required_parameter"},
	noKey:     refusal{status: http.StatusUnauthorized, message: openAINoKey},
	notFound:  refusal{status: http.StatusNotFound, message: "Invalid URL"},
	overflow:  chatOverflow,
}

const openAINoKey = "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY), " +
	"or as the password field (with blank username) if you're accessing the API from your browser and are prompted for a username and password. " +
	"You can obtain an API key from https://platform.openai.com/account/api-keys."

func openAIModel(id string) *jsontree.Node {
	return jsontree.Object("id", jsontree.Text(id), "object", jsontree.Text("model"), "created", figure(longAgo), "owned_by", jsontree.Text("pare"))
}

func openAIModels(ids []string) *jsontree.Node {
	return jsontree.Object("object", jsontree.Text("list"), "data", each(ids, openAIModel))
}

// openAIError is the body of an error as OpenAI writes it.
func openAIError(_ *visit, f refusal) *jsontree.Node {
	return jsontree.Object("error", jsontree.Object("message", jsontree.Text(f.message), "type", jsontree.Text(openAIErrorType(f.status)), "param", orNull(f.param), "code", orNull(f.code)))
}

func openAIErrorType(status int) string {
	switch {
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

// chatError is the body of an error as the vendor writes it.
func chatError(v *visit, f refusal) *jsontree.Node {
	switch f.vendor {
	case "mistral":
		kind, code := "invalid_request_error", "1000"
		switch m := f.message; {
		case strings.Contains(m, "role") || strings.Contains(m, "number of function calls"):
			kind, code = "invalid_request_message_order", "3230"
		case strings.Contains(m, "ool call id") || strings.Contains(m, "Function name"):
			kind, code = "invalid_function_call", "3280"
		case strings.HasPrefix(m, "Prompt contains"):
			kind, code = "invalid_request_prompt", "3051"
		}
		return jsontree.Object("object", jsontree.Text("error"), "message", jsontree.Text(f.message), "type", jsontree.Text(kind), "param", jsontree.Literal("null"), "code", jsontree.Text(code))
	case "template":
		return jsontree.Object("object", jsontree.Text("error"), "message", jsontree.Text(f.message), "type", jsontree.Text("BadRequestError"), "param", jsontree.Literal("null"), "code", figure(f.status))
	case "minimax":
		return jsontree.Object("type", jsontree.Text("error"), "error", jsontree.Object("type", jsontree.Text("bad_request_error"), "message", jsontree.Text(f.message), "http_code", jsontree.Text("400")), "request_id", jsontree.Text(v.requestID()))
	case "cerebras":
		return jsontree.Object("message", jsontree.Text(f.message), "type", jsontree.Text("invalid_request_error"), "param", jsontree.Text("messages"), "code", jsontree.Text("wrong_api_format"))
	case "xai":
		return jsontree.Object("code", jsontree.Text("Client specified an invalid argument"), "error", jsontree.Text(f.message))
	case "deepseek":
		return jsontree.Object("error", jsontree.Object("message", jsontree.Text(f.message), "type", jsontree.Text("invalid_request_error"), "param", jsontree.Literal("null"), "code", jsontree.Text("invalid_request_error")))
	case "moonshot", "groq":
		return jsontree.Object("error", jsontree.Object("message", jsontree.Text(f.message), "type", jsontree.Text("invalid_request_error")))
	case "qwen":
		return jsontree.Object("error", jsontree.Object("message", jsontree.Text(f.message), "type", jsontree.Text("invalid_request_error"), "param", jsontree.Literal("null"), "code", jsontree.Text("invalid_parameter_error")), "request_id", jsontree.Text(v.requestID()))
	}
	return openAIError(v, f)
}

// chatOverflow is what vendors say about a history that is too long.
func chatOverflow(p wire.Profile, n, most int) refusal {
	f := refusal{vendor: p.Name}
	switch p.Name {
	case "mistral":
		f.message = fmt.Sprintf("Prompt contains %d tokens and 0 draft tokens, too large for model with %d maximum context length", n, most)
	case "deepseek", "template":
		f.message = fmt.Sprintf("This model's maximum context length is %d tokens. However, you requested %d tokens (%d in the messages, 0 in the completion). Please reduce the length of the messages or completion.", most, n, n)
	case "moonshot":
		f.message = fmt.Sprintf("Invalid request: Your request exceeded model token limit: %d (requested: %d)", most, n)
	case "groq":
		f.message = "Please reduce the length of the messages or completion."
	case "cerebras":
		f.message = fmt.Sprintf("Please reduce the length of the messages or completion. Current length is %d while limit is %d", n, most)
	case "qwen":
		f.message = fmt.Sprintf("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, %d]", most)
	case "minimax":
		f.message = "invalid params, context window exceeds limit (2013)"
	case "xai":
		f.message = fmt.Sprintf("This model's maximum prompt length is %d but the request contains %d tokens.", most, n)
	default:
		f.message = fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.", most, n)
		f.param, f.code = "messages", "context_length_exceeded"
	}
	return f
}

// chatCompletion is the answer in one piece.
func chatCompletion(a *answer) *jsontree.Node {
	message := jsontree.Object("role", jsontree.Text("assistant"), "content", orNull(a.Text), "refusal", jsontree.Literal("null"))
	if len(a.Calls) > 0 {
		calls := jsontree.List()
		for _, c := range a.Calls {
			calls.Items = append(calls.Items, jsontree.Object("id", jsontree.Text(c.ID), "type", jsontree.Text("function"), "function", jsontree.Object("name", jsontree.Text(c.Tool), "arguments", jsontree.Text(c.Arguments))))
		}
		message.Add("tool_calls", calls)
	}
	n := a.chatFrame("chat.completion", jsontree.List(jsontree.Object("index", figure(0), "message", message, "logprobs", jsontree.Literal("null"), "finish_reason", jsontree.Text(a.chatFinish()))))
	n.Add("usage", a.chatUsage())
	return n
}

func (a *answer) chatFrame(kind string, choices *jsontree.Node) *jsontree.Node {
	return jsontree.Object("id", jsontree.Text("chatcmpl-"+a.id(24, 0)), "object", jsontree.Text(kind), "created", figure(longAgo), "model", jsontree.Text(a.model), "choices", choices)
}

func (a *answer) chatFinish() string {
	if len(a.Calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

func (a *answer) chatUsage() *jsontree.Node {
	return jsontree.Object("prompt_tokens", figure(a.input), "completion_tokens", figure(a.output), "total_tokens", figure(a.input+a.output))
}

// chatChunks streams the answer.
func (a *answer) chatChunks() {
	out := newEvents(a.w, "text/event-stream; charset=utf-8")
	usage := isTrue(a.tree.At("stream_options.include_usage"))
	chunk := func(choices *jsontree.Node) *jsontree.Node {
		n := a.chatFrame("chat.completion.chunk", choices)
		if usage {
			n.Add("usage", jsontree.Literal("null"))
		}
		return n
	}
	delta := func(d, finish *jsontree.Node) {
		out.send("", chunk(jsontree.List(jsontree.Object("index", figure(0), "delta", d, "logprobs", jsontree.Literal("null"), "finish_reason", finish))))
	}
	null := jsontree.Literal("null")
	delta(jsontree.Object("role", jsontree.Text("assistant"), "content", jsontree.Text("")), null)
	if a.Text != "" {
		for _, p := range a.pieces() {
			delta(jsontree.Object("content", jsontree.Text(p)), null)
		}
	}
	for i, c := range a.Calls {
		call := func(members ...any) {
			delta(jsontree.Object("tool_calls", jsontree.List(jsontree.Object(append([]any{"index", figure(i)}, members...)...))), null)
		}
		call("id", jsontree.Text(c.ID), "type", jsontree.Text("function"), "function", jsontree.Object("name", jsontree.Text(c.Tool), "arguments", jsontree.Text("")))
		for _, p := range halves(c.Arguments) {
			call("function", jsontree.Object("arguments", jsontree.Text(p)))
		}
	}
	delta(jsontree.Object(), jsontree.Text(a.chatFinish()))
	if usage {
		n := a.chatFrame("chat.completion.chunk", jsontree.List())
		n.Add("usage", a.chatUsage())
		out.send("", n)
	}
	out.end("data: [DONE]")
}
