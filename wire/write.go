package wire

import (
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// What the dialects write when something must be added. All of it is a function of
// the request, so that the same history always leads to the same bytes.

func quote(s string) []byte { return jsonspan.AppendQuote(nil, s) }

// object writes a JSON object of alternating keys and raw values.
func object(pairs ...any) []byte {
	b := []byte{'{'}
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, quote(pairs[i].(string))...), ':')
		switch v := pairs[i+1].(type) {
		case string:
			b = append(b, quote(v)...)
		case []byte:
			b = append(b, v...)
		}
	}
	return append(b, '}')
}

func array(items ...[]byte) []byte {
	b := []byte{'['}
	for i, it := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, it...)
	}
	return append(b, ']')
}

// textBlock writes a block of text as the role would say it.
func (d Dialect) textBlock(role transcript.Role, text string) []byte {
	return d.textBlockOf(role, quote(text))
}

func (d Dialect) textBlockOf(role transcript.Role, raw []byte) []byte {
	switch d {
	case Gemini, Bedrock:
		return object("text", raw)
	case OpenAIResponses:
		if role == transcript.Assistant {
			return object("type", "output_text", "text", raw)
		}
		return object("type", "input_text", "text", raw)
	}
	return object("type", "text", "text", raw)
}

// textBlockRaw writes a string, given with its quotes, as a block.
func (d *draft) textBlockRaw(raw []byte) []byte {
	return d.Dialect.textBlockOf(transcript.User, raw)
}

// textMessage writes a message that says text.
func (d Dialect) textMessage(role transcript.Role, text string) []byte {
	name := role.String()
	switch {
	case d == Gemini && role == transcript.Assistant:
		return object("role", "model", "parts", array(object("text", text)))
	case d == Gemini:
		return object("role", "user", "parts", array(object("text", text)))
	case d == Bedrock:
		return object("role", name, "content", array(object("text", text)))
	}
	return object("role", name, "content", text)
}

// resultMessage writes the message that holds results, where they are blocks.
func (d *draft) resultMessage(blocks [][]byte) []byte {
	if d.Dialect == Gemini {
		return object("role", "user", "parts", array(blocks...))
	}
	return object("role", "user", "content", array(blocks...))
}

// nested reports whether results are blocks of a message, and not messages.
func (d Dialect) nested() bool { return d == Anthropic || d == Gemini || d == Bedrock }

// stub writes a result that says text, for a call; nil if the call is of a kind
// whose result cannot be made up honestly.
func (d *draft) stub(call transcript.BlockID, text string) []byte {
	blk := d.t.Block(call)
	switch d.Dialect {
	case Anthropic:
		return object("type", "tool_result", "tool_use_id", blk.CallID, "content", text, "is_error", []byte("true"))
	case Bedrock:
		result := []any{"toolUseId", blk.CallID, "content", array(object("text", text))}
		if d.Profile.Family != "writer" {
			result = append(result, "status", "error")
		}
		return object("toolResult", object(result...))
	case Gemini:
		response := []any{"name", blk.Tool, "response", object("error", text)}
		if blk.CallID != "" {
			response = append(response, "id", blk.CallID)
		}
		return object("functionResponse", object(response...))
	case OpenAIChat:
		if d.where[call].in == inFunction {
			return object("role", "function", "name", blk.Tool, "content", text)
		}
		return object("role", "tool", "tool_call_id", blk.CallID, "content", text)
	}
	return d.stubOutput(blk, text)
}

// stubOutput writes an output of the kind that the item wants.
func (d *draft) stubOutput(blk transcript.Block, text string) []byte {
	typ := d.text(blk.Span, "type")
	switch typ {
	case "function_call", "custom_tool_call", "local_shell_call":
		return object("type", typ+"_output", "call_id", blk.CallID, "output", text)
	case "apply_patch_call":
		return object("type", "apply_patch_call_output", "call_id", blk.CallID, "status", "failed", "output", text)
	case "shell_call":
		outcome := object("stdout", "", "stderr", text, "outcome", object("type", "exit", "exit_code", []byte("1")))
		return object("type", "shell_call_output", "call_id", blk.CallID, "output", array(outcome))
	case "tool_search_call":
		return object("type", "function_call_output", "call_id", blk.CallID, "output", text)
	}
	return nil // a screenshot or a program's output cannot be made up
}

// text returns the decoded string member of the object at span, or "".
func (d *draft) text(object transcript.Span, name string) string {
	v, ok := d.member(object, name)
	if !ok || d.raw[v.Start] != '"' {
		return ""
	}
	return string(jsonspan.Decode(nil, d.raw[v.Start+1:v.End-1]))
}

// resultText returns what a result says, as text: its strings and the texts of its
// items; what is no text is named.
func (d *draft) resultText(b transcript.BlockID) string {
	return plainText(d.raw, d.t.Block(b).Body, 0)
}

// plainText collects the text in a JSON value. Bodies of strings come without
// quotes, so what does not start like a value is a string's content.
func plainText(raw []byte, s transcript.Span, depth int) string {
	if s.Len() <= 0 {
		return ""
	}
	switch c := raw[s.Start]; {
	case s.Start > 0 && raw[s.Start-1] == '"' && s.End < len(raw) && raw[s.End] == '"':
		return string(jsonspan.Decode(nil, raw[s.Start:s.End]))
	case c == '"':
		return string(jsonspan.Decode(nil, raw[s.Start+1:s.End-1]))
	case c == '[' && depth < 4:
		var parts []string
		for _, e := range jsonspan.Elements(raw, jsonspan.Span(s)) {
			if t := plainText(raw, tspan(e), depth+1); t != "" {
				parts = append(parts, t)
			}
		}
		return strings.Join(parts, "\n")
	case c == '{' && depth < 4:
		if text, ok := objectText(raw, s, depth); ok {
			return text
		}
	}
	// In one spelling, so that equal results say the same.
	return string(Canonical(raw[s.Start:s.End]))
}

// objectText returns the text of an object that is nothing but the wrapping of a
// text: an item of a list, or a result in a member of its own. One that holds more
// is its own text.
func objectText(raw []byte, s transcript.Span, depth int) (string, bool) {
	typ, inner, others := "", jsonspan.Span{}, 0
	for _, m := range jsonspan.Members(raw, jsonspan.Span(s)) {
		switch string(raw[m.Key.Start:m.Key.End]) {
		case "type":
			typ = strings.Trim(string(raw[m.Value.Start:m.Value.End]), `"`)
		case "text", "output", "content", "error", "result":
			if inner.End > 0 {
				others++
			}
			inner = m.Value
		case "cache_control", "annotations":
		default:
			others++
		}
	}
	switch {
	case inner.End > 0 && (others == 0 || typ == "text"):
		return plainText(raw, tspan(inner), depth+1), true
	case typ != "" && depth > 0:
		return "[" + typ + "]", true
	}
	return "", false
}
