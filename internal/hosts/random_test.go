package hosts

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// A listMaker generates random lists of a shape. Every element and part has a unique mark in a
// member that Pare does not know, so that a test can find it again.
type listMaker struct {
	r     *rand.Rand
	shape string
	n     int // for marks and ids
	words []string
}

type obj = map[string]any

func (m *listMaker) mark() int { m.n++; return m.n }

func (m *listMaker) id() string { return fmt.Sprintf("call:%d", m.mark()) }

func (m *listMaker) word(who string) string {
	w := fmt.Sprintf("%s-%d %s", who, m.mark(), strings.Repeat("word ", m.r.IntN(30)))
	m.words = append(m.words, strings.Fields(w)[0])
	return w
}

// A turn is a turn of the model: a text and calls with their results.
type turn struct {
	say, think string
	calls      []toolCall
}

type toolCall struct {
	id, name, output string
	answered, failed bool
	rich             bool // the output is a list of parts
}

func (m *listMaker) turn() (t turn) {
	if m.r.IntN(2) == 0 {
		t.say = m.word("model")
	}
	if m.r.IntN(3) == 0 {
		t.think = m.word("thought")
	}
	for range m.r.IntN(4) {
		t.calls = append(t.calls, toolCall{m.id(), []string{"read", "bash", "edit"}[m.r.IntN(3)], m.word("output"), m.r.IntN(12) > 0, m.r.IntN(5) == 0, m.r.IntN(4) == 0})
	}
	if t.say == "" && len(t.calls) == 0 {
		t.say = m.word("model")
	}
	return t
}

// list returns a random list as JSON: valid except for unanswered calls, or damaged.
func (m *listMaker) list(damaged bool) []byte {
	var all []any
	if m.r.IntN(2) == 0 {
		all = append(all, m.says("system", m.word("system")))
	}
	for range 1 + m.r.IntN(5) {
		all = append(all, m.says("user", m.word("user")))
		for range m.r.IntN(4) {
			all = append(all, m.turns(m.turn())...)
		}
	}
	if m.r.IntN(2) == 0 {
		all = append(all, m.says("user", m.word("user")))
	}
	if damaged {
		for range 1 + m.r.IntN(2) {
			all = m.damage(all)
		}
	}
	var whole any = all
	if m.r.IntN(3) == 0 {
		whole = obj{"id": "chat", findShape(m.shape).listMembers[0]: all, "mine": m.mark()}
	}
	raw, err := json.Marshal(whole)
	if err != nil {
		panic(err)
	}
	if m.r.IntN(4) == 0 {
		raw, _ = json.MarshalIndent(whole, "", "  ")
	}
	return raw
}

// damage removes, repeats or moves an element.
func (m *listMaker) damage(all []any) []any {
	if len(all) < 3 {
		return all
	}
	i, k := m.r.IntN(len(all)), m.r.IntN(len(all))
	out := append([]any{}, all...)
	switch m.r.IntN(4) {
	case 0:
		return append(out[:i], out[i+1:]...)
	case 1:
		return append(out[:k:k], append([]any{all[i]}, out[k:]...)...)
	case 2:
		out = append(out[:i], out[i+1:]...)
		k = min(k, len(out))
		return append(out[:k:k], append([]any{all[i]}, out[k:]...)...)
	}
	return all[:k+1]
}

func (m *listMaker) says(role, text string) any {
	parts := []any{obj{"type": "text", "text": text, "mine": m.mark()}}
	var content any = parts
	if role == "system" || m.r.IntN(2) == 0 {
		content = text
	}
	switch m.shape {
	case "pi":
		return obj{"role": role, "content": content, "timestamp": m.n, "mine": m.mark()}
	case "ai-sdk":
		return obj{"role": role, "content": content, "mine": m.mark()}
	case "ai-sdk-ui":
		return obj{"id": fmt.Sprint("m", m.mark()), "role": role, "parts": parts, "mine": m.mark()}
	case "langchain":
		return m.langChain(map[string]string{"system": "System", "user": "Human", "assistant": "AI"}[role], obj{"content": content})
	case "agents-api":
		return m.envelope("text", role, text, obj{}, obj{})
	case "openai-agents":
		return obj{"type": "message", "role": role, "content": text, "mine": m.mark()}
	case "sharegpt":
		return obj{"from": map[string]string{"system": "system", "user": "human", "assistant": "gpt"}[role], "value": text, "mine": m.mark()}
	}
	return obj{"info": obj{"id": fmt.Sprint("m", m.mark()), "sessionID": "s", "role": role, "time": obj{"created": m.n}, "mine": m.n}, "parts": parts}
}

