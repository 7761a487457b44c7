package agentlog

import (
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/wire"
)

// The formats of this file look like others, and are refused by name until there is a
// reader for them.

// qwenRow is qwen-code: the links of Claude Code around the contents of Gemini.
var qwenRow = row{format: QwenCode, name: "qwen-code", maker: "qwen-code", dialect: wire.Gemini, line: qwenLine}

func qwenLine(o object) evidence {
	if !o.has("uuid") || !o.has("parentUuid") || !o.has("sessionId") {
		return silent
	}
	switch kind := o.kind(); {
	case o.object("message").has("parts"), kind == "tool_result":
		return proof
	case kind == "system" && !o.has("isSidechain"):
		return hint
	}
	return silent
}

// cline3Row is what Cline keeps from version 3 on.
var cline3Row = row{format: Cline3, name: "cline-3", maker: "Cline 3", dialect: wire.Anthropic, document: func(raw []byte, at jsonspan.Span) bool {
	o := objectAt(raw, at)
	return len(o.list("messages")) > 0 && o.has("updated_at") && o.has("sessionId") && (o.has("agent") || o.has("origin"))
}}

// copilotRow is GitHub Copilot CLI: events whose types have a dot.
var copilotRow = row{format: Copilot, name: "copilot", maker: "GitHub Copilot CLI", dialect: wire.OpenAIChat, line: copilotLine}

func copilotLine(o object) evidence {
	switch o.kind() {
	case "session.start", "user.message", "assistant.message", "tool.execution_start", "tool.execution_complete", "assistant.turn_start", "assistant.turn_end":
		if o.has("data") && o.has("timestamp") {
			return proof
		}
	}
	return silent
}

// continueRow is Continue: a history of items around messages.
var continueRow = row{format: Continue, name: "continue", maker: "Continue", dialect: wire.OpenAIChat, document: func(raw []byte, at jsonspan.Span) bool {
	o := objectAt(raw, at)
	for _, h := range o.list("history") {
		item := objectAt(raw, h)
		return o.has("sessionId") && item.has("message") && item.has("contextItems")
	}
	return false
}}
