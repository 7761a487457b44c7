package engine

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/wire"
)

// A beat is one element of a parley. Each has its own word, which begins with its kind, so that any
// text shows the elements that it contains.
type beat struct {
	is     byte // u: a person writes, i: shows a picture, t: the model thinks, s: says, c: calls, r: a tool answers
	word   string
	id     string
	failed bool
	long   int    // bytes beside the word
	alone  bool   // a message begins here, although the same voice goes on
	blank  bool   // it says nothing
	same   string // what it says in the place of its own
}

// A parley is a conversation as no provider writes it.
type parley struct {
	system string
	beats  []beat
}

func (k parley) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", k.system)
	for i, x := range k.beats {
		if i > 0 && (x.alone || x.voice() != k.beats[i-1].voice()) {
			b.WriteString(" |")
		}
		b.WriteString(" " + x.word)
		if x.id != "" {
			b.WriteString(":" + x.id)
		}
		if x.blank {
			b.WriteString("(blank)")
		}
	}
	return b.String()
}

// voice returns the role of a beat: user, assistant or tool.
func (b beat) voice() string {
	switch b.is {
	case 'u', 'i':
		return "user"
	case 'r':
		return "tool"
	}
	return "assistant"
}

func (b beat) text() string {
	if b.blank {
		return ""
	}
	if b.same != "" {
		return b.same
	}
	return b.word + strings.Repeat(" so it goes on", b.long/14)
}

// A talker makes talks.
type talker struct {
	r     *rand.Rand
	k     parley
	words int
	calls int
	// allowances
	images, thoughts, long bool
}

func (g *talker) chance(n int) bool { return g.r.IntN(n) == 0 }

func (g *talker) word(is byte) string {
	g.words++
	return fmt.Sprintf("%c%03dw", is, g.words)
}

func (g *talker) add(b beat) {
	b.word = g.word(b.is)
	g.k.beats = append(g.k.beats, b)
}

func (g *talker) parley() parley {
	g.k = parley{}
	if g.chance(2) {
		g.k.system = g.word('y')
	}
	turns := 1 + g.r.IntN(5)
	for i := range turns {
		g.turn(i == turns-1)
	}
	return g.k
}

func (g *talker) turn(last bool) {
	g.add(beat{is: 'u'})
	if g.images && g.chance(6) {
		g.add(beat{is: 'i'})
	}
	if g.chance(8) {
		g.add(beat{is: 'u'})
	}
	steps := g.r.IntN(5)
	for range steps {
		g.step()
	}
	if last && steps > 0 && g.chance(2) {
		return
	}
	if last && steps == 0 {
		return
	}
	g.think(4)
	g.add(beat{is: 's'})
	if last {
		g.add(beat{is: 'u'})
	}
}

func (g *talker) think(n int) {
	if g.thoughts && g.chance(n) {
		g.add(beat{is: 't'})
	}
}

// step is a turn of the model with calls, and their answers.
func (g *talker) step() {
	g.think(4)
	if g.chance(2) {
		g.add(beat{is: 's'})
	}
	var ids []string
	for range 1 + max(0, g.r.IntN(5)-2) {
		g.calls++
		ids = append(ids, fmt.Sprintf("id%07d", g.calls))
		g.add(beat{is: 'c', id: ids[len(ids)-1]})
	}
	if g.chance(3) {
		g.r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	}
	for _, id := range ids {
		b := beat{is: 'r', id: id, failed: g.chance(6)}
		if g.long && g.chance(2) {
			b.long = []int{900, 9000, 40000}[g.r.IntN(3)]
		}
		g.add(b)
	}
}

// A hand writes talks as one provider reads them.
type hand struct {
	d     wire.Dialect
	name  string
	write func(parley) map[string]any
}

var hands = []hand{
	{wire.Anthropic, "anthropic", anthropicTalk},
	{wire.OpenAIChat, "chat", func(k parley) map[string]any { return chatTalk(k, false) }},
	{wire.OpenAIChat, "chat-parts", func(k parley) map[string]any { return chatTalk(k, true) }},
	{wire.OpenAIResponses, "responses", responsesTalk},
	{wire.Gemini, "gemini", geminiTalk},
	{wire.Bedrock, "bedrock", bedrockTalk},
	{wire.GeminiInteractions, "interactions", interactionsTalk},
}

