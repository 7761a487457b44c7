package hosts

import (
	"strings"
)

// Envelopes of agents-api: a message is a text, a call or a result; several may be joined in one.
var agentsAPI = shape{
	name: "agents-api", doc: "message envelopes of agents-api", lists: []string{"messages"}, inner: itself, nameless: true,
	proof: member("schema", "agents-api.message"),
	role: func(_, m object) role {
		switch m.text("type") {
		case "tool_result":
			return user
		case "tool_call":
			return assistant
		case "delta":
			return aside
		case "multimodal_part", "":
		default:
			if agentsRow(m.text("type")) == nil {
				return nobody
			}
		}
		if m.text("role") == "tool" {
			return user
		}
		return plainRole(m.text("role"))
	},
	whole: func(m object) *part {
		if m.text("type") == "multimodal_part" || first(m.bytes("content")) == '[' {
			return nil
		}
		return agentsRow(m.text("type"))
	},
	content: func(m object) string {
		if m.get("payload.parts").Len() > 0 {
			return "payload.parts"
		}
		return "content"
	},
	parts: agentsParts,
	stub: func(near object, _ string, c *unit, said []byte) []byte {
		meta := []byte("{}")
		if !strings.HasPrefix(c.id, madeUp) {
			meta = write("tool_call_id", c.id)
		}
		return write("schema", "agents-api.message", "version", []byte("1"), "type", "tool_result", "role", "user", "content", said,
			"payload", write("success", []byte("false"), "tool_name", c.name), "metadata", meta)
	},
	says: func(near object, _ string, who role, said []byte) []byte {
		return write("schema", "agents-api.message", "version", []byte("1"), "type", "text", "role", who.String(), "content", said, "payload", []byte("{}"), "metadata", []byte("{}"))
	},
}

var agentsParts = []part{
	{as: "text", kind: text, say: "content|text"},
	{as: "final_result", kind: text, say: "content"},
	{as: "error", kind: text, say: "content"},
	{as: "input_required", kind: sealed},
	{as: "approval_required", kind: sealed},
	{as: "delta", kind: silent},
	{as: "image_url", kind: media, say: "image_url.url"},
	{as: "image", kind: media, say: "data|url"},
	{as: "file", kind: media, say: "data|url"},
	{as: "tool_call", kind: call, id: "metadata.tool_call_id", name: "payload.tool_name", in: "payload.parameters"},
	{as: "tool_result", kind: result, id: "metadata.tool_call_id", name: "payload.tool_name", out: "content|payload.result|payload.error", failed: func(o object) bool { return string(o.bytes("payload.success")) == "false" }},
}

func agentsRow(kind string) *part {
	for i := range agentsParts {
		if agentsParts[i].as == kind {
			return &agentsParts[i]
		}
	}
	return nil
}

// Items of the OpenAI Agents SDK: calls and results are elements of their own.
var openAIAgents = shape{
	name: "openai-agents", doc: "items of the OpenAI Agents SDK", lists: []string{"input", "history"}, inner: itself, content: under("content"),
	proof: func(o object) bool {
		return (o.text("type") == "function_call" || o.text("type") == "function_call_result") && o.get("callId").Len() > 0
	},
	role: func(_, m object) role {
		switch kind := m.text("type"); kind {
		case "", "message":
			return plainRole(m.text("role"))
		case "function_call_result", "computer_call_result", "shell_call_output", "apply_patch_call_output", "tool_search_output":
			return user
		case "function_call", "reasoning", "hosted_tool_call", "computer_call", "shell_call", "apply_patch_call", "tool_search_call", "compaction", "unknown":
			return assistant
		}
		return nobody
	},
	whole: func(m object) *part {
		switch m.text("type") {
		case "", "message":
			return nil
		case "function_call":
			return &agentsCall
		case "function_call_result":
			return &agentsResult
		}
		return &wholeSealed
	},
	parts: []part{
		{as: "input_text", kind: text, say: "text"},
		{as: "output_text", kind: text, say: "text"},
		{as: "refusal", kind: text, say: "refusal"},
		{as: "input_image", kind: media, say: "image"},
		{as: "input_file", kind: media, say: "file"},
		{as: "image", kind: media, say: "image"},
		{as: "audio", kind: media, say: "audio"},
	},
	stub: func(near object, _ string, c *unit, said []byte) []byte {
		return write("type", "function_call_result", "name", c.name, "callId", c.id, "status", "completed", "output", write("type", "text", "text", said))
	},
	says: func(near object, _ string, who role, said []byte) []byte {
		if who == assistant {
			return write("type", "message", "role", "assistant", "status", "completed", "content", array(write("type", "output_text", "text", said)))
		}
		return write("type", "message", "role", "user", "content", said)
	},
}

var (
	agentsCall   = part{kind: call, id: "callId", name: "name", in: "arguments"}
	agentsResult = part{kind: result, id: "callId", name: "name", out: "output"}
)
