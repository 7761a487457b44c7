package corpus

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

// Sessions assembles agents' sessions into the requests that they would have become, by agent.
// It reads agents' own files only as far as tests of requests need. Callers must not change
// the bytes.
func Sessions(t testing.TB) []Body {
	t.Helper()
	return sessions.get(func() []Body {
		c := &collection{t: t}
		c.tau()
		c.sweAgent()
		c.gym()
		c.claudeCode()
		c.pi()
		c.codex()
		c.cline()
		return c.all
	})
}

var sessions once[Body]

type collection struct {
	t   testing.TB
	all []Body
}

func (c *collection) add(group, name string, body []byte) {
	c.all = append(c.all, Body{Group: group, Name: name, Raw: body})
}

func (c *collection) files(pattern string) []File { return Files(c.t, pattern) }
func (c *collection) decode(data []byte, v any)   { c.t.Helper(); decode(c.t, data, v) }

// CodexEnvelopes is the group of rollouts of Codex in their newer layout.
const CodexEnvelopes = "Codex, in envelopes (as gpt-5-codex)"

type object = map[string]json.RawMessage

// tau takes the runs of tau-bench.
func (c *collection) tau() {
	for _, f := range c.files("openai_chat/*tau-bench*") {
		var runs []struct{ Traj json.RawMessage }
		c.decode(f.Raw, &runs)
		for j, run := range runs {
			c.add("tau-bench (gpt-4o)", fmt.Sprintf("%s #%d", f.Base, j), encode(object{"model": []byte(`"gpt-4o"`), "messages": run.Traj}))
		}
	}
}

// sweAgent takes the histories of SWE-agent; the model is not in them.
func (c *collection) sweAgent() {
	for _, f := range c.files("openai_chat/*.traj*") {
		var run struct{ History json.RawMessage }
		c.decode(f.Raw, &run)
		c.add("SWE-agent (as gpt-4o)", f.Base, encode(object{"model": []byte(`"gpt-4o"`), "messages": run.History}))
	}
}

// gym reads rollouts of NeMo Gym: the prompt and the reply.
func (c *collection) gym() {
	for _, f := range c.files("openai_responses/*rollouts.jsonl*") {
		j := 0
		values(f.Raw, func(v json.RawMessage) {
			j++
			var run struct {
				Params   object `json:"responses_create_params"`
				Response struct {
					Model  string
					Output []json.RawMessage
				}
			}
			c.decode(v, &run)
			var input []json.RawMessage
			if raw := run.Params["input"]; len(raw) > 0 && raw[0] == '"' {
				input = []json.RawMessage{encode(object{"role": []byte(`"user"`), "content": raw})}
			} else {
				c.decode(raw, &input)
			}
			body := object{"model": encode(run.Response.Model), "input": encode(append(input, run.Response.Output...))}
			for _, key := range []string{"instructions", "tools"} {
				if v := run.Params[key]; len(v) > 0 && v[0] != 'n' {
					body[key] = v
				}
			}
			c.add("NeMo Gym rollouts", fmt.Sprintf("%s #%d", f.Base, j), encode(body))
		})
	}
}

// A line is one of a session of Claude Code.
type line struct {
	Type        string
	Subtype     string
	IsSidechain bool
	Message     struct {
		ID      string
		Role    string
		Model   string
		Content json.RawMessage
	}
}

// claudeCode reads the messages of sessions, those of sub-agents separately. A compacted
// session is several histories, because a request after a compaction starts with its summary.
// It is also read as one history, as if it had not been compacted.
func (c *collection) claudeCode() {
	for _, f := range c.files("claude_code/*") {
		main, side := [][]line{nil}, [][]line{nil}
		values(f.Raw, func(v json.RawMessage) {
			var l line
			if json.Unmarshal(v, &l) != nil {
				return
			}
			parts := &main
			if l.IsSidechain {
				parts = &side
			}
			last := &(*parts)[len(*parts)-1]
			switch {
			case l.Subtype == "compact_boundary" && len(*last) > 0:
				*parts = append(*parts, nil)
			case (l.Type == "user" || l.Type == "assistant") && len(l.Message.Content) > 0 && l.Message.Model != "<synthetic>":
				*last = append(*last, l)
			}
		})
		c.claudeParts(f.Base, main)
		c.claudeParts(f.Base+" (sub-agents)", side)
	}
}

func (c *collection) claudeParts(name string, parts [][]line) {
	for j, part := range parts {
		c.claudePart("Claude Code", fmt.Sprintf("%s #%d", name, j+1), part)
	}
	if len(parts) > 1 {
		c.claudePart("Claude Code, never compacted", name, slices.Concat(parts...))
	}
}

