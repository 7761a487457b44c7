package paretest

import (
	"fmt"
	"net/http"
	"strings"

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

func openAIModel(id string) *node {
	return object("id", text(id), "object", text("model"), "created", figure(longAgo), "owned_by", text("pare"))
}

func openAIModels(ids []string) *node {
	return object("object", text("list"), "data", each(ids, openAIModel))
}

// openAIError is the body of an error as OpenAI writes it.
func openAIError(_ *visit, f refusal) *node {
	return object("error", object("message", text(f.message), "type", text(openAIErrorType(f.status)), "param", orNull(f.param), "code", orNull(f.code)))
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
func chatError(v *visit, f refusal) *node {
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
		return object("object", text("error"), "message", text(f.message), "type", text(kind), "param", literal("null"), "code", text(code))
	case "template":
		return object("object", text("error"), "message", text(f.message), "type", text("BadRequestError"), "param", literal("null"), "code", figure(f.status))
	case "minimax":
		return object("type", text("error"), "error", object("type", text("bad_request_error"), "message", text(f.message), "http_code", text("400")), "request_id", text(v.requestID()))
	case "cerebras":
		return object("message", text(f.message), "type", text("invalid_request_error"), "param", text("messages"), "code", text("wrong_api_format"))
	case "xai":
		return object("code", text("Client specified an invalid argument"), "error", text(f.message))
	case "deepseek":
		return object("error", object("message", text(f.message), "type", text("invalid_request_error"), "param", literal("null"), "code", text("invalid_request_error")))
	case "moonshot", "groq":
		return object("error", object("message", text(f.message), "type", text("invalid_request_error")))
	case "qwen":
		return object("error", object("message", text(f.message), "type", text("invalid_request_error"), "param", literal("null"), "code", text("invalid_parameter_error")), "request_id", text(v.requestID()))
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
func chatCompletion(a *answer) *node {
	message := object("role", text("assistant"), "content", orNull(a.Text), "refusal", literal("null"))
	if len(a.Calls) > 0 {
		calls := list()
		for _, c := range a.Calls {
			calls.items = append(calls.items, object("id", text(c.ID), "type", text("function"), "function", object("name", text(c.Tool), "arguments", text(c.Arguments))))
		}
		message.add("tool_calls", calls)
	}
	n := a.chatFrame("chat.completion", list(object("index", figure(0), "message", message, "logprobs", literal("null"), "finish_reason", text(a.chatFinish()))))
	n.add("usage", a.chatUsage())
	return n
}

func (a *answer) chatFrame(kind string, choices *node) *node {
	return object("id", text("chatcmpl-"+a.id(24, 0)), "object", text(kind), "created", figure(longAgo), "model", text(a.model), "choices", choices)
}

func (a *answer) chatFinish() string {
	if len(a.Calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

func (a *answer) chatUsage() *node {
	return object("prompt_tokens", figure(a.input), "completion_tokens", figure(a.output), "total_tokens", figure(a.input+a.output))
}

// chatChunks streams the answer.
func (a *answer) chatChunks() {
	out := newEvents(a.w, "text/event-stream; charset=utf-8")
	usage := isTrue(a.tree.at("stream_options.include_usage"))
	chunk := func(choices *node) *node {
		n := a.chatFrame("chat.completion.chunk", choices)
		if usage {
			n.add("usage", literal("null"))
		}
		return n
	}
	delta := func(d, finish *node) {
		out.send("", chunk(list(object("index", figure(0), "delta", d, "logprobs", literal("null"), "finish_reason", finish))))
	}
	null := literal("null")
	delta(object("role", text("assistant"), "content", text("")), null)
	if a.Text != "" {
		for _, p := range a.pieces() {
			delta(object("content", text(p)), null)
		}
	}
	for i, c := range a.Calls {
		call := func(members ...any) {
			delta(object("tool_calls", list(object(append([]any{"index", figure(i)}, members...)...))), null)
		}
		call("id", text(c.ID), "type", text("function"), "function", object("name", text(c.Tool), "arguments", text("")))
		for _, p := range halves(c.Arguments) {
			call("function", object("arguments", text(p)))
		}
	}
	delta(object(), text(a.chatFinish()))
	if usage {
		n := a.chatFrame("chat.completion.chunk", list())
		n.add("usage", a.chatUsage())
		out.send("", n)
	}
	out.end("data: [DONE]")
}
