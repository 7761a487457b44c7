package agentlog

import (
	"slices"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

const secondHeadRule = "second-head"

// rolledBackEvent is the event that rolls back turns.
const rolledBackEvent = "thread_rolled_back"

// addHead processes a head. A fork begins with its own head and that of the original session, with
// no record between them. Codex reads a paged rollout backwards to the last head and forgets
// everything before it. It reads other rollouts completely.
func (r *codexReplay) addHead(unit int, o object) {
	if unit == 0 {
		r.isPaged = o.Text("history_mode") == "paginated"
	}
	if !r.isPaged || len(r.sent) == 0 {
		return
	}
	at := r.file.units[unit]
	first := r.file.object(0)
	if own := r.file.sessionIDFromName(); o.Text("id") == own && first.Object("payload").Text("id") != own {
		// The preceding records belong to another session. The session with the file's name begins
		// here.
		r.file.damageAt(at.span.Start, at.line, "second-root")
		r.notSent, r.sent = append(r.notSent, r.sent...), nil
		return
	}
	if id := first.Object("payload").Text("id"); o.Text("id") != id && r.ownSession == nil {
		r.ownSession = &savedSession{id, unit, slices.Clone(r.sent), slices.Clone(r.notSent)}
	}
	r.file.damageAt(at.span.Start, at.line, secondHeadRule, o.Text("id"))
	r.file.strays = append(r.file.strays, unit)
}

// A savedSession holds the items of a session before the head of another session.
type savedSession struct {
	id         string
	head       int // unit of that head
	sent, rest []codexItem
}

// resumeOwnSession continues the first session if its head is repeated after another session, whose
// items are not sent.
func (r *codexReplay) resumeOwnSession(id string) {
	if r.ownSession == nil || r.ownSession.id != id {
		return
	}
	between := slices.DeleteFunc(slices.Concat(r.notSent, r.sent), func(it codexItem) bool { return it.unit < r.ownSession.head })
	r.sent, r.notSent, r.ownSession = r.ownSession.sent, append(r.ownSession.rest, between...), nil
}

// dropSecondHeads removes heads in the middle of the file.
func (codex) dropSecondHeads(e *edits) {
	for _, u := range e.file.strays {
		e.unit(u).drop = true
		e.addChange(Change{Line: e.file.units[u].line, Change: wire.Change{Action: wire.ActionDrop, Rule: secondHeadRule, Bytes: -e.file.units[u].span.Len()}}, "a second head; the agent forgets everything before it")
	}
}

// setNestedItem replaces an item in the list of a compaction, or removes it if now is nil.
func (c codex) setNestedItem(e *edits, t *Thread, b transcript.BlockID, now []byte) {
	p := t.sources[t.Request.Transcript().Block(b).Message]
	if e.nestedItems[p.unit] == nil {
		e.nestedItems[p.unit] = make(map[int][]byte)
	}
	e.nestedItems[p.unit][p.start] = now
}

// writeNestedItems writes the changed lists of compactions.
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

// skipped returns the record with a type that Codex ignores.
func (codex) skipped(record []byte) []byte { return markSkipped(record) }