// body writes a parley down; members come in alphabetical order.
func (h hand) body(t testing.TB, k parley) []byte {
	t.Helper()
	raw, err := json.Marshal(h.write(k))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

type member = map[string]any

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

var schema = member{"type": "object", "properties": member{"path": member{"type": "string"}}}

func argsOf(b beat) member { return member{"path": b.text()} }

func argString(b beat) string {
	raw, _ := json.Marshal(argsOf(b))
	return string(raw)
}

// groups cuts a parley where another voice begins, or a message.
func (k parley) groups() [][]beat {
	var all [][]beat
	from := 0
	for i := 1; i <= len(k.beats); i++ {
		if i == len(k.beats) || k.beats[i].alone || k.beats[i].voice() != k.beats[i-1].voice() {
			all = append(all, k.beats[from:i])
			from = i
		}
	}
	return all
}

func list(of []beat, f func(beat) any) []any {
	all := []any{}
	for _, b := range of {
		if v := f(b); v != nil {
			all = append(all, v)
		}
	}
	return all
}

// anthropicTalk renders a talk for Anthropic (§1). Results are in a message of the user, and words
// of the user after them are in the same message.
func anthropicTalk(k parley) map[string]any {
	var messages []any
	for _, g := range k.groups() {
		role := "user"
		if g[0].voice() == "assistant" {
			role = "assistant"
		}
		content := list(g, func(b beat) any {
			switch b.is {
			case 'i':
				return member{"type": "image", "source": member{"type": "base64", "media_type": "image/png", "data": pixel}}
			case 't':
				return member{"type": "thinking", "thinking": b.text(), "signature": "c2lnbmF0dXJl" + b.word}
			case 'c':
				return member{"type": "tool_use", "id": b.id, "name": "Read", "input": argsOf(b)}
			case 'r':
				return member{"type": "tool_result", "tool_use_id": b.id, "content": b.text(), "is_error": b.failed}
			}
			return member{"type": "text", "text": b.text()}
		})
		messages = append(messages, member{"role": role, "content": content})
	}
	out := member{"model": "claude-sonnet-4-5", "max_tokens": 1000, "messages": messages, "tools": []any{member{"name": "Read", "description": "reads", "input_schema": schema}}}
	if k.system != "" {
		out["system"] = k.system
	}
	if slices.ContainsFunc(k.beats, func(b beat) bool { return b.is == 't' }) {
		out["thinking"] = member{"type": "adaptive"}
	}
	return out
}

// chatTalk renders a talk for Chat Completions (§2). Text and calls are members of a message, so
// their order is lost. Text is a string or a list of parts.
func chatTalk(k parley, parts bool) map[string]any {
	var messages []any
	if k.system != "" {
		messages = append(messages, member{"role": "system", "content": k.system})
	}
	for _, g := range k.groups() {
		switch g[0].voice() {
		case "tool":
			for _, b := range g {
				messages = append(messages, member{"role": "tool", "tool_call_id": b.id, "content": b.text()})
			}
			continue
		case "assistant":
			m := member{"role": "assistant", "content": nil}
			said := list(g, func(b beat) any {
				if b.is != 's' {
					return nil
				}
				return member{"type": "text", "text": b.text()}
			})
			switch {
			case len(said) > 1 || len(said) == 1 && parts:
				m["content"] = said
			case len(said) == 1:
				m["content"] = said[0].(member)["text"]
			}
			calls := list(g, func(b beat) any {
				if b.is != 'c' {
					return nil
				}
				return member{"id": b.id, "type": "function", "function": member{"name": "Read", "arguments": argString(b)}}
			})
			if len(calls) > 0 {
				m["tool_calls"] = calls
			}
			if i := slices.IndexFunc(g, func(b beat) bool { return b.is == 't' }); i >= 0 {
				m["reasoning_content"] = g[i].text()
			}
			messages = append(messages, m)
			continue
		}
		if len(g) == 1 && g[0].is == 'u' && !parts {
			messages = append(messages, member{"role": "user", "content": g[0].text()})
			continue
		}
		messages = append(messages, member{"role": "user", "content": list(g, func(b beat) any {
			if b.is == 'i' {
				return member{"type": "image_url", "image_url": member{"url": "data:image/png;base64," + pixel}}
			}
			return member{"type": "text", "text": b.text()}
		})})
	}
	return member{"model": "gpt-4.1", "messages": messages, "tools": []any{member{"type": "function", "function": member{"name": "Read", "description": "reads", "parameters": schema}}}}
}

// responsesTalk: §3. Everything is an item of one list.
func responsesTalk(k parley) map[string]any {
	var input []any
	for _, g := range k.groups() {
		if g[0].voice() == "user" {
			input = append(input, member{"type": "message", "role": "user", "content": list(g, func(b beat) any {
				if b.is == 'i' {
					return member{"type": "input_image", "image_url": "data:image/png;base64," + pixel}
				}
				return member{"type": "input_text", "text": b.text()}
			})})
			continue
		}
		for _, b := range g {
			switch b.is {
			case 't':
				input = append(input, member{"type": "reasoning", "id": "rs_" + strings.Repeat("0", 40) + b.word, "summary": []any{member{"type": "summary_text", "text": b.text()}}, "encrypted_content": "gAAAAAB" + strings.Repeat("x", 80)})
			case 'c':
				input = append(input, member{"type": "function_call", "call_id": b.id, "name": "Read", "arguments": argString(b)})
			case 'r':
				input = append(input, member{"type": "function_call_output", "call_id": b.id, "output": b.text()})
			default:
				input = append(input, member{"type": "message", "role": "assistant", "content": []any{member{"type": "output_text", "text": b.text(), "annotations": []any{}}}})
			}
		}
	}
	out := member{"model": "gpt-5.2", "input": input, "store": false, "include": []any{"reasoning.encrypted_content"}, "tools": []any{member{"type": "function", "name": "Read", "description": "reads", "parameters": schema, "strict": false}}}
	if k.system != "" {
		out["instructions"] = k.system
	}
	return out
}

// geminiTalk renders a talk for Gemini (§4). Models of version 2 need no signatures.
func geminiTalk(k parley) map[string]any {
	var contents []any
	for _, g := range k.groups() {
		role := "user"
		if g[0].voice() == "assistant" {
			role = "model"
		}
		contents = append(contents, member{"role": role, "parts": list(g, func(b beat) any {
			switch b.is {
			case 'i':
				return member{"inlineData": member{"mimeType": "image/png", "data": pixel}}
			case 't':
				return member{"text": b.text(), "thought": true}
			case 'c':
				return member{"functionCall": member{"id": b.id, "name": "Read", "args": argsOf(b)}}
			case 'r':
				said := member{"output": b.text()}
				if b.failed {
					said = member{"error": b.text()}
				}
				return member{"functionResponse": member{"id": b.id, "name": "Read", "response": said}}
			}
			return member{"text": b.text()}
		})})
	}
	out := member{"model": "models/gemini-2.5-pro", "contents": contents, "tools": []any{member{"functionDeclarations": []any{member{"name": "Read", "description": "reads", "parameters": schema}}}}}
	if k.system != "" {
		out["systemInstruction"] = member{"parts": []any{member{"text": k.system}}}
	}
	return out
}

// bedrockTalk renders a talk for Bedrock (§5). Roles alternate, so neighbors of one role are one
// message.
func bedrockTalk(k parley) map[string]any {
	var messages []any
	role, content := "", []any(nil)
	flush := func() {
		if len(content) > 0 {
			messages = append(messages, member{"role": role, "content": content})
		}
		content = nil
	}
	for _, g := range k.groups() {
		of := "user"
		if g[0].voice() == "assistant" {
			of = "assistant"
		}
		if of != role {
			flush()
			role = of
		}
		content = append(content, list(g, func(b beat) any {
			switch b.is {
			case 'i':
				return member{"image": member{"format": "png", "source": member{"bytes": pixel}}}
			case 't':
				return member{"reasoningContent": member{"reasoningText": member{"text": b.text(), "signature": "c2lnbmF0dXJl" + b.word}}}
			case 'c':
				return member{"toolUse": member{"toolUseId": b.id, "name": "Read", "input": argsOf(b)}}
			case 'r':
				result := member{"toolUseId": b.id, "content": []any{member{"text": b.text()}}}
				if b.failed {
					result["status"] = "error"
				}
				return member{"toolResult": result}
			}
			return member{"text": b.text()}
		})...)
	}
	flush()
	out := member{"modelId": "anthropic.claude-sonnet-4-5-20250929-v1:0", "messages": messages, "toolConfig": member{"tools": []any{member{"toolSpec": member{"name": "Read", "description": "reads", "inputSchema": member{"json": schema}}}}}}
	if k.system != "" {
		out["system"] = []any{member{"text": k.system}}
	}
	return out
}

// interactionsTalk: everything is a step of one list.
func interactionsTalk(k parley) map[string]any {
	var input []any
	for _, g := range k.groups() {
		if g[0].voice() == "user" {
			input = append(input, member{"type": "user_input", "content": list(g, func(b beat) any {
				if b.is == 'i' {
					return member{"type": "image", "mime_type": "image/png", "data": pixel}
				}
				return member{"type": "text", "text": b.text()}
			})})
			continue
		}
		for _, b := range g {
			switch b.is {
			case 't':
				input = append(input, member{"type": "thought", "summary": []any{member{"type": "text", "text": b.text()}}, "signature": strings.Repeat("c2ln", 15)})
			case 'c':
				input = append(input, member{"type": "function_call", "id": b.id, "name": "Read", "arguments": argsOf(b)})
			case 'r':
				result := member{"type": "function_result", "call_id": b.id, "name": "Read", "result": b.text()}
				if b.failed {
					result["is_error"] = true
				}
				input = append(input, result)
			default:
				input = append(input, member{"type": "model_output", "content": []any{member{"type": "text", "text": b.text()}}})
			}
		}
	}
	out := member{"model": "gemini-2.5-flash", "input": input, "store": false, "tools": []any{member{"type": "function", "name": "Read", "description": "reads", "parameters": schema}}}
	if k.system != "" {
		out["system_instruction"] = k.system
	}
	return out
}

// elementsOf are the elements of a body's list, as they are written.
func elementsOf(t testing.TB, body []byte) []json.RawMessage {
	t.Helper()
	var root map[string]json.RawMessage
	if err := json.Unmarshal(body, &root); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"messages", "input", "contents"} {
		if raw, ok := root[name]; ok {
			var all []json.RawMessage
			if err := json.Unmarshal(raw, &all); err != nil {
				t.Fatal(err)
			}
			return all
		}
	}
	t.Fatalf("no list: %s", body)
	return nil
}
