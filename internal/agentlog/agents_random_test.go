package agentlog

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
)

// newerGenerators write sessions of newer agents.
var newerGenerators = map[string]func(*sessionGenerator) string{
	"qwen-code": func(s *sessionGenerator) string {
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
	"copilot": func(s *sessionGenerator) string {
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
	"continue": func(s *sessionGenerator) string {
		var history []fields
		for range 2 + s.r.IntN(3) {
			history = append(history, fields{"message": fields{"role": "user", "content": s.said()}, "contextItems": []string{}},
				fields{"message": fields{"role": "assistant", "content": "done"}, "contextItems": []string{}})
		}
		return ordered(fields{"sessionId": "s", "title": "T", "workspaceDirectory": "/p", "history": history})
	},
	"cline-3": func(s *sessionGenerator) string {
		var all []fields
		for range 2 + s.r.IntN(3) {
			all = append(all, fields{"role": "user", "content": s.said()}, fields{"role": "assistant", "content": []fields{{"type": "tool_use", "id": s.id("toolu_"), "name": "x", "input": fields{}}}})
		}
		return ordered(fields{"version": 1, "updated_at": s.stamp(), "agent": "x", "sessionId": "s", "systemPrompt": "x", "messages": all})
	},
}

// TestRepairOfRandomDamage checks that the repair of any damage ends, causes no fault, is
// idempotent, and loses no text of the user.
func TestRepairOfRandomDamage(t *testing.T) {
	said := regexp.MustCompile(`userb?\d{4}`)
	for _, client := range slices.Sorted(maps.Keys(newerGenerators)) {
		for n := range trial.Histories(300) {
			seed := trial.FirstSeed() + uint64(n)
			r := rand.New(rand.NewPCG(29, seed))
			raw := newerGenerators[client](&sessionGenerator{r: r})
			other := newerGenerators[client](&sessionGenerator{r: r, seed: "b"})
			var done []string
			for range r.IntN(4) {
				m := corruptions[r.IntN(len(corruptions))]
				raw = m.hit(r, raw, other)
				done = append(done, m.name)
			}
			bad := func(format string, args ...any) {
				t.Errorf("%s, seed %d: %v: %s", client, seed, done, fmt.Sprintf(format, args...))
			}
			name := client + ".jsonl"
			l, err := Read(name, []byte(strings.TrimPrefix(raw, "\ufeff")), Options{})
			if errors.Is(err, ErrFormat) {
				continue // too damaged to be detected
			}
			if err != nil {
				bad("%v", err)
				continue
			}
			fixed, err := l.Fix(Options{})
			if err != nil {
				bad("%v", err)
				continue
			}
			for _, word := range said.FindAllString(raw, -1) {
				if !bytes.Contains(fixed.Raw, []byte(word)) {
					bad("%s is lost", word)
				}
			}
			again, err := Read(name, fixed.Raw, Options{Format: l.Format})
			if err != nil {
				bad("%v", err)
				continue
			}
			if twice, err := again.Fix(Options{}); err != nil || !bytes.Equal(twice.Raw, fixed.Raw) {
				bad("a second repair changes something: %v, %v", err, twice.Changes)
			}
			if len(again.Sent()) < len(l.Sent()) {
				bad("nothing is sent any more")
			}
		}
	}
}
