package agentlog

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
)

// A ccLine is a line of Claude Code for the independent implementation below.
type ccLine struct {
	Type, UUID, Timestamp string
	ParentUUID            *string `json:"parentUuid"`
	IsSidechain           bool
	Message               struct {
		ID, Role, Model string
		Content         json.RawMessage
	}
}

type blockOf struct {
	Type, ID  string
	ToolUseID string `json:"tool_use_id"`
}

func (s *ccLine) blocks() []blockOf {
	var all []blockOf
	_ = json.Unmarshal(s.Message.Content, &all)
	return all
}

// resume is an independent implementation of resuming in Claude Code: from the newest leaf up by
// parentUuid, with the siblings and results of the messages on the path. It returns the sent calls
// and results.
func resume(raw []byte) (calls, results map[string]int) {
	byID := make(map[string]*ccLine)
	var order []*ccLine
	parents := make(map[string]bool)
	for line := range bytes.Lines(raw) {
		var s ccLine
		if json.Unmarshal(line, &s) != nil || s.UUID == "" {
			continue
		}
		byID[s.UUID] = &s
		order = append(order, &s)
	}
	up := func(s *ccLine) *ccLine {
		if s.ParentUUID == nil {
			return nil
		}
		return byID[*s.ParentUUID]
	}
	speaks := func(s *ccLine) bool { return s.Type == "user" || s.Type == "assistant" }
	for _, s := range order {
		if !speaks(s) || s.IsSidechain {
			continue
		}
		for p, n := up(s), 0; p != nil && n < len(order); p, n = up(p), n+1 {
			if speaks(p) {
				parents[p.UUID] = true
				break
			}
		}
	}
	var leaf *ccLine
	for _, s := range order {
		if speaks(s) && !s.IsSidechain && !parents[s.UUID] && (leaf == nil || millis(s.Timestamp) > millis(leaf.Timestamp)) {
			leaf = s
		}
	}
	sent := make(map[string]*ccLine)
	for s := leaf; s != nil && sent[s.UUID] == nil; s = up(s) {
		sent[s.UUID] = s
	}
	path, answered := make(map[string]bool, len(sent)), make(map[string]bool)
	for id, s := range sent {
		path[id] = true
		for _, b := range s.blocks() {
			answered[b.ToolUseID] = answered[b.ToolUseID] || b.Type == "tool_result"
		}
	}
	messages := make(map[string]bool)
	for _, s := range sent {
		if s.Type == "assistant" && s.Message.ID != "" {
			messages[s.Message.ID] = true
		}
	}
	for _, s := range order {
		if s.Type == "assistant" && messages[s.Message.ID] && byID[s.UUID] == s {
			sent[s.UUID] = s
		}
	}
	for _, s := range order {
		if p := up(s); s.Type == "user" && p != nil && p.Type == "assistant" && messages[p.Message.ID] && byID[s.UUID] == s {
			for _, b := range s.blocks() {
				if b.Type == "tool_result" && !answered[b.ToolUseID] {
					sent[s.UUID] = s
				}
			}
		}
	}
	calls, results = make(map[string]int), make(map[string]int)
	for _, s := range sent {
		for _, b := range s.blocks() {
			if b.Type == "tool_result" {
				results[b.ToolUseID]++
			}
		}
	}
	for _, s := range sent {
		for _, b := range s.blocks() {
			// Unanswered calls on side branches are omitted.
			if b.Type == "tool_use" && (path[s.UUID] || results[b.ID] > 0) {
				calls[b.ID]++
			}
		}
	}
	return calls, results
}

// resumable checks that the agent sees exactly one result for every call of a repaired file.
func resumable(t testing.TB, name string, raw []byte) {
	t.Helper()
	calls, results := resume(raw)
	for id, n := range calls {
		if results[id] != n {
			t.Errorf("%s: call %s is sent %d times and answered %d times", name, id, n, results[id])
		}
	}
	for id := range results {
		if calls[id] == 0 {
			t.Errorf("%s: result %s is sent without a call", name, id)
		}
	}
}

// TestResume compares repaired files with an implementation that shares no code.
func TestResume(t *testing.T) {
	for i, s := range samples(t, "claude_code") {
		if i%trial.Stride(4) > 0 || bytes.Count(s.raw, []byte(`"uuid":"[trimmed for fixture]"`)) > 0 {
			continue
		}
		for _, appendOnly := range []bool{false, true} {
			fixed, err := mustRead(t, s.name, s.raw).Fix(Options{AppendOnly: appendOnly})
			if err != nil {
				t.Fatal(err)
			}
			resumable(t, s.name, fixed.Raw)
		}
	}
}
