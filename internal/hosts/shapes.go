package hosts

import (
	"strings"
)

// shapes lists all shapes. A list has the shape that most of its elements identify.
var shapes = []shape{pi, aiSDK, aiSDKUI, langChain, agentsAPI, openCode, openAIAgents, shareGPT}

// pi is the live list of pi, as its extensions receive it. Source: AgentMessage of its packages,
// 1.5.
var pi = shape{
	name: "pi", strictTurns: true, description: "the live list of pi", listMembers: []string{"messages"}, messageMember: noMember, contentPath: always("content"),
	identifies: func(o object) bool {
		if o.text("role") == "toolResult" && o.get("toolCallId").Len() > 0 || o.text("role") == "assistant" && o.get("stopReason").Len() > 0 && o.get("api").Len() > 0 {
			return true
		}
		return hasPart(o, "content", "toolCall", "arguments")
	},
	roleOf: func(_, m object) role {
		switch m.text("role") {
		case "user", "toolResult", "bashExecution", "custom", "hookMessage", "branchSummary", "compactionSummary":
			if m.is("excludeFromContext") {
				return roleUnsent
			}
			return roleUser
		case "assistant":
			if stop := m.text("stopReason"); stop == "error" || stop == "aborted" {
				return roleUnsent // pi does not send it again
			}
			return roleAssistant
		case "system":
			return roleSystem
		}
		return roleUnknown
	},
	wholePart: func(m object) *partSpec {
		switch m.text("role") {
		case "toolResult":
			return &piResult
		case "bashExecution", "branchSummary", "compactionSummary":
			return &opaqueMessage
		}
		return nil
	},
	parts: []partSpec{
		{typeName: "text", kind: kindText, textPath: "text"},
		{typeName: "thinking", kind: kindReasoning, textPath: "thinking"},
		{typeName: "toolCall", kind: kindCall, idPath: "id", namePath: "name", inputPath: "arguments"},
		{typeName: "image", kind: kindMedia, textPath: "data"},
	},
	newResult: func(near object, _ string, c *unit, said []byte) []byte {
		return write("role", "toolResult", "toolCallId", c.id, "toolName", c.name, "content", array(write("type", "text", "text", said)), "isError", []byte("true"), "timestamp", near.bytes("timestamp"))
	},
	newMessage: func(near object, _ string, who role, said []byte) []byte {
		return write("role", who.String(), "content", array(write("type", "text", "text", said)), "timestamp", near.bytes("timestamp"))
	},
}

var (
	piResult      = partSpec{kind: kindResult, idPath: "toolCallId", namePath: "toolName", outputPath: "content", isFailed: memberIsTrue("isError")}
	opaqueMessage = partSpec{kind: kindOpaque}
)

// aiSDK describes model messages of the AI SDK, 4 to 7, and the prompts of its providers.
var aiSDK = shape{
	name: "ai-sdk", strictTurns: true, description: "model messages of the AI SDK", listMembers: []string{"messages", "prompt"}, messageMember: noMember, approvalType: "tool-approval-request", contentPath: always("content"),
	identifies: func(o object) bool {
		return hasPart(o, "content", "tool-call", "toolCallId") || hasPart(o, "content", "tool-result", "toolCallId") || hasPart(o, "content", "tool-approval-request", "approvalId")
	},
	roleOf: func(_, m object) role {
		switch m.text("role") {
		case "tool", "user":
			return roleUser
		case "assistant":
			return roleAssistant
		case "system":
			return roleSystem
		}
		return roleUnknown
	},
	parts: []partSpec{
		{typeName: "text", kind: kindText, textPath: "text"},
		{typeName: "reasoning", kind: kindReasoning, textPath: "text"},
		{typeName: "redacted-reasoning", kind: kindOpaque},
		{typeName: "reasoning-file", kind: kindOpaque},
		{typeName: "image", kind: kindMedia, textPath: "image"},
		{typeName: "file", kind: kindMedia, textPath: "data"},
		{typeName: "source", kind: kindUnsent},
		{typeName: "custom", kind: kindOpaque},
		{typeName: "tool-call", kind: kindCall, idPath: "toolCallId", namePath: "toolName", inputPath: "input|args", isServerSide: memberIsTrue("providerExecuted")},
		{typeName: "tool-result", kind: kindResult, idPath: "toolCallId", namePath: "toolName", outputPath: "output|result", isFailed: func(o object) bool {
			return strings.HasPrefix(o.text("output.type"), "error") || o.is("isError")
		}},
		{typeName: "tool-approval-request", kind: kindOpaque},
		{typeName: "tool-approval-response", kind: kindOpaque},
	},
	newResult: func(near object, _ string, c *unit, said []byte) []byte {
		return write("role", "tool", "content", array(write("type", "tool-result", "toolCallId", c.id, "toolName", c.name, "output", write("type", "error-text", "value", said))))
	},
	newMessage: func(near object, _ string, who role, said []byte) []byte {
		return write("role", who.String(), "content", array(write("type", "text", "text", said)))
	},
}

