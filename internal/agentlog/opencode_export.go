package agentlog

import (
	"bytes"
	"slices"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// openCodeExport reads the output of `opencode export`: one object with the messages of a session
// and their parts. A session in opencode's database is presented in the same form; its rows are the
// messages and parts.
//
// A unit is a part, or the info of a message.
type openCodeExport struct{ openCode }

var openCodeExportRow = formatSpec{
	format: OpenCodeExport, name: "opencode-export", maker: "opencode", dialect: wire.Anthropic, form: openCodeExport{},
	isDocument: isOpenCodeExport, unitUsage: openCodeUsage,
}

func isOpenCodeExport(o object) bool {
	if info := o.Object("info"); !info.Has("id") || !info.Has("directory") && !info.Has("projectID") {
		return false
	}
	list, ok := o.Get("messages")
	if !ok || o.Raw[list.Start] != '[' {
		return false
	}
	for _, m := range jsonspan.Elements(o.Raw, list) {
		return objectAt(o.Raw, m).Has("parts")
	}
	return true
}

// openCodeUsage returns the token counts of a message.
func openCodeUsage(o object) (in, out int) {
	if o.Is("summary") { // counted for the summarized messages
		return 0, 0
	}
	used := o.Object("tokens")
	cache := used.Object("cache")
	return used.Number("input") + cache.Number("read") + cache.Number("write"), used.Number("output") + used.Number("reasoning")
}

func (c openCodeExport) read(l *Log) {
	at, ok := l.documentSpan()
	if !ok {
		return
	}
	o := objectAt(l.raw, at)
	s := &ocSession{id: o.Object("info").Text("id")}
	for _, m := range o.List("messages") {
		if x := c.readMessage(l, objectAt(l.raw, m)); x != nil {
			s.messages = append(s.messages, x)
		}
	}
	if len(s.messages) > 0 {
		c.addSession(l, s, "main", "dormant")
	}
}

// readMessage adds units for a message: its info, then its parts.
func (c openCodeExport) readMessage(l *Log, o object) *ocMessage {
	at, ok := o.Get("info")
	if !ok || l.raw[at.Start] != '{' {
		l.damageAt(o.Span.Start, 1, "skipped-message")
		return nil
	}
	line, _ := l.position(at.Start)
	head := len(l.units)
	l.units = append(l.units, unit{span: at, line: line})
	l.owners = append(l.owners, head)
	// The info is treated as a list of one element. The preceding byte takes the place of the
	// bracket.
	l.lists = append(l.lists, list{jsonspan.Span{Start: at.Start - 1, End: at.End}, head, head + 1})
	info := objectAt(l.raw, at)
	message := newMessage(info.Text("id"), info)
	if info.Has(rowMember) {
		l.damageAt(at.Start, line, "torn-row")
		message = tornMessage(message.id, []byte(info.Text(rowMember)))
	}
	list, ok := o.Get("parts")
	if !ok || l.raw[list.Start] != '[' {
		return message
	}
	all := l.readList(list)
	for u := all.first; u < all.end; u++ {
		l.owners = append(l.owners, head)
		part := l.object(u)
		if part.Has(rowMember) {
			l.damageUnit(u, "torn-row")
		}
		message.parts = append(message.parts, u)
	}
	if message.torn && !message.object.Has("role") && slices.ContainsFunc(message.parts, func(p int) bool { return assistantParts[l.object(p).Text("type")] }) {
		message.role = "assistant"
	}
	return message
}

// rowMember is the member with the text of a database row that is not an object. The reader of the
// database writes it.
const rowMember = "pare_row"

// finish replaces unreadable rows. opencode does not open a session with one of them.
func (c openCodeExport) finish(e *edits) {
	if e.appendOnly {
		return
	}
	for unit := range e.file.units {
		o := e.file.object(unit)
		torn, ok := o.Get(rowMember)
		if !ok || e.heldUnits[unit] {
			continue
		}
		id := o.Text("id")
		text := []byte(textAt(e.file.raw, torn))
		kind, now := "a part that says nothing stands in its place", []byte(nil)
		lost := c.readRowContext(e.file, o.Text("sessionID"))
		if head := e.file.owners[unit]; head == unit {
			kind, now = "a message in the manner of its neighbours stands in its place", lost.restoreMessage(o.Text("sessionID"), id)
		} else {
			message := o.Text("messageID")
			if now = lost.restoreUserText(text, message, id); now != nil {
				kind = "what is left of the words of the user stands in its place"
			} else {
				now = lost.emptyPart(message, id)
			}
		}
		e.unit(unit).body = now
		e.allowLoss(unit, torn)
		e.addChange(Change{Line: e.file.units[unit].line, Change: wire.Change{Action: wire.ActionEdit, Rule: "torn-row", Bytes: len(now) - o.Span.Len()}}, "%s", kind)
	}
}

// readRowContext collects the neighbors of unreadable rows.
func (c openCodeExport) readRowContext(l *Log, session string) *ocContext {
	x := newContext()
	repeated := &Log{Format: l.Format, source: l.source}
	at, ok := soleValue(l.raw)
	if !ok {
		return x
	}
	for _, m := range objectAt(l.raw, at).List("messages") {
		if one := c.readMessage(repeated, objectAt(l.raw, m)); one != nil {
			x.add(session, one)
		}
	}
	return x
}

// shorten removes parts and shortens outputs. A summary becomes a text of the preceding user
// message. If nothing of a message is left, all its parts are removed, because opencode ignores a
// message without parts.
func (c openCodeExport) shorten(e *edits, t *Thread, plan *pare.Plan) error {
	pieces := buildPieces(t, t.Request, plan.Result(), false)
	kept := make(map[int]bool) // units of which something is sent
	neighbor, pending := -1, [][]byte(nil)
	for _, p := range pieces {
		if p.message < 0 {
			text, ok := onlyText(p.raw)
			if !ok {
				return ErrShorten
			}
			if pending = append(pending, text); neighbor >= 0 {
				e.unit(neighbor).after = append(e.unit(neighbor).after, c.textPart(e.file, neighbor, "0", pending[0]))
				pending = nil
			}
			continue
		}
		u := t.sources[p.message].unit
		kept[u] = true
		if p.raw != nil && !c.rewrite(e, u, p.raw) {
			return ErrShorten
		}
		if role := t.Request.Transcript().Messages()[p.message].Role; role == transcript.User && e.file.object(u).Text("type") == "text" {
			for _, text := range pending { // no user text precedes it
				e.unit(u).before = append(e.unit(u).before, c.textPart(e.file, u, "", text))
			}
			neighbor, pending = u, nil
		}
	}
	if pending != nil {
		return ErrShorten
	}
	c.dropRest(e, t, kept)
	return nil
}

// dropRest removes the dropped parts and the parts of messages without any remaining content. It
// resets token counts, which included the removed parts.
func (openCodeExport) dropRest(e *edits, t *Thread, kept map[int]bool) {
	says := make(map[int]bool) // by info: something of the message is sent
	for _, p := range t.sources {
		says[e.file.owners[p.unit]] = says[e.file.owners[p.unit]] || kept[p.unit]
	}
	sent := make(map[int]bool)
	for _, p := range t.sources {
		sent[p.unit] = true
	}
	for u, head := range e.file.owners {
		found, ours := says[head]
		switch {
		case !ours:
		case u == head:
			if used := e.file.object(u).Object("tokens"); len(used.Members) > 0 && found {
				e.setMembers(u, "tokens", []byte(`{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}`))
			}
		case !found, sent[u] && !kept[u]:
			e.unit(u).drop = true
		}
	}
}

// rewrite shortens the text or output of a part.
func (openCodeExport) rewrite(e *edits, unit int, now []byte) bool {
	o := e.file.object(unit)
	if o.Text("type") == "text" {
		text, ok := onlyText(now)
		if ok {
			e.setMembers(unit, "text", text)
		}
		return ok
	}
	blocks := objectOf(now).List("content")
	if len(blocks) != 1 {
		return false
	}
	b := objectAt(now, blocks[0])
	state := o.Object("state")
	switch b.Text("type") {
	case "tool_result":
		name := "output"
		if state.Text("status") == "error" {
			name = "error"
		}
		body := e.unitBytes(unit)
		in := objectOf(body).Object("state")
		e.setMembers(unit, "state", in.With(name, quote(resultText(now, b))))
		return true
	case "tool_use":
		body := e.unitBytes(unit)
		in := objectOf(body).Object("state")
		e.setMembers(unit, "state", in.With("input", b.Value("input")))
		return true
	}
	return false
}

// textPart returns a text part next to unit u. opencode sends parts in the order of their ids.
func (openCodeExport) textPart(l *Log, u int, following string, text []byte) []byte {
	o := l.object(u)
	id := o.Text("id")
	if following == "" {
		id = id[:max(0, len(id)-1)] // sorts before the part
	}
	return write("id", id+following, "sessionID", o.Text("sessionID"), "messageID", o.Text("messageID"), "type", "text", "text", text, "synthetic", []byte("true"))
}

// onlyText returns the text of a message without other blocks, as a JSON string.
func onlyText(message []byte) ([]byte, bool) {
	o := objectOf(message)
	if v := o.Value("content"); len(v) > 0 && v[0] == '"' {
		return v, true
	}
	var all [][]byte
	for _, at := range o.List("content") {
		b := objectAt(message, at)
		if b.Text("type") != "text" {
			return nil, false
		}
		all = append(all, []byte(b.Text("text")))
	}
	return quote(string(bytes.Join(all, []byte("\n\n")))), all != nil
}

// resultText returns the text of a result.
func resultText(raw []byte, result object) string {
	at, _ := result.Get("content")
	var all [][]byte
	for _, b := range textBlocks(raw, at) {
		all = append(all, []byte(objectOf(b).Text("text")))
	}
	return string(bytes.Join(all, []byte("\n")))
}
