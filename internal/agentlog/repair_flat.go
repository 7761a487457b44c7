package agentlog

import (
	"bytes"
	"maps"
	"strings"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A unitWriter is a format in which a result is a unit.
type unitWriter interface {
	// stub returns a unit that answers a call, or nil if that is impossible.
	stub(l *Log, t *Thread, call transcript.BlockID, text string) []byte
	// quoteUnit returns the unit of a result as a user message with the given text.
	quoteUnit(l *Log, t *Thread, result transcript.BlockID, text string) []byte
	// withoutBlock returns the unit of a call or result without that block, or nil if nothing else
	// is in the unit.
	withoutBlock(l *Log, t *Thread, half transcript.BlockID) []byte
}

// A mediaWriter is a unitWriter whose results may contain media, which a quotation keeps.
type mediaWriter interface {
	media(l *Log, t *Thread, result transcript.BlockID) [][]byte
}

// A resultSplitter is a unitWriter whose units may hold several results. A quoted result becomes a
// separate unit.
type resultSplitter interface {
	// splitResult returns the unit without a result, and a unit that quotes the result. It returns
	// nil if nothing else is in the unit.
	splitResult(l *Log, t *Thread, result transcript.BlockID, text string) (rest, quoted []byte)
}

// An elementWriter is a unitWriter whose units may hold results and other elements. A result can be
// moved without them.
type elementWriter interface {
	// elements returns the spans of the elements of a unit.
	elements(o object) []jsonspan.Span
	// unitFor returns a new unit with one of the elements.
	unitFor(l *Log, unit int, element []byte) []byte
}

// A nestedWriter is a unitWriter whose units may hold lists of items, which are changed in place.
type nestedWriter interface {
	setNestedItem(e *edits, t *Thread, b transcript.BlockID, now []byte)
	quotedItem(l *Log, t *Thread, result transcript.BlockID, text string) []byte
}

// A pairMatcher is a unitWriter with calls and results that need more than equal ids to match.
type pairMatcher interface {
	isPair(t *Thread, call, result transcript.BlockID) bool
}

// repairFlat repairs the pairs of a thread, one change per finding.
func repairFlat(w unitWriter, e *edits, t *Thread, o Options) error {
	if o.AppendOnly {
		return appendStubs(w, e, t, o)
	}
	changeFlat(w, e, t, o)
	return nil
}

// appendStubs answers the open calls at the end of a file of lines. Other repairs need changes of
// existing lines.
func appendStubs(w unitWriter, e *edits, t *Thread, o Options) error {
	for _, f := range e.file.checkThread(t, o.Check) {
		if f.Open && o.Repair.Open {
			continue
		}
		text := stubText(o.Repair, t.Request.Transcript(), f.Block)
		raw := w.stub(e.file, t, f.Block, text)
		if !f.Open || e.file.lists != nil || raw == nil {
			return ErrAppendOnly
		}
		e.appended = append(e.appended, raw)
		e.addChange(Change{Thread: t.Name, Line: f.Line, Change: wire.Change{Action: wire.ActionInsert, Rule: f.Rule, IDs: f.IDs, Bytes: len(raw)}}, "a stub: %s", text)
	}
	return nil
}

func changeFlat(w unitWriter, e *edits, t *Thread, o Options) {
	found := e.file.checkThread(t, wire.CheckOptions{Strict: o.Check.Strict})
	if len(found) == 0 {
		return
	}
	tr := t.Request.Transcript()
	m := flatRepairer{
		unitWriter: w, edits: e, thread: t, options: o, transcript: tr, ids: newCallIDs(tr), touched: maps.Clone(e.heldUnits), movedElements: make(map[int]map[int]bool),
		moved: make(map[transcript.BlockID]bool), settled: make(map[transcript.BlockID]bool),
	}
	strays := make(map[string]*Finding)
	for i := range found {
		if f := &found[i]; f.Rule == "orphan-result" && len(f.IDs) > 0 {
			strays[f.IDs[0]] = f
		}
	}
	// Results that exist take precedence over stubs, so first move results to their calls.
	for i := range found {
		if f := &found[i]; f.Rule == "orphan-call" && len(f.IDs) > 0 && strays[f.IDs[0]] != nil && m.isPair(f.Block, strays[f.IDs[0]].Block) && m.moveResult(f, strays[f.IDs[0]].Block, strays[f.IDs[0]].unit, f.unit) {
			m.moved[f.Block] = true
			delete(strays, f.IDs[0])
		}
	}
	for i := range found {
		m.repair(&found[i])
	}
	m.writeRemainders()
}

type flatRepairer struct {
	unitWriter
	edits         *edits
	thread        *Thread
	options       Options
	transcript    *transcript.Transcript
	touched       map[int]bool
	moved         map[transcript.BlockID]bool // calls that got their results back
	settled       map[transcript.BlockID]bool // first results of calls with several results
	movedElements map[int]map[int]bool        // by unit: offsets of the elements that were moved out
	ids           *callIDs
}

func (r *flatRepairer) change(f *Finding) Change { return Change{Thread: r.thread.Name, Line: f.Line} }

// isPair reports whether a result can answer a call with the same id.
func (r *flatRepairer) isPair(call, result transcript.BlockID) bool {
	k, ok := r.unitWriter.(pairMatcher)
	return !ok || k.isPair(r.thread, call, result)
}

// moveResult moves a result, as its unit or as an element of it, after the unit of its call. It
// reports whether it did.
func (r *flatRepairer) moveResult(f *Finding, result transcript.BlockID, unit, call int) bool {
	if unit == call || r.edits.file.sealed[unit] || r.touched[unit] && r.movedElements[unit] == nil {
		return false
	}
	r.touched[unit] = true
	moved := r.carve(result, unit)
	if moved == nil {
		moved = r.edits.unitBytes(unit)
		r.edits.unit(unit).drop = true
	}
	x := r.edits.unit(call)
	x.after = append(x.after, moved)
	r.edits.addChange(Change{Thread: r.thread.Name, Line: r.edits.file.units[unit].line, Change: wire.Change{Action: wire.ActionMove, Rule: f.Rule, IDs: f.IDs}}, "moved to the place behind its call")
	return true
}

// carve returns a new unit with a result that is one of several elements of a unit, or nil if it is
// the only one.
func (r *flatRepairer) carve(result transcript.BlockID, unit int) []byte {
	c, ok := r.unitWriter.(elementWriter)
	if !ok || len(c.elements(r.edits.file.object(unit))) < 2 {
		return nil
	}
	if r.movedElements[unit] == nil {
		r.movedElements[unit] = make(map[int]bool)
	}
	blk := r.transcript.Block(result)
	at := r.thread.sources[blk.Message].blockSpans[result-r.transcript.Messages()[blk.Message].First]
	r.movedElements[unit][at.Start] = true
	return c.unitFor(r.edits.file, unit, r.edits.file.raw[at.Start:at.End])
}

// writeRemainders writes the units from which results were moved.
func (r *flatRepairer) writeRemainders() {
	for unit, removed := range r.movedElements {
		all := r.unitWriter.(elementWriter).elements(r.edits.file.object(unit))
		var stay [][]byte
		for _, at := range all {
			if !removed[at.Start] {
				stay = append(stay, r.edits.file.raw[at.Start:at.End])
			}
		}
		if stay == nil {
			r.edits.unit(unit).drop = true
			continue
		}
		first := all[0].Start
		r.edits.replaceSpan(unit, first, all[len(all)-1].End-first, bytes.Join(stay, []byte{','}))
	}
}

func (r *flatRepairer) repair(f *Finding) {
	if f.Block == transcript.NoBlock || r.touched[f.unit] && f.Rule != "orphan-call" {
		return
	}
	x := r.transcript.Exchanges()[r.transcript.ExchangeOf(f.Block)]
	switch f.Rule {
	case "orphan-call":
		r.answerCall(f, x)
	case "orphan-result":
		r.settleStray(f)
	case "displaced-result":
		if x.Call != transcript.NoBlock {
			call, _ := r.thread.locate(r.edits.file, r.transcript.Block(x.Call).Message, x.Call)
			r.moveResult(f, f.Block, f.unit, call)
		}
	case "duplicate-result":
		r.settleExtra(f, x)
	case "duplicate-call-id":
		r.settleDuplicateID(f, x)
	}
}

// answerCall adds a stub for a call, or drops the call.
func (r *flatRepairer) answerCall(f *Finding, x transcript.Exchange) {
	if r.options.Repair.Open && f.Open || r.moved[f.Block] {
		return
	}
	text := stubText(r.options.Repair, r.transcript, f.Block)
	if r.options.Repair.OrphanCall == wire.RemedyDrop || text == "" || x.CallID == "" {
		r.dropOpenCall(f)
		return
	}
	raw := r.stub(r.edits.file, r.thread, f.Block, text)
	if raw == nil {
		r.dropOpenCall(f)
		return
	}
	u := r.edits.unit(f.unit)
	u.after = append(u.after, raw)
	r.edits.addChange(r.change(f).with(wire.Change{Action: wire.ActionInsert, Rule: f.Rule, IDs: f.IDs, Bytes: len(raw)}), "a stub: %s", text)
}

// dropOpenCall drops a call without a result.
func (r *flatRepairer) dropOpenCall(f *Finding) {
	if len(f.IDs) > 0 { // otherwise the receipt does not name the call
		r.allowRead(f.unit, f.Block)
	}
	r.dropCall(f, "a tool call without a result")
}

// allowRead marks the strings of a call or result that the format reads as named in a receipt,
// except quotations of another speaker.
func (r *flatRepairer) allowRead(unit int, b transcript.BlockID) {
	at := r.elementSpan(b)
	if at == r.edits.file.units[unit].span {
		return // a whole record holds more than the call
	}
	read := make(map[string]bool)
	raw := r.transcript.Bytes(r.transcript.Block(b).Span)
	eachWord(raw, jsonspan.Span{End: len(raw)}, func(s jsonspan.Span) { read[decodeString(raw, s)] = true })
	quoted := dialect.QuotedIn(r.edits.file.raw, transcript.Span(at))
	eachWord(r.edits.file.raw, at, func(s jsonspan.Span) {
		if read[decodeString(r.edits.file.raw, s)] && !quoted[s.Start] {
			r.edits.allowLoss(unit, s)
		}
	})
}

// elementSpan returns the span of the file that a block was built from.
func (r *flatRepairer) elementSpan(b transcript.BlockID) jsonspan.Span {
	blk := r.transcript.Block(b)
	p, msg := r.thread.sources[blk.Message], r.transcript.Messages()[blk.Message]
	switch i := int(b - msg.First); {
	case p.start >= 0:
		return jsonspan.Span{Start: p.start, End: p.start + msg.Span.Len()}
	case i < len(p.blockSpans):
		return p.blockSpans[i]
	}
	return r.edits.file.units[p.unit].span
}

// dropCall removes a call from its unit.
func (r *flatRepairer) dropCall(f *Finding, why string) {
	removed := func() {
		r.edits.addChange(r.change(f).with(wire.Change{Action: wire.ActionDrop, Rule: f.Rule, IDs: f.IDs, Bytes: -r.transcript.Block(f.Block).Span.Len()}), "%s", why)
	}
	if r.edits.file.sealed[f.unit] {
		if n, ok := r.unitWriter.(nestedWriter); ok && !r.edits.heldUnits[f.unit] {
			n.setNestedItem(r.edits, r.thread, f.Block, nil)
			removed()
		}
		return
	}
	if r.touched[f.unit] {
		return
	}
	r.touched[f.unit] = true
	rest := r.withoutBlock(r.edits.file, r.thread, f.Block)
	if rest == nil {
		r.edits.unit(f.unit).drop = true
	} else {
		r.edits.unit(f.unit).body = rest
	}
	removed()
}

// resultTexts returns the text of a result and the bytes of its media. If both are empty and the
// result has strings elsewhere, the text is the result's JSON.
func (r *flatRepairer) resultTexts(result transcript.BlockID) (text, shown string) {
	if s, ok := r.unitWriter.(mediaWriter); ok {
		shown = string(bytes.Join(s.media(r.edits.file, r.thread, result), []byte{','}))
	}
	text = r.thread.Request.Text(result)
	if strings.TrimSpace(text+shown) != "" {
		return text, shown
	}
	unit, _ := r.thread.locate(r.edits.file, r.transcript.Block(result).Message, result)
	at, hasStrings := r.elementSpan(result), false
	if at != r.edits.file.units[unit].span {
		eachWord(r.edits.file.raw, at, func(jsonspan.Span) { hasStrings = true })
	}
	if hasStrings {
		text = string(r.edits.file.raw[at.Start:at.End])
	}
	return text, shown
}

// settleStray quotes a result without a call, or drops it if it is empty.
func (r *flatRepairer) settleStray(f *Finding) {
	if !r.canChange(f.unit) {
		return
	}
	text, shown := r.resultTexts(f.Block)
	if r.options.Repair.OrphanResult == wire.RemedyDrop || dialect.IsSynthetic(text) || strings.TrimSpace(text+shown) == "" {
		r.allowRead(f.unit, f.Block)
		r.edits.addChange(r.change(f).with(wire.Change{Action: wire.ActionDrop, Rule: f.Rule, IDs: f.IDs, Bytes: -r.dropResult(f.unit, f.Block)}), "a result whose call is not in the history")
		return
	}
	r.quoteResult(f.unit, f.Block, text)
	r.edits.addChange(r.change(f).with(wire.Change{Action: wire.ActionEdit, Rule: f.Rule, IDs: f.IDs}), "a result whose call is not in the history, kept as quoted text")
}

// canChange reports whether the results of a unit may be changed, and marks a unit with a single
// result as touched.
func (r *flatRepairer) canChange(unit int) bool {
	if r.edits.file.sealed[unit] {
		_, ok := r.unitWriter.(nestedWriter)
		return ok && !r.edits.heldUnits[unit]
	}
	r.touched[unit] = true
	return true
}

// dropResult removes a result from its unit, and the unit if nothing else is in it. It returns the
// number of bytes removed.
func (r *flatRepairer) dropResult(unit int, result transcript.BlockID) int {
	if n, ok := r.unitWriter.(nestedWriter); ok && r.edits.file.sealed[unit] {
		n.setNestedItem(r.edits, r.thread, result, nil)
		return r.transcript.Block(result).Span.Len()
	}
	size := r.edits.file.units[unit].span.Len()
	rest := r.withoutBlock(r.edits.file, r.thread, result)
	if rest == nil {
		r.edits.unit(unit).drop = true
		return size
	}
	r.edits.unit(unit).body = rest
	return size - len(rest)
}

// quoteResult replaces a result by a quotation.
func (r *flatRepairer) quoteResult(unit int, result transcript.BlockID, text string) {
	if n, ok := r.unitWriter.(nestedWriter); ok && r.edits.file.sealed[unit] {
		n.setNestedItem(r.edits, r.thread, result, n.quotedItem(r.edits.file, r.thread, result, quotation+text))
		return
	}
	u := r.edits.unit(unit)
	if p, ok := r.unitWriter.(resultSplitter); ok {
		if rest, quoted := p.splitResult(r.edits.file, r.thread, result, quotation+text); rest != nil {
			u.body, u.after = rest, append(u.after, quoted)
			return
		}
	}
	u.body = r.quoteUnit(r.edits.file, r.thread, result, quotation+text)
}

// quotation introduces a quoted result, so that nobody mistakes it for the user's words.
const quotation = "[A tool result without its call; quoted, not written by the user]\n"

// settleExtra keeps one result of a call: the first real one, or else the first synthetic one. It
// drops copies of it and synthetic results, and quotes all others.
func (r *flatRepairer) settleExtra(finding *Finding, exchange transcript.Exchange) {
	if r.settled[exchange.Results[0]] {
		return // already settled
	}
	r.settled[exchange.Results[0]] = true
	best := exchange.Results[0]
	for _, result := range exchange.Results {
		if !dialect.IsSynthetic(r.thread.Request.Text(result)) {
			best = result
			break
		}
	}
	first, shown := r.resultTexts(best)
	said := map[[2]string]bool{{first, shown}: true}
	words := make(map[string]bool) // strings of the kept results
	repeated := func(result transcript.BlockID) bool {
		known := true
		eachWord(r.edits.file.raw, r.elementSpan(result), func(s jsonspan.Span) {
			if text := decodeString(r.edits.file.raw, s); !words[text] {
				words[text], known = true, false
			}
		})
		return known
	}
	repeated(best)
	for _, result := range exchange.Results {
		u, _ := r.thread.locate(r.edits.file, r.transcript.Block(result).Message, result)
		if result == best || r.touched[u] || !r.canChange(u) {
			continue
		}
		c := Change{Thread: r.thread.Name, Line: r.edits.file.units[u].line}
		text, shown := r.resultTexts(result)
		if repeated(result) && said[[2]string{text, shown}] || dialect.IsSynthetic(text) || strings.TrimSpace(text+shown) == "" {
			r.edits.addChange(c.with(wire.Change{Action: wire.ActionDrop, Rule: finding.Rule, IDs: finding.IDs, Bytes: -r.dropResult(u, result)}), "a call has one result; another one was kept")
			continue
		}
		said[[2]string{text, shown}] = true
		r.quoteResult(u, result, text)
		r.edits.addChange(c.with(wire.Change{Action: wire.ActionEdit, Rule: finding.Rule, IDs: finding.IDs}), "a call has one result; this one is kept as quoted text")
	}
}