// aiSDKUI describes UI messages of the AI SDK, 4 to 7. The part of a tool holds its call and its
// result.
var aiSDKUI = shape{
	name: "ai-sdk-ui", description: "UI messages of the AI SDK", listMembers: []string{"messages"}, messageMember: noMember, contentPath: always("parts"),
	identifies: func(o object) bool {
		if o.get("info").Len() > 0 || o.get("role").Len() == 0 {
			return false
		}
		for _, at := range o.list("parts") {
			if objectAt(o.Raw, at).text("type") != "" {
				return true
			}
		}
		return false
	},
	roleOf: func(_, m object) role { return plainRole(m.text("role")) },
	parts: []partSpec{
		{typeName: "text", kind: kindText, textPath: "text"},
		{typeName: "reasoning", kind: kindReasoning, textPath: "text|reasoning"},
		{typeName: "reasoning-file", kind: kindOpaque},
		{typeName: "file", kind: kindMedia, textPath: "url|data"},
		{typeName: "source", kind: kindUnsent},
		{typeName: "source-url", kind: kindUnsent},
		{typeName: "source-document", kind: kindUnsent},
		{typeName: "step-start", kind: kindStepStart},
		{typeName: "custom", kind: kindOpaque},
		{typeName: "data-*", kind: kindOpaque},
		{typeName: "tool-invocation", kind: kindCallWithResult, idPath: "toolInvocation.toolCallId", namePath: "toolInvocation.toolName", inputPath: "toolInvocation.args", outputPath: "toolInvocation.result", isEnded: memberEquals("toolInvocation.state", "result")},
		{typeName: "tool-*", kind: kindCallWithResult, idPath: "toolCallId", inputPath: "input|rawInput", outputPath: "output|errorText", isEnded: uiEnded, isFailed: uiFailed, isPending: uiPending, isServerSide: memberIsTrue("providerExecuted")},
		{typeName: "dynamic-tool", kind: kindCallWithResult, idPath: "toolCallId", namePath: "toolName", inputPath: "input|rawInput", outputPath: "output|errorText", isEnded: uiEnded, isFailed: uiFailed, isPending: uiPending, isServerSide: memberIsTrue("providerExecuted")},
	},
	endCall: func(part, said []byte) []byte {
		if objectOf(part).get("toolInvocation").Len() > 0 {
			return setPath(setPath(part, "toolInvocation.state", quote("result")), "toolInvocation.result", said)
		}
		part = setPath(setPath(part, "state", quote("output-error")), "errorText", said)
		if objectOf(part).get("input").Len() == 0 {
			part = setPath(part, "input", []byte("{}"))
		}
		return part
	},
	newMessage: func(near object, _ string, who role, said []byte) []byte {
		return write("id", newID(near.text("id"), said), "role", who.String(), "parts", array(write("type", "text", "text", said)))
	},
}

func uiEnded(o object) bool {
	switch o.text("state") {
	case "output-available", "output-error", "output-denied":
		return true
	}
	return false
}

func uiFailed(o object) bool { return o.text("state") == "output-error" }