func (m *listMaker) langChain(class string, kwargs obj) any {
	kwargs["mine"] = m.mark()
	switch m.n / 1000 % 3 { // one form per list
	case 0:
		return obj{"lc": 1, "type": "constructor", "id": []string{"langchain_core", "messages", class + "Message"}, "kwargs": kwargs}
	case 1:
		return obj{"type": strings.ToLower(class), "data": kwargs}
	}
	kwargs["type"] = strings.ToLower(class)
	return kwargs
}

func (m *listMaker) envelope(kind, role, content string, payload, metadata obj) any {
	return obj{"schema": "agents-api.message", "version": 1, "type": kind, "role": role, "content": content, "payload": payload, "metadata": metadata, "mine": m.mark()}
}

// turns returns the elements of a turn in the shape.
func (m *listMaker) turns(t turn) (all []any) {
	switch m.shape {
	case "agents-api":
		return m.envelopes(t)
	case "openai-agents":
		return m.items(t)
	case "sharegpt":
		return m.lines(t)
	case "langchain":
		return m.langChainTurn(t)
	case "ai-sdk-ui", "opencode":
		return m.fused(t)
	}
	var parts []any
	if t.think != "" {
		parts = append(parts, map[string]obj{"pi": {"type": "thinking", "thinking": t.think, "thinkingSignature": "s"}, "ai-sdk": {"type": "reasoning", "text": t.think}}[m.shape])
	}
	if t.say != "" {
		parts = append(parts, obj{"type": "text", "text": t.say, "mine": m.mark()})
	}
	var results []any
	for _, c := range t.calls {
		if m.shape == "pi" {
			parts = append(parts, obj{"type": "toolCall", "id": c.id, "name": c.name, "arguments": obj{"path": c.output}, "mine": m.mark()})
			if c.answered {
				results = append(results, obj{"role": "toolResult", "toolCallId": c.id, "toolName": c.name, "content": m.rich(c), "isError": c.failed, "timestamp": m.n, "mine": m.mark()})
			}
			continue
		}
		parts = append(parts, obj{"type": "tool-call", "toolCallId": c.id, "toolName": c.name, "input": obj{"path": c.output}, "mine": m.mark()})
		if c.answered {
			output := obj{"type": "text", "value": c.output}
			if c.rich {
				output = []obj{{"type": "json", "value": obj{"k": []any{1.5, c.output}}}, {"type": "error-text", "value": c.output}, {"type": "content", "value": m.rich(c)}}[m.r.IntN(3)]
			}
			results = append(results, obj{"type": "tool-result", "toolCallId": c.id, "toolName": c.name, "output": output, "mine": m.mark()})
		}
	}
	said := obj{"role": "assistant", "content": parts, "mine": m.mark()}
	if m.shape == "pi" {
		said["api"], said["stopReason"] = "x", "toolUse"
		return append([]any{said}, results...)
	}
	if all = []any{said}; len(results) > 0 {
		all = append(all, obj{"role": "tool", "content": results, "mine": m.mark()})
	}
	return all
}

// rich returns an output as a list of parts.
func (m *listMaker) rich(c toolCall) []any {
	parts := []any{obj{"type": "text", "text": c.output, "mine": m.mark()}}
	if c.rich {
		parts = append(parts, obj{"type": "image", "data": "aGFsbG8=", "mimeType": "image/png"}, obj{"type": "text", "text": "and"})
	}
	return parts
}

func (m *listMaker) envelopes(t turn) (all []any) {
	if t.say != "" {
		all = append(all, m.envelope("text", "assistant", t.say, obj{}, obj{}))
	}
	var results []any
	for _, c := range t.calls {
		meta := obj{"tool_call_id": c.id}
		if m.r.IntN(3) == 0 {
			meta = obj{}
		}
		all = append(all, m.envelope("tool_call", "assistant", "", obj{"tool_name": c.name, "parameters": obj{"path": c.output}, "turn": 1}, meta))
		if c.answered {
			results = append(results, m.envelope("tool_result", "user", c.output, obj{"tool_name": c.name, "success": !c.failed}, meta))
		}
	}
	return append(all, results...)
}

