package paretest

import (
	"fmt"
	"net/http"

	"github.com/pare-llm/pare/internal/jsontree"
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

	whole: func(a *answer) *jsontree.Node {
		content := jsontree.List()
		if a.Thinking != "" {
			content.Items = append(content.Items, jsontree.Object("reasoningContent", jsontree.Object("reasoningText", jsontree.Object("text", jsontree.Text(a.Thinking), "signature", jsontree.Text(a.signed())))))
		}
		if a.Text != "" {
			content.Items = append(content.Items, jsontree.Object("text", jsontree.Text(a.Text)))
		}
		for _, c := range a.Calls {
			content.Items = append(content.Items, jsontree.Object("toolUse", jsontree.Object("toolUseId", jsontree.Text(c.ID), "name", jsontree.Text(c.Tool), "input", c.input())))
		}
		return jsontree.Object("metrics", jsontree.Object("latencyMs", figure(1)), "output", jsontree.Object("message", jsontree.Object("content", content, "role", jsontree.Text("assistant"))),
			"stopReason", jsontree.Text(a.anthropicStop()), "usage", a.bedrockUsage())
	},
	stream: func(a *answer) { a.converseEvents(&frameEvents{begin(a.w, eventStream)}) },
	shape:  awsMessage,
	aModel: func(id string) *jsontree.Node { return jsontree.Object("modelId", jsontree.Text(id)) },
	listModels: func(ids []string) *jsontree.Node {
		return jsontree.Object("modelSummaries", each(ids, func(id string) *jsontree.Node { return jsontree.Object("modelId", jsontree.Text(id)) }))
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
	required: "max_tokens",
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

func awsMessage(_ *visit, f refusal) *jsontree.Node {
	return jsontree.Object("message", jsontree.Text(f.message))
}

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

func (a *answer) bedrockUsage() *jsontree.Node {
	return jsontree.Object("inputTokens", figure(a.input), "outputTokens", figure(a.output), "totalTokens", figure(a.input+a.output))
}

// converseEvents streams the answer.
func (a *answer) converseEvents(out events) {
	out.send("messageStart", jsontree.Object("role", jsontree.Text("assistant")))
	block := 0
	part := func(deltas ...*jsontree.Node) {
		for _, d := range deltas {
			out.send("contentBlockDelta", jsontree.Object("contentBlockIndex", figure(block), "delta", d))
		}
		out.send("contentBlockStop", jsontree.Object("contentBlockIndex", figure(block)))
		block++
	}
	if a.Thinking != "" {
		part(jsontree.Object("reasoningContent", jsontree.Object("text", jsontree.Text(a.Thinking))), jsontree.Object("reasoningContent", jsontree.Object("signature", jsontree.Text(a.signed()))))
	}
	if a.Text != "" {
		var deltas []*jsontree.Node
		for _, p := range a.pieces() {
			deltas = append(deltas, jsontree.Object("text", jsontree.Text(p)))
		}
		part(deltas...)
	}
	for _, c := range a.Calls {
		out.send("contentBlockStart", jsontree.Object("contentBlockIndex", figure(block), "start", jsontree.Object("toolUse", jsontree.Object("toolUseId", jsontree.Text(c.ID), "name", jsontree.Text(c.Tool)))))
		var deltas []*jsontree.Node
		for _, p := range halves(c.Arguments) {
			deltas = append(deltas, jsontree.Object("toolUse", jsontree.Object("input", jsontree.Text(p))))
		}
		part(deltas...)
	}
	out.send("messageStop", jsontree.Object("stopReason", jsontree.Text(a.anthropicStop())))
	out.send("metadata", jsontree.Object("metrics", jsontree.Object("latencyMs", figure(1)), "usage", a.bedrockUsage()))
}
