package paretest

import (
	"net/http"

	"github.com/pare-llm/pare/wire"
)

var responsesAPI = api{
	dialect:   "openai-responses",
	remembers: []string{"previous_response_id", "conversation", "prompt"},
	callID:    "call_",
	counted:   "input_tokens",
	knows:     chatAPI.knows,

	whole:      func(a *answer) *node { return a.response("completed", a.responseItems("completed", true)) },
	stream:     (*answer).responseEvents,
	shape:      openAIError,
	aModel:     openAIModel,
	listModels: openAIModels,

	badJSON:   chatAPI.badJSON,
	noModel:   refusal{message: "Missing required parameter: 'model'.", param: "model", code: "missing_required_parameter"},
	noHistory: refusal{message: "Missing required parameter: 'input'.", param: "input", code: "missing_required_parameter"},
	noKey:     refusal{status: http.StatusUnauthorized, message: openAINoKey},
	notFound:  chatAPI.notFound,
	overflow: func(wire.Profile, int, int) refusal {
		return refusal{message: "Your input exceeds the context window of this model. Please adjust your input and try again.", param: "input", code: "context_length_exceeded"}
	},
}

// response is the answer around what it puts out; nil output is none yet.
func (a *answer) response(status string, output *node) *node {
	usage := literal("null")
	if status == "completed" {
		usage = object("input_tokens", figure(a.input), "input_tokens_details", object("cached_tokens", figure(0)),
			"output_tokens", figure(a.output), "output_tokens_details", object("reasoning_tokens", figure(0)), "total_tokens", figure(a.input+a.output))
	}
	null := literal("null")
	return object("id", text("resp_"+a.id(40, 0)), "object", text("response"), "created_at", figure(longAgo), "status", text(status), "error", null,
		"incomplete_details", null, "instructions", null, "max_output_tokens", null, "model", text(a.model), "output", output,
		"parallel_tool_calls", literal("true"), "previous_response_id", orNull(a.tree.said("previous_response_id")), "reasoning", object("effort", null, "summary", null),
		"store", literal("false"), "temperature", figure(1), "text", object("format", typed("text")), "tool_choice", text("auto"), "tools", list(),
		"top_p", figure(1), "truncation", text("disabled"), "usage", usage, "user", null, "metadata", object())
}

// responseItems are the items of the answer, with what they say or without.
func (a *answer) responseItems(status string, said bool) *node {
	all := list()
	if a.Text != "" {
		content := list()
		if said {
			content.items = append(content.items, outputText(a.Text))
		}
		all.items = append(all.items, typed("message", "id", text("msg_"+a.id(40, 128)), "status", text(status), "role", text("assistant"), "content", content))
	}
	for i, c := range a.Calls {
		arguments := ""
		if said {
			arguments = c.Arguments
		}
		all.items = append(all.items, typed("function_call", "id", text("fc_"+a.id(40, byte(129+i))), "status", text(status), "arguments", text(arguments), "call_id", text(c.ID), "name", text(c.Tool)))
	}
	return all
}

func outputText(s string) *node {
	return typed("output_text", "text", text(s), "annotations", list(), "logprobs", list())
}

// responseEvents streams the answer.
func (a *answer) responseEvents() {
	out := newEvents(a.w, "text/event-stream; charset=utf-8")
	sequence := 0
	send := func(kind string, members ...any) {
		out.send(kind, typed(kind, append([]any{"sequence_number", figure(sequence)}, members...)...))
		sequence++
	}
	send("response.created", "response", a.response("in_progress", list()))
	send("response.in_progress", "response", a.response("in_progress", list()))
	begun, done := a.responseItems("in_progress", false).items, a.responseItems("completed", true).items
	for i := range begun {
		at := figure(i)
		id := begun[i].get("id")
		send("response.output_item.added", "output_index", at, "item", begun[i])
		if i == 0 && a.Text != "" {
			zero := figure(0)
			send("response.content_part.added", "item_id", id, "output_index", at, "content_index", zero, "part", outputText(""))
			for _, p := range a.pieces() {
				send("response.output_text.delta", "item_id", id, "output_index", at, "content_index", zero, "delta", text(p), "logprobs", list())
			}
			send("response.output_text.done", "item_id", id, "output_index", at, "content_index", zero, "text", text(a.Text), "logprobs", list())
			send("response.content_part.done", "item_id", id, "output_index", at, "content_index", zero, "part", outputText(a.Text))
		} else {
			arguments := done[i].said("arguments")
			for _, p := range halves(arguments) {
				send("response.function_call_arguments.delta", "item_id", id, "output_index", at, "delta", text(p))
			}
			send("response.function_call_arguments.done", "item_id", id, "output_index", at, "name", done[i].get("name"), "arguments", text(arguments))
		}
		send("response.output_item.done", "output_index", at, "item", done[i])
	}
	send("response.completed", "response", a.response("completed", list(done...)))
}
