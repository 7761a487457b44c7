package agentlog

import (
	"cmp"
	"slices"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// qwen reads the chats of qwen-code: linked lines like those of Claude Code with Gemini contents.
// qwen-code resumes from the last line and follows parentUuid; it does not send lines that a lost
// line cuts off. A compression repeats everything that is sent. Seen by running 0.24.4.
type qwen struct{}

var qwenRow = formatSpec{
	format: QwenCode, name: "qwen-code", maker: "qwen-code", dialect: wire.Anthropic, form: qwen{},
	lineEvidence: qwenLine, lenientUTF8: true,
	unitUsage: usageAt("usageMetadata", []string{"promptTokenCount"}, []string{"candidatesTokenCount", "thoughtsTokenCount"}),
}

func qwenLine(o object) evidence {
	if !o.Has("uuid") || !o.Has("parentUuid") || !o.Has("sessionId") {
		return noEvidence
	}
	switch kind := o.Kind(); {
	case o.Object("message").Has("parts"), kind == "tool_result":
		return strongEvidence
	case kind == "system" && !o.Has("isSidechain"):
		return weakEvidence
	}
	return noEvidence
}

func (q qwen) read(l *Log) {
	l.readLines()
	path, off := q.path(l)
	pairs, messages, model := newPairCounts(), 0, ""
	live, rest := l.newBodyBuilder(wire.Anthropic, ""), l.newBodyBuilder(wire.Anthropic, "")
	for _, u := range off {
		messages += q.appendLine(l, rest, u, pairs)
	}
	from := 0
	for i, u := range path {
		if o := l.object(u); o.Text("subtype") == "chat_compression" && o.Object("systemPayload").Has("compressedHistory") {
			from = i
		}
	}
	for i, u := range path {
		model = cmp.Or(l.object(u).Text("model"), model)
		switch {
		case i < from:
			messages += q.appendLine(l, rest, u, pairs)
		case i == from && l.object(u).Text("subtype") == "chat_compression":
			l.sealUnit(u)
			for _, m := range l.object(u).Object("systemPayload").List("compressedHistory") {
				messages += q.appendMessage(live, u, objectAt(l.raw, m), pairs)
			}
		default:
			messages += q.appendLine(l, live, u, pairs)
		}
	}
	if messages == 0 {
		return
	}
	l.addToTally(pairs, messages)
	l.addPairsThread("dormant", Dormant, "", rest, pairs)
	l.addPairsThread("main", Main, model, live, pairs)
}

// findOtherSessions reports lines of other sessions, with which qwen-code does not open the file,
// and a first line without a session.
func (l *Log) findOtherSessions() []int {
	count := make(map[string]int)
	most := ""
	for u := range l.units {
		id := l.object(u).Text("sessionId")
		if count[id]++; id != "" && count[id] > count[most] {
			most = id
		}
	}
	for u := range l.units {
		id := l.object(u).Text("sessionId")
		if most == "" || id == most || id == "" && u > 0 {
			continue
		}
		l.strays = append(l.strays, u)
		l.damageUnit(u, otherSessionRule)
	}
	return l.strays
}

// path returns the units from the root to the last line, and the other units. Instead of a missing
// parent, it continues with the preceding line.
func (qwen) path(l *Log) (path, off []int) {
	at := make(map[string]int) // by uuid
	copies := l.findCopies("uuid")
	for _, u := range l.findOtherSessions() {
		copies[u] = true
	}
	for u := range l.units {
		if copies[u] {
			continue
		}
		if id := l.object(u).Text("uuid"); id != "" {
			at[id] = u
		}
	}
	on := make(map[int]bool)
	u := len(l.units) - 1
	for u >= 0 && (copies[u] || l.object(u).Text("uuid") == "") {
		u--
	}
	if last := len(l.units) - 1; u >= 0 && slices.Contains(l.duplicates, last) && l.object(last).Text("uuid") != l.object(u).Text("uuid") {
		l.markHarmful("the agent goes on from the first one, and forgets what came behind it")
	}
	for u >= 0 && !on[u] {
		on[u] = true
		o := l.object(u)
		parent := o.Text("parentUuid")
		next, ok := at[parent]
		switch {
		case ok && next < u:
			u = next
		case parent == "" && string(o.Value("parentUuid")) == "null":
			u = -1 // a root
		default:
			l.damageUnit(u, "dangling-parent", parent)
			for u--; u >= 0 && (copies[u] || l.object(u).Text("uuid") == ""); u-- {
			}
		}
	}
	for u := range l.units {
		switch {
		case on[u]:
			path = append(path, u)
		case !copies[u]:
			off = append(off, u)
		}
	}
	return path, off
}

// appendLine adds the message of a line and returns the number of messages added.
func (q qwen) appendLine(l *Log, b *bodyBuilder, u int, pairs *pairCounts) int {
	switch o := l.object(u); o.Text("type") {
	case "user", "assistant", "tool_result":
		return q.appendMessage(b, u, o.Object("message"), pairs)
	}
	return 0
}

// appendMessage adds a Gemini content and returns the number of messages added.
func (qwen) appendMessage(b *bodyBuilder, u int, m object, pairs *pairCounts) int {
	t := messageBuilder{counts: pairs}
	for _, p := range m.Items("parts") {
		call, result := p.Object("functionCall"), p.Object("functionResponse")
		switch {
		case len(call.Members) > 0:
			t.addCall(call.Text("id"), call.Text("name"), call.Value("args"), p.Span)
		case len(result.Members) > 0:
			response := result.Object("response")
			t.addResult(result.Text("id"), [][]byte{textBlock(qwenResponseText(response))}, response.Has("error"), p.Span)
		case p.Has("text") && !p.Is("thought"):
			t.addText(p.Value("text"), p.Span)
		}
	}
	return t.appendTo(b, u, roleOf(m.Text("role")))
}

// qwenResponseText returns the text of a response.
func qwenResponseText(r object) string {
	if text := cmp.Or(r.Text("output"), r.Text("error")); text != "" || len(r.Members) == 0 {
		return text
	}
	return string(r.Bytes())
}

// finish makes each line a child of the preceding one.
func (q qwen) finish(e *edits) {
	for _, u := range e.file.strays {
		e.unit(u).drop = true
		e.addChange(Change{Line: e.file.units[u].line, Change: wire.Change{Action: wire.ActionDrop, Rule: otherSessionRule, Bytes: -e.file.units[u].span.Len()}}, "a line of another session; the agent does not open the file with it")
	}
	if e.appendOnly {
		return
	}
	path, _ := q.path(&Log{Format: e.file.Format, source: e.file.source, layout: layout{units: e.file.units}})
	up := ""
	for i, u := range path {
		x := e.units[u]
		if x != nil {
			for k := range x.before {
				x.before[k], up = q.setParent(x.before[k], up)
			}
		}
		if !e.dropped(u) {
			old := e.file.object(u).Text("parentUuid")
			if old != up && i > 0 {
				e.setMembers(u, "parentUuid", up)
				if x == nil || len(x.after)+len(x.before) == 0 {
					e.addChange(Change{Line: e.file.units[u].line, Change: wire.Change{Action: wire.ActionEdit, Rule: "relink", Bytes: len(up) - len(old)}}, "now linked to the previous line")
				}
			}
			up = e.file.object(u).Text("uuid")
		}
		if x != nil {
			for k := range x.after {
				x.after[k], up = q.setParent(x.after[k], up)
			}
		}
	}
}

// setParent sets the parent of a line and returns the line and its own uuid.
func (qwen) setParent(line []byte, up string) ([]byte, string) {
	line = setMembers(line, "parentUuid", uuidOrNull(up))
	return line, objectOf(line).Text("uuid")
}

// newRecord returns a line that follows another one.
func (qwen) newRecord(l *Log, u int, kind, role string, parts ...[]byte) []byte {
	o := l.object(u)
	return write("uuid", derivedUUID(append([]byte(o.Text("uuid")), array(parts...)...), kind), "parentUuid", o.Text("uuid"), "sessionId", o.Text("sessionId"), "timestamp", nextMillisecond(o.Text("timestamp")),
		"type", kind, "cwd", o.Value("cwd"), "version", o.Value("version"), "message", write("role", role, "parts", array(parts...)))
}

func (q qwen) stub(l *Log, t *Thread, call transcript.BlockID, text string) []byte {
	blk := t.Request.Transcript().Block(call)
	return q.newRecord(l, t.sources[blk.Message].unit, "tool_result", "user", qwenResponse(blk.CallID, blk.Tool, "error", quote(text)))
}

func qwenResponse(id, tool, name string, text []byte) []byte {
	return write("functionResponse", write("id", id, "name", tool, "response", write(name, text)))
}

func (q qwen) quoteUnit(l *Log, t *Thread, result transcript.BlockID, text string) []byte {
	u := t.unitOf(result)
	line := q.newRecord(l, u, "user", "user", write("text", text))
	o := l.object(u)
	return setMembers(line, "uuid", o.Text("uuid"), "parentUuid", uuidOrNull(o.Text("parentUuid")))
}

func (q qwen) withoutBlock(l *Log, t *Thread, half transcript.BlockID) []byte {
	return withoutElement(l, t, half, q.elements)
}

func (qwen) elements(o object) []jsonspan.Span { return o.Object("message").List("parts") }

// skipped returns the line as one that qwen-code keeps and does not send.
func (qwen) skipped(record []byte) []byte {
	return setMembers(record, "type", "system", "subtype", "pare_passed_over")
}

// shorten appends a compression, as qwen-code does. All existing lines stay.
func (q qwen) shorten(e *edits, t *Thread, plan *pare.Plan) error {
	tools := make(map[string]string)
	for _, x := range t.Request.Transcript().Exchanges() {
		tools[x.CallID] = x.Tool
	}
	var all [][]byte
	for _, p := range buildPieces(t, t.Request, plan.Result(), false) {
		if p.message >= 0 && p.raw == nil {
			if u := t.sources[p.message].unit; !e.file.sealed[u] { // with its media and thoughts
				m := e.file.object(u).Object("message")
				all = append(all, m.Bytes())
				continue
			}
			tr := t.Request.Transcript()
			p.raw = tr.Bytes(tr.Messages()[p.message].Span)
		}
		all = append(all, qwenContent(p, tools))
	}
	last := len(e.file.units) - 1
	o := e.file.object(last)
	e.appended = append(e.appended, write("uuid", derivedUUID(array(all...), o.Text("uuid")), "parentUuid", o.Text("uuid"), "sessionId", o.Text("sessionId"), "timestamp", nextMillisecond(o.Text("timestamp")),
		"type", "system", "cwd", o.Value("cwd"), "version", o.Value("version"), "subtype", "chat_compression",
		"systemPayload", write("info", write("originalTokenCount", 0, "newTokenCount", 0, "compressionStatus", 1), "compressedHistory", array(all...))))
	return nil
}

// qwenContent returns a message as a Gemini content.
func qwenContent(p piece, tools map[string]string) []byte {
	role := "user"
	if p.role == transcript.Assistant {
		role = "model"
	}
	m := objectOf(p.raw)
	var parts [][]byte
	if v := m.Value("content"); len(v) > 0 && v[0] == '"' {
		parts = append(parts, write("text", v))
	}
	for _, at := range m.List("content") {
		switch b := objectAt(p.raw, at); b.Text("type") {
		case "text":
			parts = append(parts, write("text", b.Value("text")))
		case "tool_use":
			parts = append(parts, write("functionCall", write("id", b.Text("id"), "name", b.Text("name"), "args", b.Value("input"))))
		case "tool_result":
			id := b.Text("tool_use_id")
			parts = append(parts, qwenResponse(id, tools[id], "output", quote(resultText(p.raw, b))))
		}
	}
	return write("role", role, "parts", array(parts...))
}
