package agentlog

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// A sessionGenerator writes a random session of an agent by the description of its format. Each
// text of the user contains a unique word: userN.
type sessionGenerator struct {
	r     *rand.Rand
	lines []string
	n     int
	seed  string // distinguishes the ids of two sessions
}

func (s *sessionGenerator) id(kind string) string {
	s.n++
	return fmt.Sprintf("%s%s%04d", kind, s.seed, s.n)
}

// line writes an object.
func (s *sessionGenerator) line(f fields) { s.lines = append(s.lines, ordered(f)) }

// ordered returns the JSON of a value, with the agent's usual first members first.
func ordered(v any) string {
	var b strings.Builder
	switch v := v.(type) {
	case []fields:
		for i, f := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(ordered(f))
		}
		return "[" + b.String() + "]"
	case fields:
		first := []string{"parentUuid", "timestamp", "type", "role", "id", "parentId", "sessionId"}
		if v["payload"] == nil { // others end with their time
			first = slices.Delete(first, 1, 2)
		}
		rest := slices.DeleteFunc(slices.Sorted(maps.Keys(v)), func(name string) bool { return slices.Contains(first, name) })
		for _, name := range append(first, rest...) {
			if value, ok := v[name]; ok {
				if b.Len() > 0 {
					b.WriteByte(',')
				}
				fmt.Fprintf(&b, "%q:%s", name, ordered(value))
			}
		}
		return "{" + b.String() + "}"
	}
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func (s *sessionGenerator) stamp() string {
	s.n++
	// No two sessions share a time.
	return fmt.Sprintf("2026-03-01T%02d:%02d:%02d.%03dZ", 10+s.n/3600, s.n/60%60, s.n%60, s.n%7+100*len(s.seed))
}

func (s *sessionGenerator) said() string {
	return fmt.Sprintf("please do user%s%04d, \"now\"", s.seed, s.n+1)
}

func (s *sessionGenerator) chance(n int) bool { return s.r.IntN(n) == 0 }

// generators write sessions, by the name of the client.
var generators = map[string]struct {
	file  string
	write func(*sessionGenerator)
}{
	"claude-code":   {"aaaaaaaa-0000-4000-8000-000000000001.jsonl", func(s *sessionGenerator) { s.claude(2) }},
	"claude-code-1": {"aaaaaaaa-0000-4000-8000-000000000001.jsonl", func(s *sessionGenerator) { s.claude(1) }},
	"codex":         {"rollout-2026-03-01T10-00-00-01a1e58d-bf7f-7f72-97ae-27f5aaeffe3d.jsonl", (*sessionGenerator).codex},
	"pi":            {"2026-03-01T10-00-00-000Z_01a1e58d-bf7f-7f72-97ae-27f5aaeffe3d.jsonl", (*sessionGenerator).pi},
	"gemini-cli":    {"session-2026-03-01T10-00-01a1e58d.jsonl", (*sessionGenerator).gemini},
}

