package agentlog

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// Resume returns the words of the command that resumes exactly this session, as of the versions in
// docs/internals/campaign.md; nil if the agent has no such command, or would not find the session by its name.
func (d *Diagnosis) Resume() []string {
	name := strings.TrimSuffix(filepath.Base(d.Path), ".jsonl")
	if d.Rows != nil {
		_, name, _ = strings.Cut(name, "#")
	}
	switch d.Agent.Name {
	case "claude-code":
		return withID(name, "claude", "--resume")
	case "codex":
		return withID(uuidAtEnd.FindString(name), "codex", "resume")
	case "pi":
		return []string{"pi", "--session", d.Path}
	case "gemini-cli":
		return withID(d.recordedID, "gemini", "--resume")
	case "opencode":
		return withID(name, "opencode", "--session")
	case "copilot":
		if id := filepath.Base(filepath.Dir(d.Path)); agentIDs.MatchString(id) {
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

// withID adds the id of a session to a command; nil if it is not one that an agent gives.
func withID(id string, command ...string) []string {
	if !agentIDs.MatchString(id) {
		return nil
	}
	return append(command, id)
}

var (
	agentIDs  = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_-]*$`)
	uuidAtEnd = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
)

// headID returns the id that the first record of a file of Gemini CLI has.
func (l *Log) headID() string {
	value, ok := firstValue(l.raw)
	if !ok || l.raw[value.Start] != '{' {
		return ""
	}
	id, _ := jsonspan.Find(l.raw, value, "sessionId")
	return strings.Clone(textAt(l.raw, id.Value))
}
