package agentlog

import (
	"context"
	"slices"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/wire"
)

// cline reads api_conversation_history.json of Cline and Roo: a list of Anthropic messages as they
// are sent. Roo keeps messages that a summary or a truncation has hidden; they are dormant.
type cline struct{}

// clineRow has no evidence, because only the file name distinguishes the file from other lists of
// messages.
var clineRow = formatSpec{format: Cline, name: "cline", maker: "Cline", dialect: wire.Anthropic, form: cline{}, lenientUTF8: true}

func (cline) read(l *Log) {
	at, ok := l.documentSpan()
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
	pairs, messages := newPairCounts(), 0
	live, hidden := l.newBodyBuilder(wire.Anthropic, ""), l.newBodyBuilder(wire.Anthropic, "")
	assistant, calls := false, false // of the last sent message
	for i := all.first; i < all.end; i++ {
		o := l.object(i)
		if !o.Has("role") {
			l.damageUnit(i, "skipped-message")
			continue
		}
		messages++
		here := false
		for _, b := range o.List("content") {
			switch c := objectAt(l.raw, b); c.Text("type") {
			case "tool_use":
				pairs.calls[c.Text("id")]++
				here = true
			case "tool_result":
				pairs.results[c.Text("tool_use_id")]++
			}
		}
		if hiding[o.Text("condenseParent")] || hiding[o.Text("truncationParent")] {
			appendClineMessage(l, hidden, i, o)
			continue
		}
		assistant = o.Text("role") == "assistant"
		calls = here
		appendClineMessage(l, live, i, o)
	}
	if messages == 0 {
		return
	}
	l.addToTally(pairs, messages)
	if len(hidden.parts) > 0 {
		if t := l.addThread("dormant", Dormant, "", hidden, nil); t != nil {
			t.counts = pairs
		}
	}
	if len(live.parts) > 0 {
		var prompt []byte
		if assistant && !calls {
			prompt = write("role", "user", "content", promptText)
		}
		l.addThread("main", Main, "", live, prompt)
	}
}

// appendClineMessage adds the sent part of a message, without the times, models and costs that
// Cline stores with it.
func appendClineMessage(l *Log, b *bodyBuilder, i int, o object) {
	content, ok := o.Get("content")
	role := o.Text("role")
	if !ok || role != "user" && role != "assistant" {
		b.appendVerbatim(i, l.raw, l.units[i].span)
		return
	}
	b.appendContent(i, l.raw, l.units[i].span, role, content)
}

// repair applies the repairs of the Anthropic dialect to the list.
func (cline) repair(e *edits, t *Thread, o Options) error {
	found := e.file.checkThread(t, o.Check)
	if len(found) == 0 || e.hasHeldUnit(t) {
		return nil
	}
	if o.AppendOnly {
		return ErrAppendOnly
	}
	plan, err := planner.Repair(context.Background(), t.Request, pare.Options{Repair: o.Repair, Check: o.Check})
	if err != nil {
		return err
	}
	for _, c := range plan.Changes() {
		e.changes = append(e.changes, Change{Change: c, Thread: t.Name, Line: e.file.lineOfPath(t, c.Path)})
	}
	e.allowDroppedBlocks(t, plan.Changes())
	e.putPieces(t, buildPieces(t, t.Request, plan.Result(), true))
	return nil
}

// shorten rewrites the list. Cline stores only the messages that it sends.
func (cline) shorten(e *edits, t *Thread, plan *pare.Plan) error {
	e.putPieces(t, buildPieces(t, t.Request, plan.Result(), true))
	return nil
}

// putPieces replaces the messages of a thread by pieces.
func (e *edits) putPieces(t *Thread, pieces []piece) {
	inPlace := longestIncreasing(pieces)
	e.dropUnused(t, pieces)
	first := t.sources[0].unit // the first unit that stays
	if k := slices.Index(inPlace, true); k >= 0 {
		first = t.sources[pieces[k].message].unit
	}
	last := -1 // the last unit that is in place
	for k, p := range pieces {
		raw := p.raw
		if p.message >= 0 {
			u := t.sources[p.message].unit
			if raw != nil {
				e.unit(u).body = e.file.withContent(e.file.units[u].span, raw)
			}
			if inPlace[k] {
				last = u
				continue
			}
			raw = e.unitBytes(u)
			e.unit(u).drop = true
		}
		if last >= 0 {
			e.unit(last).after = append(e.unit(last).after, raw)
			continue
		}
		e.unit(first).before = append(e.unit(first).before, raw)
	}
}
