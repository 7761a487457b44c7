package dialect

import (
	"bytes"
	"encoding/base64"
	"strings"
	"unsafe"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// A Counter counts tokens; package tokens has several. Counts must not be negative.
// Whether many goroutines may use one is for each to say.
type Counter interface {
	// Count counts what the model sees as it is written, such as JSON.
	Count(text []byte) int
	// CountJSON counts the content of a JSON string, as it lies between its quotes.
	CountJSON(raw []byte) int
	// Media counts a picture, a document or a recording: its MIME type or kind, its
	// base64 or, if that is not at hand, its URL or id, and whether the lower detail was
	// asked for.
	Media(mime string, data []byte, low bool) int
	// Overhead counts the marks around so many messages and declared tools.
	Overhead(messages, tools int) int
}

// Tokens counts everything that the model reads: what stands beside the list, all blocks
// behind the provider's own compaction, and the marks around messages, calls and results.
func (r *Request) Tokens(c Counter) int {
	n := r.headTokens(c)
	for i := r.t.StartMessage(); i < len(r.t.Messages()); i++ {
		n += r.readTokens(c, i)
	}
	return n
}

// tokensOfMessage counts one message, whether the model reads it or not.
func (r *Request) tokensOfMessage(c Counter, i int) int { return r.messageTokens(c, i, 0) }

// readTokens counts what the model reads of one message: what stands in front of the
// provider's last compaction counts for nothing.
func (r *Request) readTokens(c Counter, i int) int {
	if i < r.t.StartMessage() {
		return 0
	}
	return r.messageTokens(c, i, r.t.Start())
}

func (r *Request) messageTokens(c Counter, i int, from transcript.BlockID) int {
	m := r.t.Messages()[i]
	n := FrameTokens(c)
	for b := max(m.First, from); b < m.End; b++ {
		n += r.blockTokens(c, b)
	}
	return n
}

// FrameTokens counts the marks around a message, and around a call or a result.
func FrameTokens(c Counter) int { return c.Overhead(1, 0) - c.Overhead(0, 0) }

// headTokens counts what stands beside the list of messages: the system prompt, the
// declared tools and the form of the answer.
func (r *Request) headTokens(c Counter) int {
	n, tools := 0, 0
	for _, u := range r.head.said {
		switch u.kind {
		case saidContent:
			n += r.content(c, u.span, medium{}, 0)
		case saidTools:
			tools += max(len(jsonspan.Elements(r.raw, jsonspan.Span(u.span))), 1)
			fallthrough
		case saidJSON:
			n += c.Count(r.raw[u.span.Start:u.span.End])
		}
	}
	return n + c.Overhead(0, tools)
}

// blockTokens counts one block: its body as its kind is read, and every text around the body.
func (r *Request) blockTokens(c Counter, b transcript.BlockID) int {
	blk := &r.t.Blocks()[b]
	switch blk.Kind {
	case transcript.Call, transcript.ServerCall:
		n := FrameTokens(c) + c.Count(lend(blk.Tool)) + r.aroundTokens(c, blk, medium{})
		if blk.Body != blk.Span && !r.inString(blk.Body) {
			return n + c.Count(r.t.Bytes(blk.Body))
		}
		return n + r.bodyTokens(c, blk)
	case transcript.Result, transcript.ServerResult:
		return FrameTokens(c) + r.g.resultTokens(r, c, blk) + r.aroundTokens(c, blk, medium{})
	case transcript.Media:
		if w := r.where[b]; w.in == inMember {
			return r.recording(c, w.member(), blk.Span)
		}
	}
	if blk.Kind == transcript.Thinking {
		return r.thinkingTokens(c, blk)
	}
	return r.bodyTokens(c, blk) + r.aroundTokens(c, blk, medium{})
}

// thinkingTokens counts the words of thinking or its encrypted data, whichever is more: both hold the same
// thoughts, and either may be left out or shortened.
func (r *Request) thinkingTokens(c Counter, blk *transcript.Block) int {
	hidden := 0
	m := medium{opaque: &hidden}
	n := r.aroundTokens(c, blk, m)
	if r.inString(blk.Body) {
		n += c.CountJSON(r.t.Bytes(blk.Body))
	} else {
		n += r.content(c, blk.Body, m, 0)
	}
	return max(n, hidden)
}

// skeleton is the size of a block without its body, its id and its tool below which aroundTokens does not
// read the block: that much the usual members take, which count for nothing.
const skeleton = 64

// aroundTokens counts the texts of a block outside of its body, such as a signature, the output of a call
// that the provider ran, or the pictures of a result.
func (r *Request) aroundTokens(c Counter, blk *transcript.Block, m medium) int {
	if blk.Span.Len()-blk.Body.Len() <= skeleton+len(blk.CallID)+len(blk.Tool) || blk.Body == blk.Span || r.raw[blk.Span.Start] != '{' {
		return 0
	}
	return r.around(c, blk.Span, blk.Body, m, 0)
}

// around counts the texts of an object outside of a span in it.
func (r *Request) around(c Counter, s, body transcript.Span, m medium, depth int) int {
	n := 0
	m = r.mediumOf(s, m)
	jsonspan.Visit(r.raw, jsonspan.Span(s), jsonspan.Span(body), func(e jsonspan.Member) {
		v := tspan(e.Value)
		switch open := r.raw[v.Start]; {
		case v.Start <= body.Start && body.End <= v.End:
			if open == '{' && v != body {
				n += r.around(c, v, body, m, depth+1)
			}
		case open == '"' || open == '{' || open == '[':
			if name := r.name(e.Key); !isToolName(name) {
				n += r.member(c, name, v, m, depth)
			}
		}
	})
	return n
}

// isToolName reports whether a member names the tool of a call or a result. A call's tool counts anyway.
func isToolName(name string) bool { return name == "name" || name == "tool_name" }

// recording counts a recording beside the content by what was said and by its data, or else by its id.
func (r *Request) recording(c Counter, kind string, s transcript.Span) int {
	n := 0
	for _, name := range []string{"transcript", "data"} {
		if m, ok := jsonspan.Find(r.raw, jsonspan.Span(s), name); ok && r.raw[s.Start] == '{' {
			n += r.member(c, name, tspan(m.Value), medium{mime: kind}, 0)
		}
	}
	if n > 0 {
		return n
	}
	return c.Media(kind, r.t.Bytes(s), false)
}

// bodyTokens counts what a block says: a string, or texts and media.
func (r *Request) bodyTokens(c Counter, blk *transcript.Block) int {
	if r.inString(blk.Body) {
		return c.CountJSON(r.t.Bytes(blk.Body))
	}
	return r.content(c, blk.Body, medium{}, 0)
}

// saidTokens counts a block whose body a text replaces, as a rewrite would write it.
func (r *Request) saidTokens(c Counter, b transcript.BlockID, text string) int {
	blk := &r.t.Blocks()[b]
	switch blk.Kind {
	case transcript.Call, transcript.ServerCall:
		if r.where[b].in != inFunction && !r.g.freeForm(r, blk) {
			text = string(noteOf(text))
		}
		return FrameTokens(c) + c.Count(lend(blk.Tool)) + c.Count(lend(text)) + r.aroundTokens(c, blk, medium{})
	case transcript.Result, transcript.ServerResult:
		return FrameTokens(c) + r.g.saidTokens(r, c, blk, text) + r.aroundTokens(c, blk, medium{})
	case transcript.Text:
		return c.Count(lend(text)) + r.aroundTokens(c, blk, medium{})
	}
	return c.Count(lend(text))
}

// lend shows a text to a counter, which only reads it, without a copy.
func lend(text string) []byte { return unsafe.Slice(unsafe.StringData(text), len(text)) }

// inString reports whether a span is the inside of a string.
func (r *Request) inString(s transcript.Span) bool {
	return s.Start > 0 && r.raw[s.Start-1] == '"' // where it ends may be far, and need not be looked at
}

// What stands beside the list and is read by the model.
type utterance struct {
	kind saidKind
	span transcript.Span
}

type saidKind uint8

const (
	saidContent saidKind = iota + 1 // text, or a list of blocks
	saidTools                       // a list of declarations
	saidJSON
)

var said = map[string]saidKind{
	"system": saidContent, "instructions": saidContent, "systemInstruction": saidContent, "system_instruction": saidContent,
	"tools": saidTools, "functions": saidTools, "toolConfig": saidJSON,
	"response_format": saidJSON, "text": saidJSON, "generationConfig": saidJSON, "output_config": saidJSON, "output_format": saidJSON,
}

// content counts a value made of texts and media.
func (r *Request) content(c Counter, s transcript.Span, m medium, depth int) int {
	v := r.t.Bytes(s)
	switch {
	case len(v) == 0 || v[0] == 'n':
		return 0
	case v[0] == '"' && len(v) > 1:
		return c.CountJSON(v[1 : len(v)-1])
	case depth > 8:
		return c.Count(v)
	case v[0] == '[':
		n := 0
		for _, e := range jsonspan.Elements(r.raw, jsonspan.Span(s)) {
			n += r.content(c, tspan(e), m, depth+1)
		}
		return n
	case v[0] == '{':
		return r.object(c, s, m, depth)
	}
	return c.Count(v)
}

// A medium is what is known of a picture or document from the objects around it.
type medium struct {
	mime string // or only its kind
	low  bool
	text bool // the data is text
	// opaque, if set, takes the tokens of encrypted data, which are counted apart then.
	opaque *int
}

// shown reports whether it is a medium at all: search results have links, too.
func (m medium) shown() bool {
	if strings.IndexByte(m.mime, '/') >= 0 {
		return true
	}
	kind := strings.TrimSuffix(strings.TrimPrefix(m.mime, "input_"), "_url")
	switch kind {
	case "image", "document", "audio", "video", "file", "base64", "inlineData", "inline_data", "fileData", "file_data":
		return true
	}
	return false
}

// plain decodes a document that is text.
func (m medium) plain(v []byte) ([]byte, bool) {
	if m.text || len(v) < 2 || v[0] != '"' || !strings.HasPrefix(m.mime, "text/") {
		return nil, false
	}
	text, err := base64.StdEncoding.AppendDecode(nil, jsonspan.Decode(nil, v[1:len(v)-1]))
	return text, err == nil
}

// name is a key as it is meant: it may be written with escapes.
func (r *Request) name(key jsonspan.Span) string {
	raw := r.raw[key.Start:key.End]
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	return string(jsonspan.Decode(nil, raw))
}

// object counts a block: media by what they show, everything else as it is written.
func (r *Request) object(c Counter, s transcript.Span, m medium, depth int) int {
	n := 0
	m = r.mediumOf(s, m)
	jsonspan.Visit(r.raw, jsonspan.Span(s), jsonspan.Span{}, func(e jsonspan.Member) {
		n += r.member(c, r.name(e.Key), tspan(e.Value), m, depth)
	})
	return n
}

// mediumOf returns what the members of an object add to m.
func (r *Request) mediumOf(s transcript.Span, m medium) medium {
	jsonspan.Visit(r.raw, jsonspan.Span(s), jsonspan.Span{}, func(e jsonspan.Member) {
		v := r.raw[e.Value.Start:e.Value.End]
		switch r.name(e.Key) {
		case "media_type", "mimeType", "mime_type", "format", "type":
			v = jsonspan.Decode(nil, bytes.Trim(v, `"`))
			m.text = m.text || string(v) == "text"
			if len(m.mime) == 0 || bytes.IndexByte(v, '/') >= 0 {
				m.mime = string(v)
			}
		case "detail", "resolution":
			m.low = string(v) == `"low"`
		}
	})
	return m
}

// member counts one member of a block.
func (r *Request) member(c Counter, key string, s transcript.Span, m medium, depth int) int {
	v := r.t.Bytes(s)
	str := len(v) > 1 && v[0] == '"'
	switch weightOf(m.mime, key) {
	case uncounted:
		return 0
	case opaque:
		if string(v) == `"`+skippedSignature+`"` {
			return 0
		}
		if m.opaque != nil {
			*m.opaque += len(v) / opaqueBytes
			return 0
		}
		return len(v) / opaqueBytes
	case asJSON:
		return c.Count(v)
	case asPicture:
		if str {
			return c.Media("image", v[1:len(v)-1], m.low)
		}
	case asData:
		if text, ok := m.plain(v); ok {
			return c.Count(text)
		}
		if str && !m.text && m.shown() {
			return c.Media(m.mime, v[1:len(v)-1], m.low)
		}
	case asMedium:
		if m.mime == "" || !str || key == "image_url" {
			m.mime = strings.TrimSuffix(strings.TrimPrefix(key, "input_"), "_url")
		}
		if str && key == "image_url" && m.shown() {
			return c.Media(m.mime, v[1:len(v)-1], m.low)
		}
	case asAddress:
		if str && m.shown() {
			return c.Media(m.mime, v[1:len(v)-1], m.low)
		}
	}
	if str {
		return c.CountJSON(v[1 : len(v)-1])
	}
	return r.content(c, s, m, depth+1)
}

// noteOf writes a text as arguments: the object that it is, or one that holds it.
func noteOf(text string) []byte {
	if strings.HasPrefix(text, "{") && jsonspan.Valid([]byte(text)) == nil {
		return []byte(text)
	}
	return object("note", text)
}
