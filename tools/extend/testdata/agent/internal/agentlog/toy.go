package agentlog

import "github.com/pare-llm/pare/wire"

// Toy is an agent that keeps one object with the messages of the Anthropic API.
const Toy Format = 200

// toyRow describes the format to the rest of the package.
var toyRow = formatSpec{
	format: Toy, name: "toy", maker: "Toy", dialect: wire.Anthropic, form: toy{},
	isDocument: func(o object) bool { return o.Has("toy_session") },
}

// toy is repaired like a list of Cline.
type toy struct{ cline }

func (toy) read(l *Log) {
	at, ok := l.documentSpan()
	if !ok {
		return
	}
	o := objectAt(l.raw, at)
	list, ok := o.Get("toy_session")
	if !ok || l.raw[list.Start] != '[' {
		return
	}
	all := l.readList(list)
	k, b := newPairCounts(), l.newBodyBuilder(wire.Anthropic, "")
	for i := all.first; i < all.end; i++ {
		appendClineMessage(l, b, i, objectAt(l.raw, l.units[i].span))
	}
	l.addToTally(k, all.end-all.first)
	l.addThread("main", Main, "", b, nil)
}
