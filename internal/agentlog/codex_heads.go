package agentlog

import (
	"slices"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// secondHeadRule is the damage of a head in the middle of a rollout.
const secondHeadRule = "second-head"

// rolledBack is the event that takes turns back.
const rolledBack = "thread_rolled_back"

// head takes a head. A fork begins with its own and that of the session it comes from, and
// nothing stands between them. A paged rollout is read from its end up to the last head, so
// whatever stands in front of that is forgotten; other rollouts are read as a whole.
func (f *codexFold) head(unit int, o object) {
	if unit == 0 {
		f.paged = o.Text("history_mode") == "paginated"
	}
	if !f.paged || len(f.sent) == 0 {
		return
	}
	at := f.l.units[unit]
	first := f.l.object(0)
	if own := f.l.sessionID(); o.Text("id") == own && first.Object("payload").Text("id") != own {
		// What stands in front is another session's; the one of this name begins here.
		f.l.damageAt(at.span.Start, at.line, "second-root")
		f.rest, f.sent = append(f.rest, f.sent...), nil
		return
	}
	if id := first.Object("payload").Text("id"); o.Text("id") != id && f.own == nil {
		f.own = &codexFirst{id, unit, slices.Clone(f.sent), slices.Clone(f.rest)}
	}
	f.l.damageAt(at.span.Start, at.line, secondHeadRule, o.Text("id"))
	f.l.strays = append(f.l.strays, unit)
}

// A codexFirst is a session as it was in front of the head of another one.
type codexFirst struct {
	id         string
	head       int // unit of that head
	sent, rest []codexItem
}

// goOn lets a session go on whose head comes again behind another session: that one is not sent.
func (f *codexFold) goOn(id string) {
	if f.own == nil || f.own.id != id {
		return
	}
	between := slices.DeleteFunc(slices.Concat(f.rest, f.sent), func(it codexItem) bool { return it.unit < f.own.head })
	f.sent, f.rest, f.own = f.own.sent, append(f.own.rest, between...), nil
}

// behead takes the heads out that stand in the middle.
func (codex) behead(e *edits) {
	for _, u := range e.l.strays {
		e.unit(u).drop = true
		e.log(Change{Line: e.l.units[u].line}, wire.ActionDrop, secondHeadRule, nil, -e.l.units[u].span.Len(), "a second head; the agent forgets everything before it")
	}
}

// nest changes an item that a compaction holds in its list; nil: it goes.
func (c codex) nest(e *edits, t *Thread, b transcript.BlockID, now []byte) {
	p := t.parts[t.Request.Transcript().Block(b).Message]
	if e.nested[p.unit] == nil {
		e.nested[p.unit] = make(map[int][]byte)
	}
	e.nested[p.unit][p.at] = now
}

// settleNested writes the lists of compactions whose items have changed.
func (codex) settleNested(e *edits) {
	for u, changed := range e.nested {
		payload := e.l.object(u).Object("payload")
		var all [][]byte
		for _, at := range payload.List("replacement_history") {
			now, ok := changed[at.Start]
			if !ok {
				now = e.l.raw[at.Start:at.End]
			}
			if now != nil {
				all = append(all, now)
			}
		}
		e.set(u, "payload", payload.With("replacement_history", array(all...)))
	}
}

// passOver gives a record a type that Codex does not know.
func (codex) passOver(record []byte) []byte { return retire(record) }
