package hosts

import (
	"strings"
)

// shapes is the table. A list is what most of its elements can only be.
var shapes = []shape{pi, aiSDK, aiSDKUI, langChain, agentsAPI, openCode, openAIAgents, shareGPT}

// pi's live list, as its extensions get it. Sources: AgentMessage of its packages, 1.5.
var pi = shape{
	name: "pi", strict: true, doc: "the live list of pi", lists: []string{"messages"}, inner: itself, content: under("content"),
	proof: func(o object) bool {
		if o.text("role") == "toolResult" && o.get("toolCallId").Len() > 0 || o.text("role") == "assistant" && o.get("stopReason").Len() > 0 && o.get("api").Len() > 0 {
			return true
		}
		return hasPart(o, "content", "toolCall", "arguments")
	},
	role: func(_, m object) role {
		switch m.text("role") {
		case "user", "toolResult", "bashExecution", "custom", "hookMessage", "branchSummary", "compactionSummary":
			if m.is("excludeFromContext") {
				return aside
			}
			return user
		case "assistant":
			if stop := m.text("stopReason"); stop == "error" || stop == "aborted" {
				return aside // pi does not send it again
			}
			return assistant
		case "system":
			return system
		}
		return nobody
	},
	whole: func(m object) *part {
		switch m.text("role") {
		case "toolResult":
			return &piResult
		case "bashExecution", "branchSummary", "compactionSummary":
			return &wholeSealed
		}
		return nil
	},
	parts: []part{
		{as: "text", kind: text, say: "text"},
		{as: "thinking", kind: reasoning, say: "thinking"},
		{as: "toolCall", kind: call, id: "id", name: "name", in: "arguments"},
		{as: "image", kind: media, say: "data"},
	},
	stub: func(near object, _ string, c *unit, said []byte) []byte {
		return write("role", "toolResult", "toolCallId", c.id, "toolName", c.name, "content", array(write("type", "text", "text", said)), "isError", []byte("true"), "timestamp", near.bytes("timestamp"))
	},
	says: func(near object, _ string, who role, said []byte) []byte {
		return write("role", who.String(), "content", array(write("type", "text", "text", said)), "timestamp", near.bytes("timestamp"))
	},
}

var (
	piResult    = part{kind: result, id: "toolCallId", name: "toolName", out: "content", failed: truth("isError")}
	wholeSealed = part{kind: sealed}
)

// Model messages of the AI SDK, 4 to 7, and the prompts of its providers.
var aiSDK = shape{
	name: "ai-sdk", strict: true, doc: "model messages of the AI SDK", lists: []string{"messages", "prompt"}, inner: itself, approval: "tool-approval-request", content: under("content"),
	proof: func(o object) bool {
		return hasPart(o, "content", "tool-call", "toolCallId") || hasPart(o, "content", "tool-result", "toolCallId") || hasPart(o, "content", "tool-approval-request", "approvalId")
	},
	role: func(_, m object) role {
		switch m.text("role") {
		case "tool", "user":
			return user
		case "assistant":
			return assistant
		case "system":
			return system
		}
		return nobody
	},
	parts: []part{
		{as: "text", kind: text, say: "text"},
		{as: "reasoning", kind: reasoning, say: "text"},
		{as: "redacted-reasoning", kind: sealed},
		{as: "reasoning-file", kind: sealed},
		{as: "image", kind: media, say: "image"},
		{as: "file", kind: media, say: "data"},
		{as: "source", kind: silent},
		{as: "custom", kind: sealed},
		{as: "tool-call", kind: call, id: "toolCallId", name: "toolName", in: "input|args", server: truth("providerExecuted")},
		{as: "tool-result", kind: result, id: "toolCallId", name: "toolName", out: "output|result", failed: func(o object) bool {
			return strings.HasPrefix(o.text("output.type"), "error") || o.is("isError")
		}},
		{as: "tool-approval-request", kind: sealed},
		{as: "tool-approval-response", kind: sealed},
	},
	stub: func(near object, _ string, c *unit, said []byte) []byte {
		return write("role", "tool", "content", array(write("type", "tool-result", "toolCallId", c.id, "toolName", c.name, "output", write("type", "error-text", "value", said))))
	},
	says: func(near object, _ string, who role, said []byte) []byte {
		return write("role", who.String(), "content", array(write("type", "text", "text", said)))
	},
}

