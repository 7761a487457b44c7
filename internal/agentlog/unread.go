package agentlog

import (
	"path"
	"strings"

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

// cline3Row is what Cline keeps from version 3 on. No request has the members beside its
// list; two of them tell, so that one that is lost does not make a request of it. A file that
// was written twice has two such lines.
var cline3Row = row{format: Cline3, name: "cline-3", maker: "Cline 3", dialect: wire.Anthropic, line: func(o object) evidence {
	if isCline3(o) {
		return proof
	}
	return silent
}, document: func(raw []byte, at jsonspan.Span) bool { return isCline3(objectAt(raw, at)) }}

func isCline3(o object) bool {
	list, ok := o.get("messages")
	if !ok || o.raw[list.Start] != '[' {
		return false
	}
	n := 0
	for _, name := range []string{"updated_at", "sessionId", "agent", "systemPrompt", "system_prompt"} {
		if o.has(name) {
			n++
		}
	}
	return n >= 2
}

// copilotRow is GitHub Copilot CLI: events whose types have a dot.
var copilotRow = row{format: Copilot, name: "copilot", maker: "GitHub Copilot CLI", dialect: wire.OpenAIChat, line: copilotLine}

func copilotLine(o object) evidence {
	if !o.has("data") || !o.has("timestamp") {
		return silent
	}
	kind := o.kind()
	switch kind {
	case "session.start", "user.message", "assistant.message", "tool.execution_start", "tool.execution_complete", "assistant.turn_start", "assistant.turn_end":
		return proof
	}
	for _, of := range []string{"session.", "user.", "assistant.", "tool."} {
		if strings.HasPrefix(kind, of) && o.has("id") {
			return hint
		}
	}
	return silent
}

// continueRow is Continue: a history of items around messages.
var continueRow = row{format: Continue, name: "continue", maker: "Continue", dialect: wire.OpenAIChat, document: func(raw []byte, at jsonspan.Span) bool {
	o := objectAt(raw, at)
	list, ok := o.get("history")
	if !ok || raw[list.Start] != '[' || !o.has("sessionId") {
		return false
	}
	for _, h := range jsonspan.Elements(raw, list) {
		return objectAt(raw, h).has("message")
	}
	return o.has("workspaceDirectory")
}}

// databases are the SQLite files that agents keep, by name and a part of the path, and what
// each is.
var databases = []struct{ name, below, is string }{
	{"opencode.db", "", "the database in which opencode keeps its sessions"},
	{"crush.db", "", "the database in which Crush keeps its sessions"},
	{"sessions.db", "goose", "the database in which goose keeps its sessions"},
	{"sessions.db", "cline", "an index of Cline: the sessions are the files *.messages.json beside it"},
	{"state_*.sqlite", "", "an index of Codex: the sessions are the files rollout-*.jsonl"},
	{"thread_history_*.sqlite", "", "an index of Codex: the sessions are the files rollout-*.jsonl"},
	{"session-store.db", "", "an index of GitHub Copilot CLI: the sessions are the files events.jsonl"},
}

// Database tells from its name what the SQLite file of an agent is; "" if nothing does.
func Database(file string) string {
	folder, name := path.Split(strings.ToLower(strings.ReplaceAll(file, `\`, "/")))
	for _, d := range databases {
		if ok, _ := path.Match(d.name, name); ok && strings.Contains(folder, d.below) {
			return d.is
		}
	}
	return ""
}
