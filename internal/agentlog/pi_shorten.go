package agentlog

import (
	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/jsonedit"
)

// shorten appends a new branch that begins at the root, because pi resumes from the last line. A
// compaction entry would put its summary before the task and could only keep lines unchanged.
func (p pi) shorten(e *edits, t *Thread, plan *pare.Plan) error {
	tree := e.file.pi
	if !tree.linked {
		return ErrShorten
	}
	parent, stamp := "", tree.entries[tree.path[len(tree.path)-1]].timestamp
	put := func(line []byte) {
		stamp = nextMillisecond(stamp)
		id := p.mintID(e.file, len(e.appended), append(quote(parent), line...), e.mintedIDs)
		line = setMembers(line, "id", id, "parentId", uuidOrNull(parent), "timestamp", stamp)
		parent = jsonedit.TextAt(id)
		e.mintedIDs[parent] = true
		e.appended = append(e.appended, line)
	}
	for _, i := range tree.path { // the current settings
		switch tree.entries[i].kind {
		case "model_change", "thinking_level_change":
			put(e.unitBytes(i))
		}
	}
	neighbor := t.sources[0].unit
	for _, x := range buildPieces(t, t.Request, plan.Result(), false) {
		if x.message >= 0 {
			neighbor = t.sources[x.message].unit
			if line, ok := p.rewriteLine(e.file, neighbor, x.raw); ok {
				put(line)
				continue
			}
			if x.raw == nil {
				m := t.Request.Transcript().Messages()[x.message]
				x.raw = t.Request.Transcript().Bytes(m.Span)
			}
		}
		for _, m := range p.splitMessage(x.raw, e.file.objectIn(neighbor, "message").Mark("timestamp")) {
			put(write("type", "message", "id", "", "parentId", "", "timestamp", stamp, "message", m))
		}
	}
	return nil
}

// rewriteLine returns a copy of a line, with new content if now is not nil and with its token
// counts reset.
func (p pi) rewriteLine(l *Log, u int, now []byte) (line []byte, ok bool) {
	if !l.pi.entries[u].isMessage {
		return nil, false // the text of a compaction or an extension
	}
	o := l.object(u)
	m := o.Object("message")
	message := m.Bytes()
	if now != nil {
		text := objectOf(now)
		var content []byte
		switch role := m.Text("role"); role {
		case "toolResult":
			blocks := text.List("content")
			if len(blocks) != 1 {
				return nil, false
			}
			result := objectAt(now, blocks[0])
			at, ok := result.Get("content")
			if !ok {
				return nil, false
			}
			content = array(textBlocks(now, at)...)
		case "assistant":
			content = array(piBlocks(text)...)
		default:
			return nil, false
		}
		message = setMembers(message, "content", content)
	}
	if used := objectOf(message).Object("usage"); len(used.Members) > 0 {
		message = setMembers(message, "usage", zeroCounts(used, "input", "output", "cacheRead", "cacheWrite", "totalTokens"))
	}
	return o.With("message", message), true
}

// splitMessage returns a message as messages of pi, with separate messages for results.
func (pi) splitMessage(raw, stamp []byte) (all [][]byte) {
	m := objectOf(raw)
	if text := m.Value("content"); len(text) > 0 && text[0] == '"' {
		return [][]byte{write("role", "user", "content", array(textBlock(text)), "timestamp", stamp)}
	}
	var texts [][]byte
	for _, at := range m.List("content") {
		b := objectAt(raw, at)
		if b.Text("type") != "tool_result" {
			texts = append(texts, raw[at.Start:at.End])
			continue
		}
		failed := []byte("false")
		if b.Is("is_error") {
			failed = []byte("true")
		}
		content, _ := b.Get("content")
		all = append(all, write("role", "toolResult", "toolCallId", b.Text("tool_use_id"), "toolName", "", "content", array(textBlocks(raw, content)...), "isError", failed, "timestamp", stamp))
	}
	if len(texts) > 0 {
		all = append(all, write("role", "user", "content", array(texts...), "timestamp", stamp))
	}
	return all
}

// piBlocks returns the content of an assistant message in pi's form.
func piBlocks(m object) (all [][]byte) {
	for _, at := range m.List("content") {
		b := objectAt(m.Raw, at)
		if b.Text("type") == "tool_use" {
			all = append(all, write("type", "toolCall", "id", b.Text("id"), "name", b.Text("name"), "arguments", b.Value("input")))
		} else {
			all = append(all, m.Raw[at.Start:at.End])
		}
	}
	return all
}