func (c *collection) claudePart(group, name string, lines []line) {
	if len(lines) < 3 {
		return
	}
	type message struct {
		Role    string            `json:"role"`
		Content []json.RawMessage `json:"content"`
	}
	var list []message
	model, last := "", ""
	for _, l := range lines {
		var blocks []json.RawMessage
		if l.Message.Content[0] == '"' {
			blocks = []json.RawMessage{encode(object{"type": []byte(`"text"`), "text": l.Message.Content})}
		} else {
			c.decode(l.Message.Content, &blocks)
		}
		if l.Message.Model != "" {
			model = l.Message.Model
		}
		// A message of the model is spread over lines; results come one per line.
		if n := len(list); n > 0 && list[n-1].Role == l.Message.Role && (l.Message.Role == "user" || l.Message.ID == last) {
			list[n-1].Content = append(list[n-1].Content, blocks...)
		} else {
			list = append(list, message{l.Message.Role, blocks})
		}
		last = l.Message.ID
	}
	c.add(group, name, encode(object{"model": encode(model), "max_tokens": []byte("8192"), "messages": encode(list)}))
}

// pi takes the session of pi and writes it as Anthropic's API has it.
func (c *collection) pi() {
	type block struct {
		Type      string          `json:"type"`
		Text      string          `json:"text,omitempty"`
		ID        string          `json:"id,omitempty"`
		Name      string          `json:"name,omitempty"`
		Arguments json.RawMessage `json:"arguments,omitempty"`
		Input     json.RawMessage `json:"input,omitempty"`
		ToolUseID string          `json:"tool_use_id,omitempty"`
		IsError   bool            `json:"is_error,omitempty"`
		Content   []block         `json:"content,omitempty"`
	}
	type message struct {
		Role       string  `json:"role"`
		Content    []block `json:"content"`
		ToolCallID string  `json:"toolCallId,omitempty"`
		IsError    bool    `json:"isError,omitempty"`
	}
	for _, f := range c.files("pi_session/*") {
		var list []message
		values(f.Raw, func(v json.RawMessage) {
			var l struct {
				Type    string
				Message message
			}
			c.decode(v, &l)
			if l.Type != "message" || len(l.Message.Content) == 0 {
				return
			}
			m := l.Message
			var blocks []block
			for _, b := range m.Content {
				switch b.Type {
				case "thinking": // unsigned
				case "toolCall":
					blocks = append(blocks, block{Type: "tool_use", ID: b.ID, Name: b.Name, Input: b.Arguments})
				default:
					blocks = append(blocks, b)
				}
			}
			if m.Role == "toolResult" {
				blocks = []block{{Type: "tool_result", ToolUseID: m.ToolCallID, IsError: m.IsError, Content: blocks}}
				m.Role = "user"
			}
			if n := len(list); n > 0 && list[n-1].Role == m.Role {
				list[n-1].Content = append(list[n-1].Content, blocks...)
			} else {
				list = append(list, message{Role: m.Role, Content: blocks})
			}
		})
		c.add("pi", f.Base, encode(object{"model": []byte(`"claude-sonnet-4-5"`), "messages": encode(list)}))
	}
}

// codex reads the items of rollouts, which the newer layout wraps in envelopes. They do not
// contain the model.
func (c *collection) codex() {
	for _, f := range c.files("codex_rollout/*") {
		group := "Codex (as gpt-5-codex)"
		var items []json.RawMessage
		body := object{"model": []byte(`"gpt-5-codex"`), "store": []byte("false")}
		values(f.Raw, func(v json.RawMessage) {
			var l struct {
				Type         string
				Instructions json.RawMessage
				Payload      json.RawMessage
			}
			c.decode(v, &l)
			switch {
			case l.Payload != nil:
				group = CodexEnvelopes
				if l.Type == "response_item" {
					items = append(items, l.Payload)
				}
			case l.Type != "":
				items = append(items, v)
			case l.Instructions != nil:
				body["instructions"] = l.Instructions
			}
		})
		body["input"] = encode(items)
		c.add(group, f.Base, encode(body))
	}
}

// cline takes tasks of Cline, whose results came back as plain text: that text is
// made the result of the call before it. The model is that of its recorded info.
func (c *collection) cline() {
	type message struct {
		Role    string            `json:"role"`
		Content []json.RawMessage `json:"content"`
	}
	for _, f := range c.files("cline/*") {
		var list []message
		c.decode(f.Raw, &list)
		open := ""
		for j := range list {
			m := &list[j]
			for k, raw := range m.Content {
				var b struct{ Type, ID, Text string }
				c.decode(raw, &b)
				switch {
				case b.Type == "tool_use":
					open = b.ID
				case m.Role == "user" && open != "" && b.Type == "text":
					m.Content[k] = encode(object{"type": []byte(`"tool_result"`), "tool_use_id": encode(open), "content": encode(b.Text)})
					open = ""
				}
			}
		}
		c.add("Cline (as claude-opus-4-5)", f.Base, encode(object{"model": []byte(`"claude-opus-4-5"`), "messages": encode(list)}))
	}
}