func uiPending(o object) bool {
	return strings.HasPrefix(o.text("state"), "approval-")
}

// langChain describes messages of LangChain: as JavaScript and Python serialize them (lc), as
// dictionaries with type and data, and flat, as LangGraph's server sends them.
var langChain = shape{
	name: "langchain", strictTurns: true, description: "messages of LangChain", listMembers: []string{"messages"}, contentPath: always("content"),
	identifies: func(o object) bool {
		if string(o.bytes("lc")) == "1" && o.get("kwargs").Len() > 0 {
			return true
		}
		return langChainRole(o.text("type")) != roleUnknown && o.get("role").Len() == 0 && (firstByte(o.bytes("data")) == '{' || o.get("content").Len() > 0)
	},
	messageMember: func(o object) string {
		switch {
		case o.get("lc").Len() > 0:
			return "kwargs"
		case firstByte(o.bytes("data")) == '{':
			return "data"
		}
		return ""
	},
	roleOf: func(el, m object) role {
		kind := el.text("type")
		if el.get("lc").Len() > 0 {
			kind = ""
			if ids := el.list("id"); len(ids) > 0 {
				at := ids[len(ids)-1]
				kind = decodeString(el.Raw[at.Start:at.End])
			}
		}
		return langChainRole(kind)
	},
	wholePart: func(m object) *partSpec {
		if m.get("tool_call_id").Len() > 0 {
			return &langChainResult
		}
		return nil
	},
	parts: []partSpec{
		{typeName: "text", kind: kindText, textPath: "text"},
		{typeName: "reasoning", kind: kindReasoning, textPath: "reasoning|text"},
		{typeName: "thinking", kind: kindReasoning, textPath: "thinking"},
		{typeName: "redacted_thinking", kind: kindOpaque},
		{typeName: "image_url", kind: kindMedia, textPath: "image_url.url|image_url"},
		{typeName: "image", kind: kindMedia, textPath: "data|url|source.data"},
		{typeName: "input_audio", kind: kindMedia, textPath: "input_audio.data"},
		{typeName: "audio", kind: kindMedia, textPath: "data|url"},
		{typeName: "video", kind: kindMedia, textPath: "data|url"},
		{typeName: "file", kind: kindMedia, textPath: "data|url|file.file_data"},
		{typeName: "document", kind: kindMedia, textPath: "source.data"},
		{typeName: "media", kind: kindMedia, textPath: "data"},
		{typeName: "refusal", kind: kindText, textPath: "refusal"},
		{typeName: "tool_use", kind: kindCall, idPath: "id", namePath: "name", inputPath: "input"},
		{typeName: "tool_call", kind: kindCall, idPath: "id", namePath: "name", inputPath: "args"},
		{typeName: "server_tool_*", kind: kindOpaque},
		{typeName: "web_search_*", kind: kindOpaque},
		{typeName: "non_standard", kind: kindOpaque},
	},
	callsMember: "tool_calls", callPart: partSpec{kind: kindCall, idPath: "id", namePath: "name", inputPath: "args"},
	copyPaths: []string{"additional_kwargs.tool_calls", "tool_call_chunks"},
	newResult: func(near object, in string, c *unit, said []byte) []byte {
		return langChainAs(near, in, "ToolMessage", "tool", "content", said, "tool_call_id", c.id, "name", c.name, "status", "error")
	},
	newMessage: func(near object, in string, who role, said []byte) []byte {
		if who == roleAssistant {
			return langChainAs(near, in, "AIMessage", "ai", "content", said)
		}
		return langChainAs(near, in, "HumanMessage", "human", "content", said)
	},
}

var langChainResult = partSpec{kind: kindResult, idPath: "tool_call_id", namePath: "name", outputPath: "content", isFailed: memberEquals("status", "error")}

func langChainRole(kind string) role {
	switch strings.TrimSuffix(strings.TrimSuffix(kind, "Chunk"), "Message") {
	case "human", "Human", "tool", "Tool":
		return roleUser
	case "ai", "AI":
		return roleAssistant
	case "system", "System", "developer":
		return roleSystem
	case "remove", "Remove":
		return roleUnsent
	}
	return roleUnknown
}

