package wire

import (
	"bytes"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

func (gemini) textBlock(_ transcript.Role, raw []byte) []byte { return object("text", raw) }

func (gemini) textMessage(role transcript.Role, text string) []byte {
	name := "user"
	if role == transcript.Assistant {
		name = "model"
	}
	return object("role", name, "parts", array(object("text", text)))
}

func (gemini) stub(d *draft, call transcript.BlockID, text string) []byte {
	blk := d.t.Block(call)
	response := []any{"name", blk.Tool, "response", object("error", text)}
	if blk.CallID != "" {
		response = append(response, "id", blk.CallID)
	}
	return object("functionResponse", object(response...))
}

// geminiMember returns the member of a part in the spelling that it uses.
func geminiMember(d *draft, b transcript.BlockID, call bool) string {
	names := []string{"functionResponse", "function_response"}
	if call {
		names = []string{"functionCall", "function_call"}
	}
	if _, ok := d.member(d.t.Block(b).Span, names[1]); ok {
		return names[1]
	}
	return names[0]
}

func (gemini) idPath(d *draft, b transcript.BlockID, call bool) []string {
	return []string{geminiMember(d, b, call), "id"}
}

func (gemini) namePath(d *draft, b transcript.BlockID, call bool) []string {
	return []string{geminiMember(d, b, call), "name"}
}

func (gemini) argsPath(d *draft, b transcript.BlockID) []string {
	return []string{geminiMember(d, b, true), "args"}
}

func (gemini) sayResult(m *mender, b transcript.BlockID, text string) {
	m.setAt(m.t.Block(b).Span, []string{geminiMember(m.draft, b, false), "response"}, geminiSaid(m.t.Block(b), text))
}

// geminiSaid writes a text as the response of a function; a failure stays one.
func geminiSaid(blk transcript.Block, text string) []byte {
	if blk.Failed {
		return object("error", text)
	}
	return object("output", text)
}

func (gemini) sayCall(m *mender, b transcript.BlockID, text string) {
	m.setAt(m.t.Block(b).Span, []string{geminiMember(m.draft, b, true), "args"}, noteOf(text))
}

// shown: media are parts, of a response as of a message.
func (gemini) shown(d *draft, item transcript.Span) []byte {
	for _, name := range []string{"inlineData", "inline_data", "fileData", "file_data"} {
		if _, ok := d.member(item, name); ok {
			return d.t.Bytes(item)
		}
	}
	return nil
}

func (gemini) wrapResult(m *mender, f *Finding) {
	blk := m.t.Block(f.Block)
	value := []byte(`{"output":""}`)
	if blk.Body != blk.Span {
		raw := m.t.Bytes(blk.Body)
		if m.raw[blk.Body.Start-1] == '"' {
			raw = m.raw[blk.Body.Start-1 : blk.Body.End+1]
		}
		value = object("output", raw)
	}
	if m.setAt(blk.Span, []string{geminiMember(m.draft, f.Block, false), "response"}, value) {
		m.log(f, "edit", f.Block, f.Index, len(value)-blk.Body.Len(), "a response must be an object; it is the output of one now")
	}
}

// resultTokens: a response is read as the JSON that it is.
func (gemini) resultTokens(r *Request, c Counter, blk *transcript.Block) int {
	if blk.Body == blk.Span {
		return r.bodyTokens(c, blk)
	}
	return c.Count(r.t.Bytes(blk.Body)) + geminiMedia(r, c, blk)
}

func (gemini) saidTokens(r *Request, c Counter, blk *transcript.Block, text string) int {
	return c.Count(geminiSaid(*blk, text)) + geminiMedia(r, c, blk)
}

// geminiMedia counts the media beside a function's response.
func geminiMedia(r *Request, c Counter, blk *transcript.Block) int {
	if !bytes.Contains(r.raw[blk.Span.Start:blk.Body.Start], []byte(`"parts"`)) && !bytes.Contains(r.raw[blk.Body.End:blk.Span.End], []byte(`"parts"`)) {
		return 0
	}
	n := 0
	for _, name := range []string{"functionResponse", "function_response"} {
		if f, ok := jsonspan.Find(r.raw, jsonspan.Span(blk.Span), name); ok {
			if parts, ok := jsonspan.Find(r.raw, f.Value, "parts"); ok {
				n += r.content(c, tspan(parts.Value), medium{}, 0)
			}
		}
	}
	return n
}
