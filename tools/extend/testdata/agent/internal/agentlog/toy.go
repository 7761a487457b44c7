package agentlog

import (
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/wire"
)

// Toy is an agent that keeps one object with the messages of the Anthropic API.
const Toy Format = 200

// toyRow is all that the rest of the package knows of it.
var toyRow = row{format: Toy, name: "toy", maker: "Toy", dialect: wire.Anthropic, form: toy{}, document: func(raw []byte, at jsonspan.Span) bool {
	o := objectAt(raw, at)
	return o.Has("toy_session")
}}

// A toy is repaired as a list of Cline's is.
type toy struct{ cline }

func (toy) read(l *Log) {
	at, ok := l.document()
	if !ok {
		return
	}
	o := objectAt(l.raw, at)
	list, ok := o.Get("toy_session")
	if !ok || l.raw[list.Start] != '[' {
		return
	}
	all := l.readList(list)
	k, b := newTalk(), l.newBody(wire.Anthropic, "")
	for i := all.first; i < all.end; i++ {
		clineSays(l, b, i, objectAt(l.raw, l.units[i].span))
	}
	l.count(k, all.end-all.first)
	l.thread("main", Main, wire.Anthropic, "", b, nil)
}
