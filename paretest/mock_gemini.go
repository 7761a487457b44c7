package paretest

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/pare-llm/pare/internal/jsontree"
	"github.com/pare-llm/pare/wire"
)

var geminiAPI = api{
	dialect: "gemini",
	callID:  "",
	counted: "totalTokens",
	knows:   []string{"gemini-3.8-flash", "gemini-3.8-pro", "gemini-2.5-flash"},

	whole:      (*answer).geminiAnswer,
	stream:     (*answer).geminiChunks,
	shape:      geminiError,
	aModel:     geminiModel,
	listModels: func(ids []string) *jsontree.Node { return jsontree.Object("models", each(ids, geminiModel)) },

	badJSON:   refusal{message: "Invalid JSON payload received. Unexpected token."},
	noModel:   refusal{message: "* GenerateContentRequest.model: unexpected model name format"},
	noHistory: refusal{message: "* GenerateContentRequest.contents: contents is not specified"},
	noKey: refusal{status: http.StatusForbidden, message: "Method doesn't allow unregistered callers (callers without established identity). " +
		"Please use API Key or other form of API consumer identity to call this API."},
	notFound: refusal{status: http.StatusNotFound, message: "Requested entity was not found."},
	overflow: func(_ wire.Profile, n, most int) refusal {
		return refusal{message: fmt.Sprintf("The input token count (%d) exceeds the maximum number of tokens allowed (%d).", n, most)}
	},
}

func geminiError(_ *visit, f refusal) *jsontree.Node {
	return jsontree.Object("error", jsontree.Object("code", figure(f.status), "message", jsontree.Text(f.message), "status", jsontree.Text(googleStatus(f.status))))
}

// googleStatus is the name of a status.
func googleStatus(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusForbidden:
		return "PERMISSION_DENIED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	case http.StatusServiceUnavailable:
		return "UNAVAILABLE"
	}
	if status >= 500 {
		return "INTERNAL"
	}
	return "INVALID_ARGUMENT"
}

func geminiModel(id string) *jsontree.Node {
	id = strings.TrimPrefix(id, "models/")
	return jsontree.Object("name", jsontree.Text("models/"+id), "version", jsontree.Text("001"), "displayName", jsontree.Text(id), "inputTokenLimit", figure(1<<20), "outputTokenLimit", figure(1<<16),
		"supportedGenerationMethods", jsontree.List(jsontree.Text("generateContent"), jsontree.Text("countTokens")))
}

// geminiFrame is an answer, or a chunk of one, around its parts. The last one says why it
// ends, and what it used.
func (a *answer) geminiFrame(last bool, parts ...*jsontree.Node) *jsontree.Node {
	candidate := jsontree.Object("content", jsontree.Object("parts", jsontree.List(parts...), "role", jsontree.Text("model")), "index", figure(0))
	output := 0
	if last {
		candidate.Add("finishReason", jsontree.Text("STOP"))
		output = a.output
	}
	return jsontree.Object("candidates", jsontree.List(candidate), "usageMetadata", jsontree.Object("promptTokenCount", figure(a.input), "candidatesTokenCount", figure(output), "totalTokenCount", figure(a.input+output)),
		"modelVersion", jsontree.Text(a.model), "responseId", jsontree.Text(a.id(22, 0)))
}

func (a *answer) geminiCalls() []*jsontree.Node {
	var all []*jsontree.Node
	for i, c := range a.Calls {
		part := jsontree.Object("functionCall", jsontree.Object("id", jsontree.Text(c.ID), "name", jsontree.Text(c.Tool), "args", c.input()))
		if i == 0 { // the newer models sign the first call of a step
			part.Add("thoughtSignature", jsontree.Text(signature(a.id(22, 200), 32)))
		}
		all = append(all, part)
	}
	return all
}

func (a *answer) geminiAnswer() *jsontree.Node {
	var parts []*jsontree.Node
	if a.Text != "" {
		parts = append(parts, jsontree.Object("text", jsontree.Text(a.Text)))
	}
	return a.geminiFrame(true, append(parts, a.geminiCalls()...)...)
}

// geminiChunks streams the answer: as events if they are asked for, else as an array.
func (a *answer) geminiChunks() {
	var out events
	array := &arrayEvents{}
	if a.r.URL.Query().Get("alt") == "sse" {
		out = newEvents(a.w, "text/event-stream")
	} else {
		array.flow = begin(a.w, "application/json; charset=UTF-8")
		out = array
	}
	var all []*jsontree.Node
	if a.Text != "" {
		for _, p := range a.pieces() {
			all = append(all, jsontree.Object("text", jsontree.Text(p)))
		}
	}
	all = append(all, a.geminiCalls()...)
	for i, part := range all {
		out.send("", a.geminiFrame(i == len(all)-1, part))
	}
	if len(all) == 0 {
		out.send("", a.geminiFrame(true))
	}
	if array.open {
		array.put([]byte("]\n"))
	}
}