// claude writes a session of Claude Code. From version 2 on each line of a message is the parent of
// its own result; before that, each line is a child of the preceding one.
func (s *sessionGenerator) claude(version int) {
	session := "aaaaaaaa-0000-4000-8000-000000000001"
	if s.seed != "" {
		session = "bbbbbbbb-0000-4000-8000-000000000002"
	}
	number := map[int]string{1: "1.0.128", 2: "2.1.325"}[version]
	up := any(nil)
	link := func(parent any, kind string, more fields) string {
		id := s.id("uuid-")
		f := fields{"parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": "/p", "sessionId": session, "version": number, "type": kind, "uuid": id, "timestamp": s.stamp()}
		for k, v := range more {
			f[k] = v
		}
		s.line(f)
		return id
	}
	user := func(parent any, content any, more fields) string {
		f := fields{"message": fields{"role": "user", "content": content}}
		for k, v := range more {
			f[k] = v
		}
		return link(parent, "user", f)
	}
	block := func(parent any, message string, b fields, more fields) string {
		f := fields{"message": fields{"id": message, "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": []fields{b}}}
		for k, v := range more {
			f[k] = v
		}
		return link(parent, "assistant", f)
	}
	result := func(parent any, call string, more fields) string {
		return user(parent, []fields{{"type": "tool_result", "tool_use_id": call, "content": "output of " + call}}, more)
	}
	reply := func(parent any, more fields) any { // one message and the results of its calls
		message := s.id("msg_")
		if s.chance(2) {
			parent = block(parent, message, fields{"type": "text", "text": "let me see"}, more)
		}
		type call struct{ line, id string }
		var calls []call
		for range s.r.IntN(4) {
			c := call{id: s.id("toolu_")}
			c.line = block(parent, message, fields{"type": "tool_use", "id": c.id, "name": "Bash", "input": fields{"command": "ls"}}, more)
			parent = c.line
			calls = append(calls, c)
		}
		for _, c := range calls {
			if s.chance(12) {
				return parent // killed
			}
			on := any(c.line)
			if version == 1 {
				on = parent
			}
			parent = result(on, c.id, more)
		}
		return block(parent, s.id("msg_"), fields{"type": "text", "text": "done"}, more)
	}
	if s.chance(2) {
		s.line(fields{"type": "file-history-snapshot", "messageId": s.id("x"), "snapshot": fields{}})
	}
	for turn := range 2 + s.r.IntN(5) {
		if turn > 1 && s.chance(6) { // compacted
			up = link(nil, "system", fields{"subtype": "compact_boundary", "content": "Conversation compacted", "logicalParentUuid": up, "compactMetadata": fields{"trigger": "auto", "preTokens": 9}})
			up = user(up, "This session is being continued: "+s.said(), fields{"isCompactSummary": true})
		}
		if s.chance(8) {
			up = link(up, "system", fields{"subtype": "informational", "content": "x"})
		}
		if s.chance(8) {
			up = link(up, "attachment", fields{"attachment": fields{"type": "x"}})
		}
		if s.chance(8) {
			s.line(fields{"type": "of-tomorrow", "sessionId": session, "payload": fields{"a": 1}})
		}
		from := up
		up = user(up, s.said(), fields{"of-tomorrow": true})
		if s.chance(8) { // undone
			up = from
			up = user(up, s.said(), nil)
		}
		if version == 1 && s.chance(5) { // a sub-agent
			side := fields{"isSidechain": true}
			on := any(user(nil, "task for a sub-agent", side))
			for range 1 + s.r.IntN(2) {
				on = reply(on, side)
			}
		}
		for range 1 + s.r.IntN(2) {
			up = reply(up, nil)
		}
	}
	if version == 2 && s.chance(3) {
		s.line(fields{"type": "last-prompt", "lastPrompt": "x", "leafUuid": up, "sessionId": session})
	}
}

// codex writes a rollout.
func (s *sessionGenerator) codex() {
	ordinals, n := s.chance(2), 0
	record := func(kind string, payload fields) {
		f := fields{"timestamp": s.stamp(), "type": kind, "payload": payload}
		if ordinals {
			f["ordinal"] = n
		}
		n++
		s.line(f)
	}
	says := func(role, text string) fields {
		kind := map[string]string{"user": "input_text", "assistant": "output_text"}[role]
		return fields{"type": "message", "role": role, "content": []fields{{"type": kind, "text": text}}}
	}
	id := "01a1e58d-bf7f-7f72-97ae-27f5aaeffe3d"
	if s.seed != "" {
		id = "02a1e58d-bf7f-7f72-97ae-27f5aaeffe3d"
	}
	head := fields{"id": id, "timestamp": s.stamp(), "cwd": "/p", "originator": "codex_cli_rs", "cli_version": "0.166.0"}
	if ordinals {
		head["history_mode"] = "paginated"
	}
	record("session_meta", head)
	record("response_item", says("user", "<environment_context>x</environment_context>"))
	var spoken []string
	for turn := range 2 + s.r.IntN(5) {
		if turn > 1 && s.chance(6) {
			var kept []fields
			for _, text := range spoken {
				kept = append(kept, says("user", text))
			}
			record("compacted", fields{"message": "", "replacement_history": append(kept, says("user", "a summary"))})
		}
		record("turn_context", fields{"cwd": "/p", "model": "gpt-5", "of-tomorrow": 1})
		text := s.said()
		spoken = append(spoken, text)
		event := fields{"type": "user_message", "message": text, "images": []string{}}
		if s.chance(2) {
			record("event_msg", event)
			record("response_item", says("user", text))
		} else {
			record("response_item", says("user", text))
			record("event_msg", event)
		}
		for range 1 + s.r.IntN(2) {
			if s.chance(2) {
				record("response_item", fields{"type": "reasoning", "summary": []string{}, "encrypted_content": "x"})
			}
			var calls []string
			for range s.r.IntN(4) {
				c := s.id("call_")
				calls = append(calls, c)
				record("response_item", fields{"type": "function_call", "name": "shell", "arguments": "{}", "call_id": c})
			}
			for _, c := range calls {
				if !s.chance(12) {
					record("response_item", fields{"type": "function_call_output", "call_id": c, "output": "output of " + c})
				}
			}
			if s.chance(8) {
				record("of_tomorrow", fields{"type": "x"})
			}
			record("response_item", says("assistant", "done"))
		}
	}
}

