package agentlog

import (
	"crypto/sha256"
	"fmt"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// goose reads the sessions of goose: JSON lines after a line of metadata, an exported session with
// its conversation, or recordings with the messages of each request. Messages hold toolRequest and
// toolResponse blocks.
type goose struct{}

var gooseRow = formatSpec{format: Goose, name: "goose", maker: "goose", dialect: wire.Anthropic, form: goose{}, lineEvidence: gooseLine, isDocument: isGoose}

func gooseLine(o object) evidence {
	switch {
	case o.Has("working_dir") && (o.Has("message_count") || o.Has("description")),
		o.Has("role") && o.Has("created") && o.Has("content") && gooseContent(o):
		return strongEvidence
	}
	return noEvidence
}

// isGoose reports whether a value is an exported session or recordings.
func isGoose(o object) bool {
	return (o.Has("conversation") || isRecording(o)) && gooseDocument(o)
}

// gooseContent reports whether a message has blocks or metadata that only goose writes.
func gooseContent(o object) bool {
	for _, b := range o.List("content") {
		switch objectAt(o.Raw, b).Text("type") {
		case "toolRequest", "toolResponse", "frontendToolRequest":
			return true
		}
	}
	return o.Object("metadata").Has("agentVisible")
}

// isRecording reports whether an object holds recordings of goose's providers.
func isRecording(o object) bool {
	for _, m := range o.Members {
		r := objectAt(o.Raw, m.Value)
		in := r.Object("input")
		return r.Has("output") && in.Has("messages") && in.Has("system")
	}
	return false
}

func gooseDocument(o object) bool {
	for _, at := range gooseLists(o) {
		for _, m := range jsonspan.Elements(o.Raw, at) {
			if gooseContent(objectAt(o.Raw, m)) {
				return true
			}
		}
	}
	return false
}

// gooseLists returns the lists of messages in a document.
func gooseLists(o object) []jsonspan.Span {
	if v, ok := o.Get("conversation"); ok && o.Raw[v.Start] == '[' {
		return []jsonspan.Span{v}
	}
	var all []jsonspan.Span
	for _, m := range o.Members {
		in := objectAt(o.Raw, m.Value).Object("input")
		if v, ok := in.Get("messages"); ok && o.Raw[v.Start] == '[' {
			all = append(all, v)
		}
	}
	return all
}

func (g goose) read(l *Log) {
	var lists []jsonspan.Span
	if at, ok := wholeObject(l.raw); ok {
		lists = gooseLists(objectAt(l.raw, at))
	}
	if lists == nil {
		l.readLines()
		g.addThread(l, "main", 0, len(l.units))
		return
	}
	for i, v := range lists {
		all := l.readList(v)
		name := "main"
		if len(lists) > 1 {
			name = fmt.Sprintf("conversation %d", i+1)
		}
		g.addThread(l, name, all.first, all.end)
	}
}

// wholeObject returns the span of the object that raw consists of.
func wholeObject(raw []byte) (jsonspan.Span, bool) {
	at, ok := soleValue(raw)
	return at, ok && raw[at.Start] == '{'
}

func (g goose) addThread(l *Log, name string, first, end int) {
	pairs, n := newPairCounts(), 0
	b := l.newBodyBuilder(wire.Anthropic, "")
	for i := first; i < end; i++ {
		o := l.object(i)
		if !o.Has("role") || !o.Has("content") {
			continue
		}
		n++
		if string(o.Object("metadata").Value("agentVisible")) != "false" {
			g.appendMessage(l, b, i, o, pairs)
		}
	}
	if n == 0 {
		return
	}
	// Recordings without calls are not counted.
	if len(l.lists) == 0 || len(pairs.calls)+len(pairs.results) > 0 {
		l.addToTally(pairs, n)
	}
	l.addPairsThread(name, Main, "", b, pairs)
}

func (goose) appendMessage(l *Log, body *bodyBuilder, i int, o object, pairs *pairCounts) {
	t := messageBuilder{counts: pairs}
	for _, m := range o.Items("content") {
		id := m.Text("id")
		switch m.Text("type") {
		case "toolRequest", "frontendToolRequest":
			call := m.Object("toolCall").Object("value")
			t.addCall(id, call.Text("name"), call.Value("arguments"), m.Span)
		case "toolResponse":
			r := m.Object("toolResult")
			v, _ := r.Get("value")
			if in := objectAt(l.raw, v); in.Has("content") {
				v, _ = in.Get("content")
			}
			text := textBlocks(l.raw, v)
			if e := r.Value("error"); len(e) > 0 && e[0] == '"' {
				text = append(text, textBlock(e))
			}
			t.addResult(id, text, r.Text("status") == "error", m.Span)
		case "text":
			t.addText(m.Value("text"), m.Span)
		}
	}
	t.appendTo(body, i, roleOf(o.Text("role")))
}

func (goose) stub(l *Log, t *Thread, call transcript.BlockID, text string) []byte {
	blk := t.Request.Transcript().Block(call)
	o := l.object(t.sources[blk.Message].unit)
	answer := write("type", "toolResponse", "id", blk.CallID, "toolResult", write("status", "error", "error", text))
	var id []byte
	if o.Has("id") {
		id = quote("msg_pare_" + blk.CallID)
	}
	var seen []byte
	if meta := o.Object("metadata"); len(meta.Members) > 0 {
		seen = write("userVisible", meta.Mark("userVisible"), "agentVisible", meta.Mark("agentVisible"))
	}
	return write("id", id, "role", "user", "created", o.Mark("created"), "content", array(answer), "metadata", seen)
}

// quoteUnit returns the message with the result replaced by a text.
func (goose) quoteUnit(l *Log, t *Thread, result transcript.BlockID, text string) []byte {
	tr := t.Request.Transcript()
	blk := tr.Block(result)
	p := t.sources[blk.Message]
	u := l.units[p.unit].span
	at := p.blockSpans[result-tr.Messages()[blk.Message].First]
	out, err := jsonspan.Splice(l.raw[u.Start:u.End], []jsonspan.Edit{{
		Span: jsonspan.Span{Start: at.Start - u.Start, End: at.End - u.Start}, New: textBlock(text),
	}})
	if err != nil {
		return nil
	}
	return out
}

func (g goose) withoutBlock(l *Log, t *Thread, call transcript.BlockID) []byte {
	return withoutElement(l, t, call, g.elements)
}

func (goose) elements(o object) []jsonspan.Span { return o.List("content") }

// unitFor returns a message with one block. It has a new id if messages have ids.
func (goose) unitFor(l *Log, unit int, block []byte) []byte {
	o := l.object(unit)
	pairs := []any{"content", array(block)}
	if id := o.Text("id"); id != "" {
		sum := sha256.Sum256(block) // several blocks may come from one message
		pairs = append(pairs, "id", fmt.Sprintf("%s_pare_%x", id, sum[:4]))
	}
	return o.With(pairs...)
}

// skipped returns the message as visible to the user but not to the model.
func (goose) skipped(record []byte) []byte {
	return setMembers(record, "metadata", write("userVisible", []byte("true"), "agentVisible", []byte("false")))
}
