package paretest

import (
	"net/http"

	"github.com/pare-llm/pare/internal/jsontree"
	"github.com/pare-llm/pare/wire"
)

var responsesAPI = api{
	dialect:   "openai-responses",
	remembers: []string{"previous_response_id", "conversation", "prompt"},
	callID:    "call_",
	counted:   "input_tokens",
	knows:     chatAPI.knows,

	whole:      func(a *answer) *jsontree.Node { return a.response("completed", a.responseItems("completed", true)) },
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
func (a *answer) response(status string, output *jsontree.Node) *jsontree.Node {
	usage := jsontree.Literal("null")
	if status == "completed" {
		usage = jsontree.Object("input_tokens", figure(a.input), "input_tokens_details", jsontree.Object("cached_tokens", figure(0)),
			"output_tokens", figure(a.output), "output_tokens_details", jsontree.Object("reasoning_tokens", figure(0)), "total_tokens", figure(a.input+a.output))
	}
	null := jsontree.Literal("null")
	return jsontree.Object("id", jsontree.Text("resp_"+a.id(40, 0)), "object", jsontree.Text("response"), "created_at", figure(longAgo), "status", jsontree.Text(status), "error", null,
		"incomplete_details", null, "instructions", null, "max_output_tokens", null, "model", jsontree.Text(a.model), "output", output,
		"parallel_tool_calls", jsontree.Literal("true"), "previous_response_id", orNull(a.tree.String("previous_response_id")), "reasoning", jsontree.Object("effort", null, "summary", null),
		"store", jsontree.Literal("false"), "temperature", figure(1), "text", jsontree.Object("format", typed("text")), "tool_choice", jsontree.Text("auto"), "tools", jsontree.List(),
		"top_p", figure(1), "truncation", jsontree.Text("disabled"), "usage", usage, "user", null, "metadata", jsontree.Object())
}

// responseItems are the items of the answer, with what they say or without.
func (a *answer) responseItems(status string, said bool) *jsontree.Node {
	all := jsontree.List()
	if a.Text != "" {
		content := jsontree.List()
		if said {
			content.Items = append(content.Items, outputText(a.Text))
		}
		all.Items = append(all.Items, typed("message", "id", jsontree.Text("msg_"+a.id(40, 128)), "status", jsontree.Text(status), "role", jsontree.Text("assistant"), "content", content))
	}
	for i, c := range a.Calls {
		arguments := ""
		if said {
			arguments = c.Arguments
		}
		all.Items = append(all.Items, typed("function_call", "id", jsontree.Text("fc_"+a.id(40, byte(129+i))), "status", jsontree.Text(status), "arguments", jsontree.Text(arguments), "call_id", jsontree.Text(c.ID), "name", jsontree.Text(c.Tool)))
	}
	return all
}

func outputText(s string) *jsontree.Node {
	return typed("output_text", "text", jsontree.Text(s), "annotations", jsontree.List(), "logprobs", jsontree.List())
}

// responseEvents streams the answer.
func (a *answer) responseEvents() {
	out := newEvents(a.w, "text/event-stream; charset=utf-8")
	sequence := 0
	send := func(kind string, members ...any) {
		out.send(kind, typed(kind, append([]any{"sequence_number", figure(sequence)}, members...)...))
		sequence++
	}
	send("response.created", "response", a.response("in_progress", jsontree.List()))
	send("response.in_progress", "response", a.response("in_progress", jsontree.List()))
	begun, done := a.responseItems("in_progress", false).Items, a.responseItems("completed", true).Items
	for i := range begun {
		at := figure(i)
		id := begun[i].Get("id")
		send("response.output_item.added", "output_index", at, "item", begun[i])
		if i == 0 && a.Text != "" {
			zero := figure(0)
			send("response.content_part.added", "item_id", id, "output_index", at, "content_index", zero, "part", outputText(""))
			for _, p := range a.pieces() {
				send("response.output_text.delta", "item_id", id, "output_index", at, "content_index", zero, "delta", jsontree.Text(p), "logprobs", jsontree.List())
			}
			send("response.output_text.done", "item_id", id, "output_index", at, "content_index", zero, "text", jsontree.Text(a.Text), "logprobs", jsontree.List())
			send("response.content_part.done", "item_id", id, "output_index", at, "content_index", zero, "part", outputText(a.Text))
		} else {
			arguments := done[i].String("arguments")
			for _, p := range halves(arguments) {
				send("response.function_call_arguments.delta", "item_id", id, "output_index", at, "delta", jsontree.Text(p))
			}
			send("response.function_call_arguments.done", "item_id", id, "output_index", at, "name", done[i].Get("name"), "arguments", jsontree.Text(arguments))
		}
		send("response.output_item.done", "output_index", at, "item", done[i])
	}
	send("response.completed", "response", a.response("completed", jsontree.List(done...)))
}