// pi writes a session of version 3.
func (s *sessionGenerator) pi() {
	s.line(fields{"type": "session", "version": 3, "id": "01a1e58d-bf7f-7f72-97ae-27f5aaeffe3d" + s.seed, "timestamp": s.stamp(), "cwd": "/p"})
	up := any(nil)
	var path []string
	entry := func(kind string, more fields) {
		id := s.id("e")
		f := fields{"type": kind, "id": id, "parentId": up, "timestamp": s.stamp()}
		for k, v := range more {
			f[k] = v
		}
		s.line(f)
		up = id
		path = append(path, id)
	}
	message := func(m fields) { m["timestamp"] = s.n; entry("message", fields{"message": m}) }
	entry("model_change", fields{"provider": "anthropic", "modelId": "claude-sonnet-4-5"})
	for turn := range 2 + s.r.IntN(5) {
		if turn > 1 && s.chance(6) {
			entry("compaction", fields{"summary": "what was", "firstKeptEntryId": path[len(path)-1-s.r.IntN(min(3, len(path)))], "tokensBefore": 9})
		}
		if s.chance(8) {
			entry("of-tomorrow", fields{"x": 1})
		}
		from, known := up, len(path)
		message(fields{"role": "user", "content": []fields{{"type": "text", "text": s.said()}}})
		if s.chance(8) { // undone
			up, path = from, path[:known]
			message(fields{"role": "user", "content": s.said()})
		}
		for range 1 + s.r.IntN(2) {
			content := []fields{{"type": "text", "text": "let me see"}}
			var calls []string
			for range s.r.IntN(4) {
				c := s.id("toolu_")
				calls = append(calls, c)
				content = append(content, fields{"type": "toolCall", "id": c, "name": "bash", "arguments": fields{}})
			}
			message(fields{"role": "assistant", "content": content, "model": "claude-sonnet-4-5", "stopReason": "toolUse"})
			for _, c := range calls {
				if !s.chance(12) {
					message(fields{"role": "toolResult", "toolCallId": c, "toolName": "bash", "content": []fields{{"type": "text", "text": "output of " + c}}, "isError": false})
				}
			}
		}
		message(fields{"role": "assistant", "content": []fields{{"type": "text", "text": "done"}}, "model": "claude-sonnet-4-5", "stopReason": "stop"})
	}
}

// gemini writes a chat of lines.
func (s *sessionGenerator) gemini() {
	s.line(fields{"sessionId": "01a1e58d-bf7f-7f72-97ae-27f5aaeffe3d" + s.seed, "projectHash": "h", "startTime": s.stamp(), "lastUpdated": s.stamp(), "kind": "main"})
	var all []fields
	put := func(f fields) {
		f["id"], f["timestamp"] = s.id("m"), s.stamp()
		s.line(f)
		all = append(all, f)
	}
	for range 2 + s.r.IntN(5) {
		put(fields{"type": "user", "content": []fields{{"text": s.said()}}})
		for range 1 + s.r.IntN(2) {
			m := fields{"type": "gemini", "content": "let me see", "model": "gemini-2.5-pro"}
			if s.chance(3) {
				put(m)
				continue
			}
			m["content"] = ""
			var calls []fields
			var responses []fields
			for range 1 + s.r.IntN(3) {
				c := s.id("call_")
				response := fields{"functionResponse": fields{"id": c, "name": "ls", "response": fields{"output": "output of " + c}}}
				calls = append(calls, fields{"id": c, "name": "ls", "args": fields{}, "status": "success", "result": []fields{response}})
				responses = append(responses, response)
			}
			m["toolCalls"] = calls
			put(m)
			_ = responses
		}
		if s.chance(6) { // resumed
			s.line(fields{"sessionId": "01a1e58d-bf7f-7f72-97ae-27f5aaeffe3d" + s.seed, "projectHash": "h", "startTime": s.stamp(), "lastUpdated": s.stamp(), "kind": "main"})
			s.line(fields{"$set": fields{"messages": all, "lastUpdated": s.stamp()}})
		}
		if s.chance(8) {
			s.line(fields{"$set": fields{"summary": "x"}})
		}
	}
}

// joinLines returns a file with the given lines.
func joinLines(lines []string) string { return strings.Join(lines, "\n") + "\n" }
