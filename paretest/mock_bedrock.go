package paretest

import (
	"fmt"
	"net/http"

	"github.com/pare-llm/pare/wire"
)

const eventStream = "application/vnd.amazon.eventstream"

// converseAPI is the Converse API of AWS.
var converseAPI = api{
	dialect:  "bedrock",
	thinking: "additionalModelRequestFields.thinking.type",
	callID:   "tooluse_",
	counted:  "inputTokens",
	knows:    []string{"us.anthropic.claude-opus-4-6-v1:0", "amazon.nova-pro-v1:0"},

	whole: func(a *answer) *node {
		content := list()
		if a.Thinking != "" {
			content.items = append(content.items, object("reasoningContent", object("reasoningText", object("text", text(a.Thinking), "signature", text(a.signed())))))
		}
		if a.Text != "" {
			content.items = append(content.items, object("text", text(a.Text)))
		}
		for _, c := range a.Calls {
			content.items = append(content.items, object("toolUse", object("toolUseId", text(c.ID), "name", text(c.Tool), "input", c.input())))
		}
		return object("metrics", object("latencyMs", figure(1)), "output", object("message", object("content", content, "role", text("assistant"))),
			"stopReason", text(a.anthropicStop()), "usage", a.bedrockUsage())
	},
	stream: func(a *answer) { a.converseEvents(&frameEvents{begin(a.w, eventStream)}) },
	shape:  awsMessage,
	aModel: func(id string) *node { return object("modelId", text(id)) },
	listModels: func(ids []string) *node {
		return object("modelSummaries", each(ids, func(id string) *node { return object("modelId", text(id)) }))
	},

	badJSON:   refusal{message: "Malformed input request, please reformat your input and try again."},
	noModel:   refusal{message: "The provided model identifier is invalid."},
	noHistory: refusal{message: "1 validation error detected: Value null at 'messages' failed to satisfy constraint: Member must not be null"},
	noKey:     refusal{status: http.StatusForbidden, message: "Missing Authentication Token"},
	notFound:  refusal{status: http.StatusNotFound, message: "UnknownOperationException"},
	overflow: func(p wire.Profile, n, most int) refusal {
		if p.Family == "claude" {
			return refusal{message: fmt.Sprintf("The model returned the following errors: prompt is too long: %d tokens > %d maximum", n, most)}
		}
		return refusal{message: "Input is too long for requested model."}
	},
}

// invokeAPI is the way to a model's own API through AWS; here that of Claude.
var invokeAPI = api{
	dialect:  "anthropic",
	within:   "/invoke",
	thinking: "thinking.type",
	callID:   "toolu_bdrk_01",
	counted:  "inputTokens",
	knows:    converseAPI.knows,

	whole:      anthropicMessage,
	stream:     func(a *answer) { a.anthropicEvents(&chunkEvents{frameEvents{begin(a.w, eventStream)}}) },
	shape:      awsMessage,
	aModel:     converseAPI.aModel,
	listModels: converseAPI.listModels,

	badJSON:   converseAPI.badJSON,
	noModel:   converseAPI.noModel,
	noHistory: anthropicAPI.noHistory,
	noKey:     converseAPI.noKey,
	notFound:  converseAPI.notFound,
	overflow: func(_ wire.Profile, n, most int) refusal {
		return anthropicAPI.overflow(wire.Profile{}, n, most)
	},
}

func awsMessage(_ *visit, f refusal) *node { return object("message", text(f.message)) }

// awsError is the name of an error by its status; it stands in a header.
func awsError(status int) string {
	switch status {
	case http.StatusForbidden, http.StatusUnauthorized:
		return "AccessDeniedException"
	case http.StatusNotFound:
		return "ResourceNotFoundException"
	case http.StatusTooManyRequests:
		return "ThrottlingException"
	case http.StatusServiceUnavailable:
		return "ServiceUnavailableException"
	}
	if status >= 500 {
		return "InternalServerException"
	}
	return "ValidationException"
}

func (a *answer) bedrockUsage() *node {
	return object("inputTokens", figure(a.input), "outputTokens", figure(a.output), "totalTokens", figure(a.input+a.output))
}

// converseEvents streams the answer.
func (a *answer) converseEvents(out events) {
	out.send("messageStart", object("role", text("assistant")))
	block := 0
	part := func(deltas ...*node) {
		for _, d := range deltas {
			out.send("contentBlockDelta", object("contentBlockIndex", figure(block), "delta", d))
		}
		out.send("contentBlockStop", object("contentBlockIndex", figure(block)))
		block++
	}
	if a.Thinking != "" {
		part(object("reasoningContent", object("text", text(a.Thinking))), object("reasoningContent", object("signature", text(a.signed()))))
	}
	if a.Text != "" {
		var deltas []*node
		for _, p := range a.pieces() {
			deltas = append(deltas, object("text", text(p)))
		}
		part(deltas...)
	}
	for _, c := range a.Calls {
		out.send("contentBlockStart", object("contentBlockIndex", figure(block), "start", object("toolUse", object("toolUseId", text(c.ID), "name", text(c.Tool)))))
		var deltas []*node
		for _, p := range halves(c.Arguments) {
			deltas = append(deltas, object("toolUse", object("input", text(p))))
		}
		part(deltas...)
	}
	out.send("messageStop", object("stopReason", text(a.anthropicStop())))
	out.send("metadata", object("metrics", object("latencyMs", figure(1)), "usage", a.bedrockUsage()))
}
