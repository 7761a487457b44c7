package agentlog

import (
	"path/filepath"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// Resume returns the command that resumes exactly this session, for the versions that
// tools/campaign ran. It returns nil if the agent has no such command or would not find the
// session.
func (d *Diagnosis) Resume() []string {
	name := strings.TrimSuffix(filepath.Base(d.Path), ".jsonl")
	if d.Rows != nil {
		_, name, _ = strings.Cut(name, "#")
	}
	switch d.Agent.Name {
	case "claude-code":
		return withID(name, "claude", "--resume")
	case "codex":
		return withID(name[max(0, len(name)-len("01a1e58d-bf7f-7f72-97ae-27f5aaeffe3d")):], "codex", "resume")
	case "pi":
		return []string{"pi", "--session", d.Path}
	case "gemini-cli":
		return withID(d.recordedID, "gemini", "--resume")
	case "opencode":
		return withID(name, "opencode", "--session")
	case "copilot":
		if id := filepath.Base(filepath.Dir(d.Path)); isAgentID(id) {
			return []string{"copilot", "--resume=" + id}
		}
	case "qwen-code":
		return withID(name, "qwen", "--resume")
	case "goose":
		if d.Rows != nil {
			return withID(name, "goose", "session", "--resume", "--session-id")
		}
	}
	return nil
}

// withID appends a session id to a command. It returns nil for an id that no agent would assign.
func withID(id string, command ...string) []string {
	if !isAgentID(id) {
		return nil
	}
	return append(command, id)
}

// isAgentID reports whether an id consists of letters, digits, dashes and underscores, as agents'
// ids do, and is not a flag.
func isAgentID(id string) bool {
	other := func(r rune) bool {
		letter := r|0x20 >= 'a' && r|0x20 <= 'z' || r >= '0' && r <= '9'
		return !letter && r != '-' && r != '_'
	}
	return id != "" && id[0] != '-' && strings.IndexFunc(id, other) < 0
}

// headID returns the session id in the first record of a Gemini CLI file.
func (l *Log) headID() string {
	value, ok := firstValue(l.raw)
	if !ok || l.raw[value.Start] != '{' {
		return ""
	}
	id, _ := jsonspan.Find(l.raw, value, "sessionId")
	return strings.Clone(textAt(l.raw, id.Value))
}