// UI messages of the AI SDK, 4 to 7: a tool's part holds its call and its result.
var aiSDKUI = shape{
	name: "ai-sdk-ui", doc: "UI messages of the AI SDK", lists: []string{"messages"}, inner: itself, content: under("parts"),
	proof: func(o object) bool {
		if o.get("info").Len() > 0 || o.get("role").Len() == 0 {
			return false
		}
		for _, at := range o.list("parts") {
			if open(o.Raw, at).text("type") != "" {
				return true
			}
		}
		return false
	},
	role: func(_, m object) role { return plainRole(m.text("role")) },
	parts: []part{
		{as: "text", kind: text, say: "text"},
		{as: "reasoning", kind: reasoning, say: "text|reasoning"},
		{as: "reasoning-file", kind: sealed},
		{as: "file", kind: media, say: "url|data"},
		{as: "source", kind: silent},
		{as: "source-url", kind: silent},
		{as: "source-document", kind: silent},
		{as: "step-start", kind: step},
		{as: "custom", kind: sealed},
		{as: "data-*", kind: sealed},
		{as: "tool-invocation", kind: both, id: "toolInvocation.toolCallId", name: "toolInvocation.toolName", in: "toolInvocation.args", out: "toolInvocation.result", ended: member("toolInvocation.state", "result")},
		{as: "tool-*", kind: both, id: "toolCallId", in: "input|rawInput", out: "output|errorText", ended: uiEnded, failed: uiFailed, pending: uiPending, server: truth("providerExecuted")},
		{as: "dynamic-tool", kind: both, id: "toolCallId", name: "toolName", in: "input|rawInput", out: "output|errorText", ended: uiEnded, failed: uiFailed, pending: uiPending, server: truth("providerExecuted")},
	},
	end: func(part, said []byte) []byte {
		if openAll(part).get("toolInvocation").Len() > 0 {
			return set(set(part, "toolInvocation.state", quote("result")), "toolInvocation.result", said)
		}
		part = set(set(part, "state", quote("output-error")), "errorText", said)
		if openAll(part).get("input").Len() == 0 {
			part = set(part, "input", []byte("{}"))
		}
		return part
	},
	says: func(near object, _ string, who role, said []byte) []byte {
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

// Messages of LangChain: as JavaScript and Python write them (lc), in dictionaries of type and data, and
// flat, as LangGraph's server sends them.
var langChain = shape{
	name: "langchain", strict: true, doc: "messages of LangChain", lists: []string{"messages"}, content: under("content"),
	proof: func(o object) bool {
		if string(o.bytes("lc")) == "1" && o.get("kwargs").Len() > 0 {
			return true
		}
		return langChainRole(o.text("type")) != nobody && o.get("role").Len() == 0 && (first(o.bytes("data")) == '{' || o.get("content").Len() > 0)
	},
	inner: func(o object) string {
		switch {
		case o.get("lc").Len() > 0:
			return "kwargs"
		case first(o.bytes("data")) == '{':
			return "data"
		}
		return ""
	},
	role: func(el, m object) role {
		kind := el.text("type")
		if el.get("lc").Len() > 0 {
			kind = ""
			if ids := el.list("id"); len(ids) > 0 {
				at := ids[len(ids)-1]
				kind = decode(el.Raw[at.Start:at.End])
			}
		}
		return langChainRole(kind)
	},
	whole: func(m object) *part {
		if m.get("tool_call_id").Len() > 0 {
			return &langChainResult
		}
		return nil
	},
	parts: []part{
		{as: "text", kind: text, say: "text"},
		{as: "reasoning", kind: reasoning, say: "reasoning|text"},
		{as: "thinking", kind: reasoning, say: "thinking"},
		{as: "redacted_thinking", kind: sealed},
		{as: "image_url", kind: media, say: "image_url.url|image_url"},
		{as: "image", kind: media, say: "data|url|source.data"},
		{as: "input_audio", kind: media, say: "input_audio.data"},
		{as: "audio", kind: media, say: "data|url"},
		{as: "video", kind: media, say: "data|url"},
		{as: "file", kind: media, say: "data|url|file.file_data"},
		{as: "document", kind: media, say: "source.data"},
		{as: "media", kind: media, say: "data"},
		{as: "refusal", kind: text, say: "refusal"},
		{as: "tool_use", kind: call, id: "id", name: "name", in: "input"},
		{as: "tool_call", kind: call, id: "id", name: "name", in: "args"},
		{as: "server_tool_*", kind: sealed},
		{as: "web_search_*", kind: sealed},
		{as: "non_standard", kind: sealed},
	},
	calls: "tool_calls", call: part{kind: call, id: "id", name: "name", in: "args"},
	copies: []string{"additional_kwargs.tool_calls", "tool_call_chunks"},
	stub: func(near object, in string, c *unit, said []byte) []byte {
		return langChainAs(near, in, "ToolMessage", "tool", "content", said, "tool_call_id", c.id, "name", c.name, "status", "error")
	},
	says: func(near object, in string, who role, said []byte) []byte {
		if who == assistant {
			return langChainAs(near, in, "AIMessage", "ai", "content", said)
		}
		return langChainAs(near, in, "HumanMessage", "human", "content", said)
	},
}

var langChainResult = part{kind: result, id: "tool_call_id", name: "name", out: "content", failed: member("status", "error")}

func langChainRole(kind string) role {
	switch strings.TrimSuffix(strings.TrimSuffix(kind, "Chunk"), "Message") {
	case "human", "Human", "tool", "Tool":
		return user
	case "ai", "AI":
		return assistant
	case "system", "System", "developer":
		return system
	case "remove", "Remove":
		return aside
	}
	return nobody
}

// langChainAs writes a message as its neighbour is written.
func langChainAs(near object, in, class, kind string, members ...any) []byte {
	switch in {
	case "kwargs":
		path := [][]byte{quote("langchain_core"), quote("messages")}
		if ids := near.list("id"); len(ids) > 0 {
			path = nil
			for _, at := range ids[:len(ids)-1] {
				path = append(path, near.Raw[at.Start:at.End])
			}
		}
		return write("lc", []byte("1"), "type", "constructor", "id", array(append(path, quote(class))...), "kwargs", write(members...))
	case "data":
		if near.get("data.type").Len() > 0 { // as Python writes it
			members = append(members, "type", kind)
		}
		return write("type", kind, "data", write(members...))
	}
	return write(append(members, "type", kind)...)
}

// The list of opencode, as its plugins get it: what is known of a message, and its parts.
var openCode = shape{
	name: "opencode", doc: "the messages of opencode, with their parts", lists: []string{"messages"}, inner: itself, content: under("parts"),
	proof: func(o object) bool { return o.get("info.role").Len() > 0 && first(o.bytes("parts")) == '[' },
	role:  func(_, m object) role { return plainRole(m.text("info.role")) },
	parts: []part{
		{as: "text", kind: text, say: "text"},
		{as: "reasoning", kind: reasoning, say: "text"},
		{as: "tool", kind: both, id: "callID", name: "tool", in: "state.input", out: "state.output|state.error",
			ended:  func(o object) bool { s := o.text("state.status"); return s == "completed" || s == "error" },
			failed: member("state.status", "error")},
		{as: "file", kind: media, say: "url"},
		{as: "step-start", kind: step},
		{as: "step-finish", kind: silent},
		{as: "snapshot", kind: silent},
		{as: "patch", kind: silent},
		{as: "retry", kind: silent},
		{as: "agent", kind: silent},
		{as: "subtask", kind: sealed},
		{as: "compaction", kind: sealed},
	},
	end: func(part, said []byte) []byte {
		o := openAll(part)
		start := o.bytes("state.time.start")
		if len(start) == 0 {
			start = []byte("0")
		}
		state := o.bytes("state")
		if first(state) != '{' {
			state = []byte("{}")
		}
		state = set(set(set(set(state, "status", quote("error")), "error", said), "time.start", start), "time.end", start)
		if openAll(state).get("input").Len() == 0 {
			state = set(state, "input", []byte("{}"))
		}
		return set(part, "state", state)
	},
	says: func(near object, _ string, who role, said []byte) []byte {
		info := near.bytes("info")
		if decodeRole := near.text("info.role"); decodeRole != who.String() {
			info = write("role", who.String(), "sessionID", near.bytes("info.sessionID"), "time", near.bytes("info.time"))
		}
		id := newID(near.text("info.id"), said)
		session := near.bytes("info.sessionID")
		return write("info", set(info, "id", quote(id)), "parts", array(write("id", id+"-part", "sessionID", session, "messageID", id, "type", "text", "text", said, "synthetic", []byte("true"))))
	},
}

func plainRole(name string) role {
	switch name {
	case "user":
		return user
	case "assistant":
		return assistant
	case "system":
		return system
	}
	return nobody
}

// hasPart reports whether the parts of an element have one of a type with a member.
func hasPart(o object, list, kind, with string) bool {
	for _, at := range o.list(list) {
		if p := open(o.Raw, at); p.text("type") == kind && p.get(with).Len() > 0 {
			return true
		}
	}
	return false
}
