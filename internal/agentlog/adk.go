package agentlog

import (
	"crypto/sha256"
	"fmt"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// adk reads sessions of the Agent Development Kit: one object with a list of events. Each event has
// a content of the Gemini API, in camel case or with underscores.
type adk struct{}

var adkRow = formatSpec{format: ADK, name: "adk", maker: "ADK", dialect: wire.Gemini, form: adk{}, isDocument: isADK}

func isADK(o object) bool {
	for _, e := range o.List("events") {
		ev := objectAt(o.Raw, e)
		return ev.Has("author") && (ev.Has("invocation_id") || ev.Has("invocationId"))
	}
	return false
}

func (a adk) read(l *Log) {
	at, ok := l.documentSpan()
	if !ok {
		return
	}
	o := objectAt(l.raw, at)
	v, ok := o.Get("events")
	if !ok || l.raw[v.Start] != '[' {
		return
	}
	all := l.readList(v)
	pairs, n := newPairCounts(), 0
	b := l.newBodyBuilder(wire.Gemini, "")
	for i := all.first; i < all.end; i++ {
		if ev := l.object(i); ev.Has("content") {
			n++
			a.appendEvent(b, i, ev.Object("content"), pairs)
		}
	}
	if n > 0 {
		l.addToTally(pairs, n)
		l.addPairsThread("main", Main, "", b, pairs)
	}
}

func either(o object, a, b string) object {
	if o.Has(a) {
		return o.Object(a)
	}
	return o.Object(b)
}

func (adk) appendEvent(b *bodyBuilder, i int, content object, pairs *pairCounts) {
	t := messageBuilder{member: "parts"}
	for _, o := range content.Items("parts") {
		call, answer := either(o, "functionCall", "function_call"), either(o, "functionResponse", "function_response")
		switch {
		case len(call.Members) > 0:
			pairs.calls[call.Text("id")]++
			t.add(write("functionCall", call.Bytes()), o.Span)
		case len(answer.Members) > 0:
			pairs.results[answer.Text("id")]++
			t.add(write("functionResponse", answer.Bytes()), o.Span)
		case o.Has("text"):
			t.add(write("text", stringOrEmpty(o.Value("text"))), o.Span)
		}
	}
	role := "user"
	if content.Text("role") == "model" {
		role = "model"
	}
	t.appendTo(b, i, role)
}

// write returns a new event with the given part. It copies the invocation, author and time of the
// unit template.
func (adk) write(l *Log, template int, part []byte) []byte {
	o := l.object(template)
	content := write("role", "user", "parts", array(part))
	var id []byte
	if old := o.Text("id"); old != "" {
		sum := sha256.Sum256(part) // several events may be written next to one event
		id = quote(fmt.Sprintf("pare-%s-%x", old, sum[:4]))
	}
	return write("invocation_id", o.Mark("invocation_id"), "invocationId", o.Mark("invocationId"), "author", o.Mark("author"),
		"content", content, "id", id, "timestamp", o.Mark("timestamp"))
}

func (a adk) stub(l *Log, t *Thread, call transcript.BlockID, text string) []byte {
	blk := t.Request.Transcript().Block(call)
	u := t.sources[blk.Message].unit
	var id []byte
	if blk.CallID != "" {
		id = quote(blk.CallID)
	}
	name := "function_response"
	if !l.object(u).Has("invocation_id") {
		name = "functionResponse"
	}
	return a.write(l, u, write(name, write("id", id, "name", blk.Tool, "response", write("error", text))))
}

func (a adk) quoteUnit(l *Log, t *Thread, result transcript.BlockID, text string) []byte {
	u := t.unitOf(result)
	return l.object(u).With("content", write("role", "user", "parts", array(write("text", text))))
}

func (a adk) splitResult(l *Log, t *Thread, result transcript.BlockID, text string) (rest, quoted []byte) {
	if rest = a.withoutBlock(l, t, result); rest == nil {
		return nil, nil
	}
	u := t.unitOf(result)
	return rest, a.write(l, u, write("text", text))
}

func (a adk) withoutBlock(l *Log, t *Thread, call transcript.BlockID) []byte {
	return withoutElement(l, t, call, a.elements)
}

func (adk) elements(o object) []jsonspan.Span { return o.Object("content").List("parts") }

func (a adk) unitFor(l *Log, unit int, part []byte) []byte { return a.write(l, unit, part) }

// skipped returns the event without its content. ADK sends nothing of it and still applies its
// changes to the session state.
func (adk) skipped(record []byte) []byte {
	return setMembers(record, "content", []byte("null"))
}

// attach stores words in the custom metadata of the event, because ADK opens no event with an
// unknown member.
func (adk) attach(record, words []byte) []byte {
	o := objectOf(record)
	name := "customMetadata"
	if o.Has("invocation_id") {
		name = "custom_metadata"
	}
	meta := []byte("{}")
	if v := o.Value(name); len(v) > 0 && v[0] == '{' {
		meta = v
	}
	return o.With(name, appendKept(meta, words))
}