var interactionsAPI = api{
	dialect:   "gemini-interactions",
	remembers: []string{"previous_interaction_id"},
	callID:    "",
	counted:   "totalTokens",
	knows:     geminiAPI.knows,

	whole:      func(a *answer) *jsontree.Node { return a.interaction("completed", a.steps()...) },
	stream:     (*answer).interactionEvents,
	shape:      interactionError,
	aModel:     geminiModel,
	listModels: geminiAPI.listModels,

	badJSON:   geminiAPI.badJSON,
	noModel:   refusal{message: "Either 'model' or 'agent' must be specified."},
	noHistory: refusal{message: "The 'input' field is required."},
	noKey:     geminiAPI.noKey,
	notFound:  geminiAPI.notFound,
	overflow:  geminiAPI.overflow,
}

func interactionError(_ *visit, f refusal) *jsontree.Node {
	code := "invalid_request"
	switch {
	case f.status == http.StatusForbidden || f.status == http.StatusUnauthorized:
		code = "permission_denied"
	case f.status == http.StatusNotFound:
		code = "not_found"
	case f.status == http.StatusTooManyRequests:
		code = "rate_limited"
	case f.status >= 500:
		code = "internal"
	}
	return jsontree.Object("error", jsontree.Object("message", jsontree.Text(f.message), "code", jsontree.Text(code)))
}

const longAgoISO = "2025-06-15T15:06:40Z"

// interaction is the answer around its steps.
func (a *answer) interaction(status string, steps ...*jsontree.Node) *jsontree.Node {
	n := jsontree.Object("id", jsontree.Text("v1_"+a.id(40, 0)), "object", jsontree.Text("interaction"), "created", jsontree.Text(longAgoISO), "updated", jsontree.Text(longAgoISO), "status", jsontree.Text(status), "model", jsontree.Text(a.model), "role", jsontree.Text("model"))
	if status == "in_progress" {
		return n
	}
	if len(a.Calls) > 0 {
		n.Items[4] = jsontree.Text("requires_action")
	}
	n.Add("steps", jsontree.List(steps...))
	n.Add("usage", jsontree.Object("total_input_tokens", figure(a.input), "total_output_tokens", figure(a.output), "total_tokens", figure(a.input+a.output)))
	return n
}

// steps are what the model does.
func (a *answer) steps() []*jsontree.Node {
	var all []*jsontree.Node
	if a.Text != "" {
		all = append(all, typed("model_output", "content", jsontree.List(typed("text", "text", jsontree.Text(a.Text)))))
	}
	for _, c := range a.Calls {
		all = append(all, typed("function_call", "id", jsontree.Text(c.ID), "name", jsontree.Text(c.Tool), "arguments", c.input()))
	}
	return all
}

// interactionEvents streams the answer.
func (a *answer) interactionEvents() {
	out := newEvents(a.w, "text/event-stream")
	send := func(kind string, members ...any) {
		out.send(kind, jsontree.Object(append([]any{"event_type", jsontree.Text(kind)}, members...)...))
	}
	send("interaction.created", "interaction", a.interaction("in_progress"))
	at := 0
	step := func(start *jsontree.Node, deltas ...*jsontree.Node) {
		send("step.start", "index", figure(at), "step", start)
		for _, d := range deltas {
			send("step.delta", "index", figure(at), "delta", d)
		}
		send("step.stop", "index", figure(at))
		at++
	}
	if a.Text != "" {
		var deltas []*jsontree.Node
		for _, p := range a.pieces() {
			deltas = append(deltas, typed("text", "text", jsontree.Text(p)))
		}
		step(typed("model_output"), deltas...)
	}
	for _, c := range a.Calls {
		var deltas []*jsontree.Node
		for _, p := range halves(c.Arguments) {
			deltas = append(deltas, typed("arguments_delta", "arguments", jsontree.Text(p)))
		}
		step(typed("function_call", "id", jsontree.Text(c.ID), "name", jsontree.Text(c.Tool), "arguments", jsontree.Object()), deltas...)
	}
	send("interaction.completed", "interaction", a.interaction("completed", a.steps()...))
	out.end("event: done\ndata: [DONE]")
}
