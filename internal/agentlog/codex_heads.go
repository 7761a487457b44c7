package agentlog

import (
	"slices"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// secondHeadRule is the damage of a head in the middle of a rollout.
const secondHeadRule = "second-head"

// rolledBack is the event that takes turns back.
const rolledBackEvent = "thread_rolled_back"

// head takes a head. A fork begins with its own and that of the session it comes from, and
// nothing stands between them. A paged rollout is read from its end up to the last head, so
// whatever stands in front of that is forgotten; other rollouts are read as a whole.
func (f *codexReplay) addHead(unit int, o object) {
	if unit == 0 {
		f.isPaged = o.Text("history_mode") == "paginated"
	}
	if !f.isPaged || len(f.sent) == 0 {
		return
	}
	at := f.file.units[unit]
	first := f.file.object(0)
	if own := f.file.sessionIDFromName(); o.Text("id") == own && first.Object("payload").Text("id") != own {
		// What stands in front is another session's; the one of this name begins here.
		f.file.damageAt(at.span.Start, at.line, "second-root")
		f.notSent, f.sent = append(f.notSent, f.sent...), nil
		return
	}
	if id := first.Object("payload").Text("id"); o.Text("id") != id && f.ownSession == nil {
		f.ownSession = &savedSession{id, unit, slices.Clone(f.sent), slices.Clone(f.notSent)}
	}
	f.file.damageAt(at.span.Start, at.line, secondHeadRule, o.Text("id"))
	f.file.strays = append(f.file.strays, unit)
}

// A codexFirst is a session as it was in front of the head of another one.
type savedSession struct {
	id         string
	head       int // unit of that head
	sent, rest []codexItem
}

// goOn lets a session go on whose head comes again behind another session: that one is not sent.
func (f *codexReplay) resumeOwnSession(id string) {
	if f.ownSession == nil || f.ownSession.id != id {
		return
	}
	between := slices.DeleteFunc(slices.Concat(f.notSent, f.sent), func(it codexItem) bool { return it.unit < f.ownSession.head })
	f.sent, f.notSent, f.ownSession = f.ownSession.sent, append(f.ownSession.rest, between...), nil
}

// behead takes the heads out that stand in the middle.
func (codex) dropSecondHeads(e *edits) {
	for _, u := range e.file.strays {
		e.unit(u).drop = true
		e.addChange(Change{Line: e.file.units[u].line}, wire.ActionDrop, secondHeadRule, nil, -e.file.units[u].span.Len(), "a second head; the agent forgets everything before it")
	}
}

// nest changes an item that a compaction holds in its list; nil: it goes.
func (c codex) setNestedItem(e *edits, t *Thread, b transcript.BlockID, now []byte) {
	p := t.sources[t.Request.Transcript().Block(b).Message]
	if e.nestedItems[p.unit] == nil {
		e.nestedItems[p.unit] = make(map[int][]byte)
	}
	e.nestedItems[p.unit][p.start] = now
}

// settleNested writes the lists of compactions whose items have changed.
func (codex) writeNestedItems(e *edits) {
	for u, changed := range e.nestedItems {
		payload := e.file.object(u).Object("payload")
		var all [][]byte
		for _, at := range payload.List("replacement_history") {
			now, ok := changed[at.Start]
			if !ok {
				now = e.file.raw[at.Start:at.End]
			}
			if now != nil {
				all = append(all, now)
			}
		}
		e.setMembers(u, "payload", payload.With("replacement_history", array(all...)))
	}
}

// passOver gives a record a type that Codex does not know.
func (codex) skipped(record []byte) []byte { return markSkipped(record) }
