package hosts

import (
	"strings"
)

// agentsAPI describes envelopes of agents-api. A message is a text, a call or a result, or joins
// several of them.
var agentsAPI = shape{
	name: "agents-api", description: "message envelopes of agents-api", listMembers: []string{"messages"}, messageMember: noMember, matchesByName: true,
	identifies: memberEquals("schema", "agents-api.message"),
	roleOf: func(_, m object) role {
		switch m.text("type") {
		case "tool_result":
			return roleUser
		case "tool_call":
			return roleAssistant
		case "delta":
			return roleUnsent
		case "multimodal_part", "":
		default:
			if agentsRow(m.text("type")) == nil {
				return roleUnknown
			}
		}
		if m.text("role") == "tool" {
			return roleUser
		}
		return plainRole(m.text("role"))
	},
	wholePart: func(m object) *partSpec {
		if m.text("type") == "multimodal_part" || firstByte(m.bytes("content")) == '[' {
			return nil
		}
		return agentsRow(m.text("type"))
	},
	contentPath: func(m object) string {
		if m.get("payload.parts").Len() > 0 {
			return "payload.parts"
		}
		return "content"
	},
	parts: agentsParts,
	newResult: func(near object, _ string, c *unit, said []byte) []byte {
		meta := []byte("{}")
		if !strings.HasPrefix(c.id, madeUpPrefix) {
			meta = write("tool_call_id", c.id)
		}
		return write("schema", "agents-api.message", "version", []byte("1"), "type", "tool_result", "role", "user", "content", said,
			"payload", write("success", []byte("false"), "tool_name", c.name), "metadata", meta)
	},
	newMessage: func(near object, _ string, who role, said []byte) []byte {
		return write("schema", "agents-api.message", "version", []byte("1"), "type", "text", "role", who.String(), "content", said, "payload", []byte("{}"), "metadata", []byte("{}"))
	},
}

var agentsParts = []partSpec{
	{typeName: "text", kind: kindText, textPath: "content|text"},
	{typeName: "final_result", kind: kindText, textPath: "content"},
	{typeName: "error", kind: kindText, textPath: "content"},
	{typeName: "input_required", kind: kindOpaque},
	{typeName: "approval_required", kind: kindOpaque},
	{typeName: "delta", kind: kindUnsent},
	{typeName: "image_url", kind: kindMedia, textPath: "image_url.url"},
	{typeName: "image", kind: kindMedia, textPath: "data|url"},
	{typeName: "file", kind: kindMedia, textPath: "data|url"},
	{typeName: "tool_call", kind: kindCall, idPath: "metadata.tool_call_id", namePath: "payload.tool_name", inputPath: "payload.parameters"},
	{typeName: "tool_result", kind: kindResult, idPath: "metadata.tool_call_id", namePath: "payload.tool_name", outputPath: "content|payload.result|payload.error", isFailed: func(o object) bool { return string(o.bytes("payload.success")) == "false" }},
}

func agentsRow(kind string) *partSpec {
	for i := range agentsParts {
		if agentsParts[i].typeName == kind {
			return &agentsParts[i]
		}
	}
	return nil
}

// openAIAgents describes items of the OpenAI Agents SDK. Calls and results are separate elements.
var openAIAgents = shape{
	name: "openai-agents", description: "items of the OpenAI Agents SDK", listMembers: []string{"input", "history"}, messageMember: noMember, contentPath: always("content"),
	identifies: func(o object) bool {
		return (o.text("type") == "function_call" || o.text("type") == "function_call_result") && o.get("callId").Len() > 0
	},
	roleOf: func(_, m object) role {
		switch kind := m.text("type"); kind {
		case "", "message":
			return plainRole(m.text("role"))
		case "function_call_result", "computer_call_result", "shell_call_output", "apply_patch_call_output", "tool_search_output":
			return roleUser
		case "function_call", "reasoning", "hosted_tool_call", "computer_call", "shell_call", "apply_patch_call", "tool_search_call", "compaction", "unknown":
			return roleAssistant
		}
		return roleUnknown
	},
	wholePart: func(m object) *partSpec {
		switch m.text("type") {
		case "", "message":
			return nil
		case "function_call":
			return &agentsCall
		case "function_call_result":
			return &agentsResult
		}
		return &opaqueMessage
	},
	parts: []partSpec{
		{typeName: "input_text", kind: kindText, textPath: "text"},
		{typeName: "output_text", kind: kindText, textPath: "text"},
		{typeName: "refusal", kind: kindText, textPath: "refusal"},
		{typeName: "input_image", kind: kindMedia, textPath: "image"},
		{typeName: "input_file", kind: kindMedia, textPath: "file"},
		{typeName: "image", kind: kindMedia, textPath: "image"},
		{typeName: "audio", kind: kindMedia, textPath: "audio"},
	},
	newResult: func(near object, _ string, c *unit, said []byte) []byte {
		return write("type", "function_call_result", "name", c.name, "callId", c.id, "status", "completed", "output", write("type", "text", "text", said))
	},
	newMessage: func(near object, _ string, who role, said []byte) []byte {
		if who == roleAssistant {
			return write("type", "message", "role", "assistant", "status", "completed", "content", array(write("type", "output_text", "text", said)))
		}
		return write("type", "message", "role", "user", "content", said)
	},
}

var (
	agentsCall   = partSpec{kind: kindCall, idPath: "callId", namePath: "name", inputPath: "arguments"}
	agentsResult = partSpec{kind: kindResult, idPath: "callId", namePath: "name", outputPath: "output"}
)
