package agentlog

import (
	"crypto/sha256"
	"fmt"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// goose reads the sessions of goose: JSON lines behind a line of metadata, an
// exported session with its conversation, or recordings with the messages of each
// request. Messages hold toolRequest and toolResponse blocks.
type goose struct{}

var gooseRow = row{format: Goose, name: "goose", maker: "goose", dialect: wire.Anthropic, form: goose{}, line: gooseLine, document: isGoose}

func gooseLine(o object) evidence {
	switch {
	case o.has("working_dir") && (o.has("message_count") || o.has("description")),
		o.has("role") && o.has("created") && o.has("content") && gooseContent(o.raw, o):
		return proof
	}
	return silent
}

// isGoose reports whether a value is an exported session or recordings.
func isGoose(raw []byte, at jsonspan.Span) bool {
	o := objectAt(raw, at)
	return (o.has("conversation") || isRecording(raw, o)) && gooseDocument(raw, o)
}

// gooseContent reports whether a message of goose uses its own kinds of blocks, or
// what goose alone writes beside them.
func gooseContent(raw []byte, o object) bool {
	for _, b := range o.list("content") {
		switch objectAt(raw, b).text("type") {
		case "toolRequest", "toolResponse", "frontendToolRequest":
			return true
		}
	}
	return o.object("metadata").has("agentVisible")
}

// isRecording reports whether an object holds recordings of goose's providers.
func isRecording(raw []byte, o object) bool {
	for _, m := range o.members {
		r := objectAt(raw, m.Value)
		in := r.object("input")
		return r.has("output") && in.has("messages") && in.has("system")
	}
	return false
}

func gooseDocument(raw []byte, o object) bool {
	for _, at := range gooseLists(raw, o) {
		for _, m := range jsonspan.Elements(raw, at) {
			if gooseContent(raw, objectAt(raw, m)) {
				return true
			}
		}
	}
	return false
}

// gooseLists returns the lists of messages in a document.
func gooseLists(raw []byte, o object) []jsonspan.Span {
	if v, ok := o.get("conversation"); ok && raw[v.Start] == '[' {
		return []jsonspan.Span{v}
	}
	var all []jsonspan.Span
	for _, m := range o.members {
		in := objectAt(raw, m.Value)
		in = in.object("input")
		if v, ok := in.get("messages"); ok && raw[v.Start] == '[' {
			all = append(all, v)
		}
	}
	return all
}

func (g goose) read(l *Log) {
	var lists []jsonspan.Span
	if at, ok := wholeObject(l.raw); ok {
		lists = gooseLists(l.raw, objectAt(l.raw, at))
	}
	if lists == nil {
		l.readLines()
		g.thread(l, "main", 0, len(l.units))
		return
	}
	for i, v := range lists {
		all := l.readList(v)
		name := "main"
		if len(lists) > 1 {
			name = fmt.Sprintf("conversation %d", i+1)
		}
		g.thread(l, name, all.first, all.end)
	}
}

// wholeObject returns the object that the file is, if it is one.
func wholeObject(raw []byte) (jsonspan.Span, bool) {
	at, ok := one(raw)
	return at, ok && raw[at.Start] == '{'
}

func (g goose) thread(l *Log, name string, first, end int) {
	k, n := newTalk(), 0
	b := l.newBody(wire.Anthropic, "")
	for i := first; i < end; i++ {
		o := objectAt(l.raw, l.units[i].span)
		if !o.has("role") || !o.has("content") {
			continue
		}
		n++
		if string(o.object("metadata").value("agentVisible")) != "false" {
			g.message(l, b, i, o, k)
		}
	}
	if n == 0 {
		return
	}
	if len(l.lists) == 0 || len(k.calls)+len(k.results) > 0 { // recordings of mere talk are not counted
		l.count(k, n)
	}
	if len(b.parts) == 0 {
		return
	}
	if t := l.thread(name, Main, wire.Anthropic, "", b, nil); t != nil {
		t.pairs, t.talk = true, k
	}
}

func (goose) message(l *Log, b *bodyBuilder, i int, o object, k *talk) {
	var blocks [][]byte
	var spans []jsonspan.Span
	add := func(raw []byte, at jsonspan.Span) { blocks, spans = append(blocks, raw), append(spans, at) }
	for _, c := range o.list("content") {
		m := objectAt(l.raw, c)
		id := m.text("id")
		switch m.text("type") {
		case "toolRequest", "frontendToolRequest":
			call := m.object("toolCall").object("value")
			k.calls[id]++
			add(toolUse(id, call.text("name"), call.value("arguments")), c)
		case "toolResponse":
			k.results[id]++
			r := m.object("toolResult")
			v, _ := r.get("value")
			if in := objectAt(l.raw, v); in.has("content") {
				v, _ = in.get("content")
			}
			content := textsIn(l.raw, v)
			if e := r.value("error"); len(e) > 0 && e[0] == '"' {
				content = append(content, write("type", "text", "text", e))
			}
			add(toolResult(id, content, r.text("status") == "error"), c)
		case "text":
			add(write("type", "text", "text", stringOr(m.value("text"))), c)
		}
	}
	if len(blocks) == 0 {
		return
	}
	role := "user"
	if o.text("role") == "assistant" {
		role = "assistant"
	}
	b.put(i, write("role", role, "content", array(blocks...)), spans)
}

func (g goose) mend(e *edits, t *Thread, o Options) error {
	return mendFlat(g, e, t, o)
}

func (goose) stub(l *Log, t *Thread, call transcript.BlockID, text string) []byte {
	blk := t.Request.Transcript().Block(call)
	o := l.object(t.parts[blk.Message].unit)
	answer := write("type", "toolResponse", "id", blk.CallID, "toolResult", write("status", "error", "error", text))
	var id []byte
	if o.has("id") {
		id = quote("msg_pare_" + blk.CallID)
	}
	var seen []byte
	if meta := o.object("metadata"); len(meta.members) > 0 {
		seen = write("userVisible", meta.mark("userVisible"), "agentVisible", meta.mark("agentVisible"))
	}
	return write("id", id, "role", "user", "created", o.mark("created"), "content", array(answer), "metadata", seen)
}

// quote writes the message of a result with a text in place of it.
func (goose) quote(l *Log, t *Thread, result transcript.BlockID, text string) []byte {
	tr := t.Request.Transcript()
	blk := tr.Block(result)
	p := t.parts[blk.Message]
	u := l.units[p.unit].span
	at := p.blocks[result-tr.Messages()[blk.Message].First]
	out, err := jsonspan.Splice(l.raw[u.Start:u.End], []jsonspan.Edit{{
		Span: jsonspan.Span{Start: at.Start - u.Start, End: at.End - u.Start}, New: write("type", "text", "text", text),
	}})
	if err != nil {
		return nil
	}
	return out
}

func (g goose) without(l *Log, t *Thread, call transcript.BlockID) []byte {
	return withoutElement(l, t, call, g.elements)
}

func (goose) elements(o object) []jsonspan.Span { return o.list("content") }

// alone writes a message for one block, with an id of its own where messages have one.
func (goose) alone(l *Log, unit int, block []byte) []byte {
	o := l.object(unit)
	pairs := []any{"content", array(block)}
	if id := o.text("id"); id != "" {
		sum := sha256.Sum256(block) // several may come out of one message
		pairs = append(pairs, "id", fmt.Sprintf("%s_pare_%x", id, sum[:4]))
	}
	return setMembers(l.raw, o.span, pairs...)
}

// passOver writes a message that people see and the model does not.
func (goose) passOver(record []byte) []byte {
	return setMembers(record, jsonspan.Span{End: len(record)}, "metadata", write("userVisible", []byte("true"), "agentVisible", []byte("false")))
}
