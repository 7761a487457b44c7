package agentlog

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// A Format is the file format of an agent. The zero value asks for detection.
type Format uint8

const (
	Auto       Format = iota
	ClaudeCode        // JSON lines with uuid and parentUuid
	Codex             // rollout, JSON lines, old and new layout
	Pi                // JSON lines, linear or with id and parentId
	GeminiCLI         // a chat: one object with messages and their toolCalls, or lines
	Cline             // api_conversation_history.json of Cline and Roo: a bare Anthropic list
	Goose             // JSON lines or recordings with toolRequest and toolResponse
	OpenHands         // event lists, alone or in the lines of an evaluation
	OpenCode          // a storage folder; see [ReadFolder]
	ADK               // an ADK session: one object with events
)

var formatNames = [...]string{"auto", "claude-code", "codex", "pi", "gemini-cli", "cline", "goose", "openhands", "opencode", "adk"}

func (f Format) String() string {
	if int(f) >= len(formatNames) {
		return "unknown"
	}
	return formatNames[f]
}

// Formats lists all formats.
func Formats() []Format {
	return []Format{ClaudeCode, Codex, Pi, GeminiCLI, Cline, Goose, OpenHands, OpenCode, ADK}
}

// ParseFormat returns the format of that name.
func ParseFormat(name string) (Format, error) {
	for i, n := range formatNames {
		if n == name {
			return Format(i), nil
		}
	}
	return Auto, fmt.Errorf("unknown format %q", name)
}

// probeLines is how many lines Detect looks at: enough to get past the lines of
// a head that a cut or a crash has left without a mark.
const probeLines = 64

// Detect tells the format of a file from its content. The name is a hint only: a
// bare Anthropic list is the file of Cline or Roo if it is called so, and a plain
// list of messages otherwise, which is none of ours. Request bodies, lists of
// messages and batches of bodies are not detected.
func Detect(name string, raw []byte) (Format, bool) {
	base := strings.ToLower(name[strings.LastIndexAny(name, `/\`)+1:])
	if strings.HasPrefix(base, "api_conversation_history") {
		return Cline, true
	}
	// The elements of a list may have a line each; they are no lines of a session.
	if v, ok := firstValue(raw); ok {
		rest := raw[v.End:]
		if skipSpace(rest, 0) == len(rest) {
			return detectDocument(raw)
		}
		// Mostly it is the first line, and tells enough.
		if next := skipSpace(rest, 0); raw[v.Start] == '{' && bytes.IndexByte(rest[:next], '\n') >= 0 && bytes.IndexByte(raw[:v.End], '\n') < 0 {
			if f := detectObject(raw, v); f != Auto {
				return f, true
			}
		}
	}
	seen := 0
	for at := 0; at < len(raw) && seen < probeLines; {
		end := len(raw)
		if i := bytes.IndexByte(raw[at:], '\n'); i >= 0 {
			end = at + i
		}
		line := raw[at:end]
		if f := detectLine(line); f != Auto {
			return f, true
		}
		if len(bytes.TrimSpace(line)) > 0 {
			seen++
		}
		at = end + 1
	}
	return Auto, false
}

// detectLine tells the format from one line of JSON.
func detectLine(line []byte) Format {
	for _, v := range valuesOf(line) {
		if v.ok && line[v.span.Start] == '{' {
			if f := detectObject(line, v.span); f != Auto {
				return f
			}
		}
	}
	return Auto
}

func detectObject(raw []byte, at jsonspan.Span) Format {
	o := objectAt(raw, at)
	kind := o.text("type")
	switch {
	case o.has("parentUuid") && o.has("sessionId"),
		o.has("uuid") && o.has("parentUuid"),
		o.has("leafUuid") && kind == "summary",
		kind == "file-history-snapshot" && o.has("messageId"),
		(kind == "user" || kind == "assistant") && o.has("message") && o.has("sessionId"):
		return ClaudeCode
	case o.has("payload") && codexEnvelopes[kind]:
		return Codex
	case o.text("record_type") == "state", o.has("instructions") && o.has("timestamp") && o.has("id") && o.has("git"):
		return Codex
	case codexItems[kind] && !o.has("message") && o.has("call_id"):
		return Codex
	case kind == "session" && o.has("cwd") && o.has("id"):
		return Pi
	case kind == "message" && o.has("message") && o.has("timestamp") && (o.has("parentId") || o.object("message").has("role")):
		return Pi
	case o.has("sessionId") && o.has("projectHash"), o.has("$rewindTo"):
		return GeminiCLI
	case o.has("history") && isEvents(raw, o, "history"):
		return OpenHands
	case isEvent(o):
		return OpenHands
	case o.has("working_dir") && (o.has("message_count") || o.has("description")):
		return Goose
	case o.has("role") && o.has("created") && o.has("content") && gooseContent(raw, o):
		return Goose
	}
	return Auto
}

// detectDocument tells the format of a file that is one JSON value.
func detectDocument(raw []byte) (Format, bool) {
	at, ok := one(raw)
	if !ok {
		return Auto, false
	}
	if raw[at.Start] == '[' {
		if isEventList(raw, at) {
			return OpenHands, true
		}
		return Auto, false
	}
	if raw[at.Start] != '{' {
		return Auto, false
	}
	o := objectAt(raw, at)
	switch {
	case o.has("sessionId") && o.has("messages") && (o.has("projectHash") || o.has("startTime")):
		return GeminiCLI, true
	case o.has("events") && isADK(raw, o):
		return ADK, true
	case o.has("conversation") || isRecording(raw, o):
		if gooseDocument(raw, o) {
			return Goose, true
		}
	}
	if f := detectObject(raw, at); f != Auto {
		return f, true
	}
	return Auto, false
}