func (m *listMaker) langChainTurn(t turn) (all []any) {
	kwargs := obj{"content": t.say}
	var calls, parts, copies []any
	if t.think != "" {
		parts = append(parts, obj{"type": "reasoning", "reasoning": t.think})
	}
	if t.say != "" {
		parts = append(parts, obj{"type": "text", "text": t.say, "mine": m.mark()})
	}
	listed := t.think != "" || m.r.IntN(3) == 0
	for _, c := range t.calls {
		calls = append(calls, obj{"name": c.name, "args": obj{"path": c.output}, "id": c.id, "type": "tool_call", "mine": m.mark()})
		if listed {
			parts = append(parts, obj{"type": "tool_use", "name": c.name, "input": obj{"path": c.output}, "id": c.id, "mine": m.mark()})
		} else {
			copies = append(copies, obj{"id": c.id, "type": "function", "function": obj{"name": c.name, "arguments": `{"path":1}`}})
		}
	}
	if calls != nil {
		kwargs["tool_calls"] = calls
	}
	if listed {
		kwargs["content"] = parts
	} else if copies != nil {
		kwargs["additional_kwargs"] = obj{"tool_calls": copies, "mine": m.mark()}
	}
	all = append(all, m.langChain("AI", kwargs))
	for _, c := range t.calls {
		if c.answered {
			kw := obj{"content": c.output, "tool_call_id": c.id, "name": c.name}
			if c.failed {
				kw["status"] = "error"
			}
			all = append(all, m.langChain("Tool", kw))
		}
	}
	return all
}

// fused returns a turn with results in the parts of their calls.
func (m *listMaker) fused(t turn) []any {
	parts := []any{obj{"type": "step-start", "mine": m.mark()}}
	if t.think != "" {
		parts = append(parts, obj{"type": "reasoning", "text": t.think, "mine": m.mark()})
	}
	if t.say != "" {
		parts = append(parts, obj{"type": "text", "text": t.say, "mine": m.mark()})
	}
	for _, c := range t.calls {
		if m.shape == "opencode" {
			state := obj{"status": "running", "input": obj{"path": c.output}, "time": obj{"start": m.n}}
			switch {
			case c.answered && c.failed:
				state["status"], state["error"] = "error", c.output
			case c.answered:
				state["status"], state["output"], state["title"], state["metadata"] = "completed", c.output, "", obj{"mine": m.mark()}
			}
			parts = append(parts, obj{"id": fmt.Sprint("p", m.mark()), "type": "tool", "callID": c.id, "tool": c.name, "state": state, "mine": m.mark()})
			continue
		}
		p := obj{"type": "tool-" + c.name, "toolCallId": c.id, "state": "input-available", "input": obj{"path": c.output}, "mine": m.mark()}
		switch {
		case c.answered && c.failed:
			p["state"], p["errorText"] = "output-error", c.output
		case c.answered && c.rich:
			p["state"], p["output"] = "output-available", obj{"deep": []any{1.25, c.output}}
		case c.answered:
			p["state"], p["output"] = "output-available", c.output
		}
		parts = append(parts, p)
	}
	if m.shape == "opencode" {
		return []any{obj{"info": obj{"id": fmt.Sprint("m", m.mark()), "sessionID": "s", "role": "assistant", "time": obj{"created": m.n}, "mine": m.n}, "parts": parts}}
	}
	return []any{obj{"id": fmt.Sprint("m", m.mark()), "role": "assistant", "parts": parts, "mine": m.mark()}}
}

func (m *listMaker) items(t turn) (all []any) {
	if t.think != "" {
		all = append(all, obj{"type": "reasoning", "content": []any{obj{"type": "input_text", "text": t.think}}, "mine": m.mark()})
	}
	if t.say != "" {
		all = append(all, obj{"type": "message", "role": "assistant", "status": "completed", "content": []any{obj{"type": "output_text", "text": t.say, "mine": m.mark()}}, "mine": m.mark()})
	}
	var results []any
	for _, c := range t.calls {
		all = append(all, obj{"type": "function_call", "callId": c.id, "name": c.name, "arguments": `{"path":1}`, "status": "completed", "mine": m.mark()})
		if c.answered {
			var output any = obj{"type": "text", "text": c.output, "mine": m.mark()}
			if c.rich {
				output = []any{c.output, []any{obj{"type": "input_text", "text": c.output}, obj{"type": "input_image", "image": "https://x"}}}[m.r.IntN(2)]
			}
			results = append(results, obj{"type": "function_call_result", "callId": c.id, "name": c.name, "status": "completed", "output": output, "mine": m.mark()})
		}
	}
	return append(all, results...)
}

// lines returns a turn in the form of ShareGPT, with each call before its result.
func (m *listMaker) lines(t turn) (all []any) {
	if t.say != "" {
		all = append(all, m.says("assistant", t.say))
	}
	for _, c := range t.calls {
		if m.n/1000 == 1 { // one form per list
			all = append(all, obj{"from": "gpt", "value": "<tool_call>{\"name\":\"" + c.name + "\"}</tool_call>", "mine": m.mark()})
		} else {
			all = append(all, obj{"from": "function_call", "value": `{"name":"` + c.name + `"}`, "mine": m.mark()})
		}
		if c.answered {
			from := "observation"
			if m.n/1000 == 1 {
				from = "tool"
			}
			all = append(all, obj{"from": from, "value": c.output, "mine": m.mark()})
		}
	}
	return all
}
