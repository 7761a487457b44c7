package agentlog

import (
	"slices"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/wire"
)

// cline reads api_conversation_history.json of Cline and Roo: a list of messages of
// the Anthropic API, as it is sent. Roo keeps messages that a summary or a
// truncation has hidden; they lie dormant.
type cline struct{}

// clineRow has no evidence: only the name tells the file from other lists of messages.
var clineRow = row{format: Cline, name: "cline", maker: "Cline", dialect: wire.Anthropic, form: cline{}, lenient: true}

func (cline) read(l *Log) {
	at, ok := l.document()
	if !ok || l.raw[at.Start] != '[' {
		return
	}
	all := l.readList(at)
	hiding := make(map[string]bool) // ids of summaries and truncations
	for i := all.first; i < all.end; i++ {
		o := l.object(i)
		hiding[o.Text("condenseId")], hiding[o.Text("truncationId")] = true, true
	}
	delete(hiding, "")
	k, n := newTalk(), 0
	live, hidden := l.newBody(wire.Anthropic, ""), l.newBody(wire.Anthropic, "")
	assistant, calls := false, false // of the last message that is sent
	for i := all.first; i < all.end; i++ {
		o := l.object(i)
		if !o.Has("role") {
			l.damageUnit(i, "skipped-message")
			continue
		}
		n++
		here := false
		for _, b := range o.List("content") {
			switch c := objectAt(l.raw, b); c.Text("type") {
			case "tool_use":
				k.calls[c.Text("id")]++
				here = true
			case "tool_result":
				k.results[c.Text("tool_use_id")]++
			}
		}
		if hiding[o.Text("condenseParent")] || hiding[o.Text("truncationParent")] {
			clineSays(l, hidden, i, o)
			continue
		}
		assistant = o.Text("role") == "assistant"
		calls = here
		clineSays(l, live, i, o)
	}
	if n == 0 {
		return
	}
	l.count(k, n)
	if len(hidden.parts) > 0 {
		if t := l.thread("dormant", Dormant, wire.Anthropic, "", hidden, nil); t != nil {
			t.talk = k
		}
	}
	if len(live.parts) > 0 {
		var prompt []byte
		if assistant && !calls {
			prompt = write("role", "user", "content", promptText)
		}
		l.thread("main", Main, wire.Anthropic, "", live, prompt)
	}
}

// clineSays adds what is sent of a message: Cline keeps times, models and costs beside it.
func clineSays(l *Log, b *bodyBuilder, i int, o object) {
	content, ok := o.Get("content")
	role := o.Text("role")
	if !ok || role != "user" && role != "assistant" {
		b.copy(i, l.raw, l.units[i].span)
		return
	}
	b.say(i, l.raw, l.units[i].span, role, content)
}

// repair writes what the provider's own rules make of the list.
func (cline) repair(e *edits, t *Thread, o Options) error {
	found := e.l.checkThread(t, o.Check)
	if len(found) == 0 || e.holds(t) {
		return nil
	}
	if o.AppendOnly {
		return ErrAppendOnly
	}
	plan, err := parex.Repair(t.Request, pare.Options{Repair: o.Repair, Check: o.Check})
	if err != nil {
		return err
	}
	for _, c := range plan.Changes() {
		e.changes = append(e.changes, Change{Change: c, Thread: t.Name, Line: e.l.lineOfPath(t, c.Path)})
	}
	e.letDropped(t, plan.Changes())
	e.putPieces(t, piecesOf(t, t.Request, plan.Result(), true))
	return nil
}

// shorten writes the list anew: Cline keeps what it sends, and nothing else.
func (cline) shorten(e *edits, t *Thread, plan *pare.Plan) error {
	e.putPieces(t, piecesOf(t, t.Request, plan.Result(), true))
	return nil
}

// putPieces makes the list of a file that of a repaired thread.
func (e *edits) putPieces(t *Thread, pieces []piece) {
	stays := increasing(pieces)
	e.dropUnused(t, pieces)
	front := t.parts[0].unit // the first unit that stays
	if k := slices.Index(stays, true); k >= 0 {
		front = t.parts[pieces[k].message].unit
	}
	last := -1 // the unit that was put in place last
	for k, p := range pieces {
		raw := p.raw
		if p.message >= 0 {
			u := t.parts[p.message].unit
			if raw != nil {
				e.unit(u).body = e.l.with(e.l.units[u].span, raw)
			}
			if stays[k] {
				last = u
				continue
			}
			raw = e.body(u)
			e.unit(u).drop = true
		}
		if last >= 0 {
			e.unit(last).after = append(e.unit(last).after, raw)
			continue
		}
		e.unit(front).before = append(e.unit(front).before, raw)
	}
}