// langChainAs returns a message in the form of its neighbor.
func langChainAs(neighbor object, in, class, kind string, members ...any) []byte {
	switch in {
	case "kwargs":
		path := [][]byte{quote("langchain_core"), quote("messages")}
		if ids := neighbor.list("id"); len(ids) > 0 {
			path = nil
			for _, at := range ids[:len(ids)-1] {
				path = append(path, neighbor.Raw[at.Start:at.End])
			}
		}
		return write("lc", []byte("1"), "type", "constructor", "id", array(append(path, quote(class))...), "kwargs", write(members...))
	case "data":
		if neighbor.get("data.type").Len() > 0 { // Python's form
			members = append(members, "type", kind)
		}
		return write("type", kind, "data", write(members...))
	}
	return write(append(members, "type", kind)...)
}

// openCode describes the list that plugins of opencode receive: the info of a message and its
// parts.
var openCode = shape{
	name: "opencode", description: "the messages of opencode, with their parts", listMembers: []string{"messages"}, messageMember: noMember, contentPath: always("parts"),
	identifies: func(o object) bool { return o.get("info.role").Len() > 0 && firstByte(o.bytes("parts")) == '[' },
	roleOf:     func(_, m object) role { return plainRole(m.text("info.role")) },
	parts: []partSpec{
		{typeName: "text", kind: kindText, textPath: "text"},
		{typeName: "reasoning", kind: kindReasoning, textPath: "text"},
		{typeName: "tool", kind: kindCallWithResult, idPath: "callID", namePath: "tool", inputPath: "state.input", outputPath: "state.output|state.error",
			isEnded:  func(o object) bool { s := o.text("state.status"); return s == "completed" || s == "error" },
			isFailed: memberEquals("state.status", "error")},
		{typeName: "file", kind: kindMedia, textPath: "url"},
		{typeName: "step-start", kind: kindStepStart},
		{typeName: "step-finish", kind: kindUnsent},
		{typeName: "snapshot", kind: kindUnsent},
		{typeName: "patch", kind: kindUnsent},
		{typeName: "retry", kind: kindUnsent},
		{typeName: "agent", kind: kindUnsent},
		{typeName: "subtask", kind: kindOpaque},
		{typeName: "compaction", kind: kindOpaque},
	},
	endCall: func(part, said []byte) []byte {
		o := objectOf(part)
		start := o.bytes("state.time.start")
		if len(start) == 0 {
			start = []byte("0")
		}
		state := o.bytes("state")
		if firstByte(state) != '{' {
			state = []byte("{}")
		}
		state = setPath(setPath(setPath(setPath(state, "status", quote("error")), "error", said), "time.start", start), "time.end", start)
		if objectOf(state).get("input").Len() == 0 {
			state = setPath(state, "input", []byte("{}"))
		}
		return setPath(part, "state", state)
	},
	newMessage: func(near object, _ string, who role, said []byte) []byte {
		info := near.bytes("info")
		if decodeRole := near.text("info.role"); decodeRole != who.String() {
			info = write("role", who.String(), "sessionID", near.bytes("info.sessionID"), "time", near.bytes("info.time"))
		}
		id := newID(near.text("info.id"), said)
		session := near.bytes("info.sessionID")
		return write("info", setPath(info, "id", quote(id)), "parts", array(write("id", id+"-part", "sessionID", session, "messageID", id, "type", "text", "text", said, "synthetic", []byte("true"))))
	},
}

func plainRole(name string) role {
	switch name {
	case "user":
		return roleUser
	case "assistant":
		return roleAssistant
	case "system":
		return roleSystem
	}
	return roleUnknown
}

// hasPart reports whether an element has a part of a type with a member.
func hasPart(o object, list, kind, with string) bool {
	for _, at := range o.list(list) {
		if p := objectAt(o.Raw, at); p.text("type") == kind && p.get(with).Len() > 0 {
			return true
		}
	}
	return false
}
