package agentlog

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
)

// unreadScribes write sessions of agents whose files are known and not read.
var unreadScribes = map[string]func(*scribe) string{
	"qwen-code": func(s *scribe) string {
		up := any(nil)
		put := func(kind string, message fields) {
			id := s.id("uuid-")
			s.line(fields{"uuid": id, "parentUuid": up, "sessionId": "s", "timestamp": s.stamp(), "type": kind, "cwd": "/p", "version": "0.24.4", "message": message})
			up = id
		}
		for range 2 + s.r.IntN(3) {
			put("user", fields{"role": "user", "parts": []fields{{"text": s.said()}}})
			c := s.id("call_")
			put("assistant", fields{"role": "model", "parts": []fields{{"functionCall": fields{"id": c, "name": "ls", "args": fields{}}}}})
			if !s.chance(4) {
				put("tool_result", fields{"role": "user", "parts": []fields{{"functionResponse": fields{"id": c, "name": "ls", "response": fields{"output": "x"}}}}})
			}
		}
		return joinLines(s.lines)
	},
	"copilot": func(s *scribe) string {
		put := func(kind string, data fields) {
			s.line(fields{"type": kind, "data": data, "id": s.id("e"), "timestamp": s.stamp(), "parentId": nil})
		}
		put("session.start", fields{"sessionId": "s", "version": 1, "producer": "copilot-agent"})
		for range 2 + s.r.IntN(3) {
			put("user.message", fields{"content": s.said()})
			c := s.id("call_")
			put("assistant.message", fields{"messageId": s.id("m"), "content": "", "toolRequests": []fields{{"toolCallId": c, "name": "bash", "arguments": fields{}}}})
			put("tool.execution_start", fields{"toolCallId": c, "toolName": "bash"})
			if !s.chance(4) {
				put("tool.execution_complete", fields{"toolCallId": c, "success": true, "result": fields{"content": "x"}})
			}
		}
		return joinLines(s.lines)
	},
	"continue": func(s *scribe) string {
		var history []fields
		for range 2 + s.r.IntN(3) {
			history = append(history, fields{"message": fields{"role": "user", "content": s.said()}, "contextItems": []string{}},
				fields{"message": fields{"role": "assistant", "content": "done"}, "contextItems": []string{}})
		}
		return ordered(fields{"sessionId": "s", "title": "T", "workspaceDirectory": "/p", "history": history})
	},
	"cline-3": func(s *scribe) string {
		var all []fields
		for range 2 + s.r.IntN(3) {
			all = append(all, fields{"role": "user", "content": s.said()}, fields{"role": "assistant", "content": []fields{{"type": "tool_use", "id": s.id("toolu_"), "name": "x", "input": fields{}}}})
		}
		return ordered(fields{"version": 1, "updated_at": s.stamp(), "agent": "x", "sessionId": "s", "systemPrompt": "x", "messages": all})
	},
}

// TestUnreadRandom: files that are known and not read are refused, whatever has happened to them.
func TestUnreadRandom(t *testing.T) {
	for _, client := range slices.Sorted(maps.Keys(unreadScribes)) {
		for n := range trial.Histories(300) {
			seed := trial.First() + uint64(n)
			r := rand.New(rand.NewPCG(29, seed))
			raw := unreadScribes[client](&scribe{r: r})
			other := unreadScribes[client](&scribe{r: r, seed: "b"})
			var done []string
			for range r.IntN(4) {
				m := mishaps[r.IntN(len(mishaps))]
				raw = m.hit(r, raw, other)
				done = append(done, m.name)
			}
			l, err := Read(fmt.Sprintf("%s.jsonl", client), []byte(strings.TrimPrefix(raw, "\ufeff")), Options{})
			if !errors.Is(err, ErrFormat) {
				t.Errorf("%s, seed %d: %v: read as %v: %v", client, seed, done, l, err)
			}
		}
	}
}
