package agentlog

import (
	"cmp"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// qwen reads the chats of qwen-code: lines that hang on each other, as those of Claude Code do, around
// the contents of Gemini. It goes on from the last line and follows parentUuid; what a lost line
// cuts off is not sent. A compression says all that is sent once more. Seen by running 0.24.4.
type qwen struct{}

// qwenRow is qwen-code: the links of Claude Code around the contents of Gemini.
var qwenRow = row{format: QwenCode, name: "qwen-code", maker: "qwen-code", dialect: wire.Anthropic, form: qwen{}, line: qwenLine, usage: qwenUsage, lenient: true}

func qwenLine(o object) evidence {
	if !o.has("uuid") || !o.has("parentUuid") || !o.has("sessionId") {
		return silent
	}
	switch kind := o.kind(); {
	case o.object("message").has("parts"), kind == "tool_result":
		return proof
	case kind == "system" && !o.has("isSidechain"):
		return hint
	}
	return silent
}

func qwenUsage(o object) (in, out int) {
	used := o.object("usageMetadata")
	return used.number("promptTokenCount"), used.number("candidatesTokenCount") + used.number("thoughtsTokenCount")
}

func (q qwen) read(l *Log) {
	l.readLines()
	path, off := q.path(l)
	k, n, model := newTalk(), 0, ""
	live, rest := l.newBody(wire.Anthropic, ""), l.newBody(wire.Anthropic, "")
	for _, u := range off {
		n += q.line(l, rest, u, k)
	}
	from := 0
	for i, u := range path {
		if o := l.object(u); o.text("subtype") == "chat_compression" && o.object("systemPayload").has("compressedHistory") {
			from = i
		}
	}
	for i, u := range path {
		model = cmp.Or(l.object(u).text("model"), model)
		switch {
		case i < from:
			n += q.line(l, rest, u, k)
		case i == from && l.object(u).text("subtype") == "chat_compression":
			l.seal(u)
			for _, m := range l.object(u).object("systemPayload").list("compressedHistory") {
				n += q.message(l, live, u, objectAt(l.raw, m), k)
			}
		default:
			n += q.line(l, live, u, k)
		}
	}
	if n == 0 {
		return
	}
	l.count(k, n)
	q.thread(l, "dormant", Dormant, "", rest, k)
	q.thread(l, "main", Main, model, live, k)
}

func (qwen) thread(l *Log, name string, kind Kind, model string, b *bodyBuilder, k *talk) {
	if len(b.parts) == 0 {
		return
	}
	if t := l.thread(name, kind, wire.Anthropic, model, b, nil); t != nil {
		t.pairs, t.talk = true, k
	}
}

// path returns the units that the last line hangs on, in order, and the others. Where the parent of
// one is not there, it goes on with the line in front.
func (qwen) path(l *Log) (path, off []int) {
	at := make(map[string]int) // by uuid
	for u := range l.units {
		if id := l.object(u).text("uuid"); id != "" {
			at[id] = u
		}
	}
	on := make(map[int]bool)
	u := len(l.units) - 1
	for u >= 0 && l.object(u).text("uuid") == "" {
		u--
	}
	for u >= 0 && !on[u] {
		on[u] = true
		o := l.object(u)
		parent := o.text("parentUuid")
		next, ok := at[parent]
		switch {
		case ok && next < u:
			u = next
		case parent == "" && string(o.value("parentUuid")) == "null":
			u = -1 // a beginning
		default:
			l.damageAt(l.units[u].span.Start, l.units[u].line, "dangling-parent", parent)
			for u--; u >= 0 && l.object(u).text("uuid") == ""; u-- {
			}
		}
	}
	for u := range l.units {
		if on[u] {
			path = append(path, u)
		} else {
			off = append(off, u)
		}
	}
	return path, off
}

// line adds the message of a line, and returns how many that are.
func (q qwen) line(l *Log, b *bodyBuilder, u int, k *talk) int {
	switch o := l.object(u); o.text("type") {
	case "user", "assistant", "tool_result":
		return q.message(l, b, u, o.object("message"), k)
	}
	return 0
}

// message adds a content of Gemini.
func (qwen) message(l *Log, b *bodyBuilder, u int, m object, k *talk) int {
	role := "user"
	if m.text("role") == "model" {
		role = "assistant"
	}
	var blocks [][]byte
	var spans []jsonspan.Span
	for _, at := range m.list("parts") {
		p := objectAt(l.raw, at)
		call, result := p.object("functionCall"), p.object("functionResponse")
		switch {
		case len(call.members) > 0:
			k.calls[call.text("id")]++
			blocks = append(blocks, toolUse(call.text("id"), call.text("name"), call.value("args")))
		case len(result.members) > 0:
			k.results[result.text("id")]++
			blocks = append(blocks, toolResult(result.text("id"), [][]byte{write("type", "text", "text", qwenSaid(result.object("response")))}, result.object("response").has("error")))
		case p.has("text") && !p.is("thought"):
			blocks = append(blocks, write("type", "text", "text", stringOr(p.value("text"))))
		default:
			continue
		}
		spans = append(spans, at)
	}
	if len(blocks) == 0 {
		return 0
	}
	b.put(u, write("role", role, "content", array(blocks...)), spans)
	return 1
}

// qwenSaid is the text of a response.
func qwenSaid(r object) string {
	if text := cmp.Or(r.text("output"), r.text("error")); text != "" || len(r.members) == 0 {
		return text
	}
	return string(r.raw[r.span.Start:r.span.End])
}

func (q qwen) mend(e *edits, t *Thread, o Options) error { return mendFlat(q, e, t, o) }

// finish lets each line hang on the one in front of it.
func (q qwen) finish(e *edits) {
	if e.appendOnly {
		return
	}
	path, _ := q.path(&Log{raw: e.l.raw, units: e.l.units, Format: e.l.Format})
	up := ""
	for i, u := range path {
		x := e.units[u]
		if x != nil {
			for k := range x.before {
				x.before[k], up = q.hang(x.before[k], up)
			}
		}
		if !e.dropped(u) {
			was := e.l.object(u).text("parentUuid")
			if was != up && i > 0 {
				e.set(u, "parentUuid", up)
				if x == nil || len(x.after)+len(x.before) == 0 {
					e.log(Change{Line: e.l.units[u].line}, "edit", "relink", nil, len(up)-len(was), "now linked to the previous line")
				}
			}
			up = e.l.object(u).text("uuid")
		}
		if x != nil {
			for k := range x.after {
				x.after[k], up = q.hang(x.after[k], up)
			}
		}
	}
}

// hang lets a line hang on another one, and returns its own uuid.
func (qwen) hang(line []byte, up string) ([]byte, string) {
	line = setMembers(line, jsonspan.Span{End: len(line)}, "parentUuid", uuidValue(up))
	return line, objectAt(line, jsonspan.Span{End: len(line)}).text("uuid")
}

// record writes a line that follows another one.
func (qwen) record(l *Log, u int, kind, role string, parts ...[]byte) []byte {
	o := objectAt(l.raw, l.units[u].span)
	return write("uuid", eventID(append([]byte(o.text("uuid")), array(parts...)...), kind), "parentUuid", o.text("uuid"), "sessionId", o.text("sessionId"), "timestamp", later(o.text("timestamp")),
		"type", kind, "cwd", o.value("cwd"), "version", o.value("version"), "message", write("role", role, "parts", array(parts...)))
}

func (q qwen) stub(l *Log, t *Thread, call transcript.BlockID, text string) []byte {
	blk := t.Request.Transcript().Block(call)
	return q.record(l, t.parts[blk.Message].unit, "tool_result", "user", qwenResponse(blk.CallID, blk.Tool, "error", quote(text)))
}

func qwenResponse(id, tool, name string, text []byte) []byte {
	return write("functionResponse", write("id", id, "name", tool, "response", write(name, text)))
}

func (q qwen) quote(l *Log, t *Thread, result transcript.BlockID, text string) []byte {
	u := t.parts[t.Request.Transcript().Block(result).Message].unit
	line := q.record(l, u, "user", "user", write("text", text))
	o := objectAt(l.raw, l.units[u].span)
	return setMembers(line, jsonspan.Span{End: len(line)}, "uuid", o.text("uuid"), "parentUuid", uuidValue(o.text("parentUuid")))
}

func (q qwen) without(l *Log, t *Thread, half transcript.BlockID) []byte {
	return withoutElement(l, t, half, q.elements)
}

func (qwen) elements(o object) []jsonspan.Span { return o.object("message").list("parts") }

// passOver writes a line that qwen-code keeps and does not send.
func (qwen) passOver(record []byte) []byte {
	return setMembers(record, jsonspan.Span{End: len(record)}, "type", "system", "subtype", "pare_passed_over")
}

// shorten appends a compression, as qwen-code does: every line that is there stays.
func (q qwen) shorten(e *edits, t *Thread, plan *pare.Plan) error {
	tools := make(map[string]string)
	for _, x := range t.Request.Transcript().Exchanges() {
		tools[x.CallID] = x.Tool
	}
	var all [][]byte
	for _, p := range piecesOf(t, t.Request, plan.Result(), false) {
		if p.message >= 0 && p.raw == nil {
			if u := t.parts[p.message].unit; !e.l.sealed[u] { // with its media and thoughts
				m := e.l.object(u).object("message")
				all = append(all, e.l.raw[m.span.Start:m.span.End])
				continue
			}
			tr := t.Request.Transcript()
			p.raw = tr.Bytes(tr.Messages()[p.message].Span)
		}
		all = append(all, qwenContent(p, tools))
	}
	last := len(e.l.units) - 1
	o := e.l.object(last)
	e.end = append(e.end, write("uuid", eventID(array(all...), o.text("uuid")), "parentUuid", o.text("uuid"), "sessionId", o.text("sessionId"), "timestamp", later(o.text("timestamp")),
		"type", "system", "cwd", o.value("cwd"), "version", o.value("version"), "subtype", "chat_compression",
		"systemPayload", write("info", write("originalTokenCount", []byte("0"), "newTokenCount", []byte("0"), "compressionStatus", []byte("1")), "compressedHistory", array(all...))))
	return nil
}

// qwenContent writes a message as a content of Gemini.
func qwenContent(p piece, tools map[string]string) []byte {
	role := "user"
	if p.role == transcript.Assistant {
		role = "model"
	}
	m := objectAt(p.raw, jsonspan.Span{End: len(p.raw)})
	var parts [][]byte
	if v := m.value("content"); len(v) > 0 && v[0] == '"' {
		parts = append(parts, write("text", v))
	}
	for _, at := range m.list("content") {
		switch b := objectAt(p.raw, at); b.text("type") {
		case "text":
			parts = append(parts, write("text", b.value("text")))
		case "tool_use":
			parts = append(parts, write("functionCall", write("id", b.text("id"), "name", b.text("name"), "args", b.value("input"))))
		case "tool_result":
			id := b.text("tool_use_id")
			parts = append(parts, qwenResponse(id, tools[id], "output", quote(resultText(p.raw, b))))
		}
	}
	return write("role", role, "parts", array(parts...))
}
