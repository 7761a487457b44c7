package agentlog

import (
	"bytes"
	"maps"
	"strings"

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
		e.addChange(Change{Thread: t.Name, Line: f.Line}, wire.ActionInsert, f.Rule, f.IDs, len(raw), "a stub: %s", text)
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

func (m *flatRepairer) change(f *Finding) Change { return Change{Thread: m.thread.Name, Line: f.Line} }

// isPair reports whether a result can answer a call with the same id.
func (m *flatRepairer) isPair(call, result transcript.BlockID) bool {
	k, ok := m.unitWriter.(pairMatcher)
	return !ok || k.isPair(m.thread, call, result)
}

// moveResult moves a result, as its unit or as an element of it, after the unit of its call. It
// reports whether it did.
func (m *flatRepairer) moveResult(f *Finding, result transcript.BlockID, unit, call int) bool {
	if unit == call || m.edits.file.sealed[unit] || m.touched[unit] && m.movedElements[unit] == nil {
		return false
	}
	m.touched[unit] = true
	moved := m.carve(result, unit)
	if moved == nil {
		moved = m.edits.unitBytes(unit)
		m.edits.unit(unit).drop = true
	}
	x := m.edits.unit(call)
	x.after = append(x.after, moved)
	m.edits.addChange(Change{Thread: m.thread.Name, Line: m.edits.file.units[unit].line}, wire.ActionMove, f.Rule, f.IDs, 0, "moved to the place behind its call")
	return true
}

// carve returns a new unit with a result that is one of several elements of a unit, or nil if it is
// the only one.
func (m *flatRepairer) carve(result transcript.BlockID, unit int) []byte {
	c, ok := m.unitWriter.(elementWriter)
	if !ok || len(c.elements(m.edits.file.object(unit))) < 2 {
		return nil
	}
	if m.movedElements[unit] == nil {
		m.movedElements[unit] = make(map[int]bool)
	}
	blk := m.transcript.Block(result)
	at := m.thread.sources[blk.Message].blockSpans[result-m.transcript.Messages()[blk.Message].First]
	m.movedElements[unit][at.Start] = true
	return c.unitFor(m.edits.file, unit, m.edits.file.raw[at.Start:at.End])
}

// writeRemainders writes the units from which results were moved.
func (m *flatRepairer) writeRemainders() {
	for unit, gone := range m.movedElements {
		all := m.unitWriter.(elementWriter).elements(m.edits.file.object(unit))
		var stay [][]byte
		for _, at := range all {
			if !gone[at.Start] {
				stay = append(stay, m.edits.file.raw[at.Start:at.End])
			}
		}
		if stay == nil {
			m.edits.unit(unit).drop = true
			continue
		}
		first := all[0].Start
		m.edits.replaceSpan(unit, first, all[len(all)-1].End-first, bytes.Join(stay, []byte{','}))
	}
}

func (m *flatRepairer) repair(f *Finding) {
	if f.Block == transcript.NoBlock || m.touched[f.unit] && f.Rule != "orphan-call" {
		return
	}
	x := m.transcript.Exchanges()[m.transcript.ExchangeOf(f.Block)]
	switch f.Rule {
	case "orphan-call":
		m.answerCall(f, x)
	case "orphan-result":
		m.settleStray(f)
	case "displaced-result":
		if x.Call != transcript.NoBlock {
			call, _ := m.thread.locate(m.edits.file, m.transcript.Block(x.Call).Message, x.Call)
			m.moveResult(f, f.Block, f.unit, call)
		}
	case "duplicate-result":
		m.settleExtra(f, x)
	case "duplicate-call-id":
		m.settleDuplicateID(f, x)
	}
}

// answerCall adds a stub for a call, or drops the call.
func (m *flatRepairer) answerCall(f *Finding, x transcript.Exchange) {
	if m.options.Repair.Open && f.Open || m.moved[f.Block] {
		return
	}
	text := stubText(m.options.Repair, m.transcript, f.Block)
	if m.options.Repair.OrphanCall == wire.RemedyDrop || text == "" || x.CallID == "" {
		m.dropOpenCall(f)
		return
	}
	raw := m.stub(m.edits.file, m.thread, f.Block, text)
	if raw == nil {
		m.dropOpenCall(f)
		return
	}
	u := m.edits.unit(f.unit)
	u.after = append(u.after, raw)
	m.edits.addChange(m.change(f), wire.ActionInsert, f.Rule, f.IDs, len(raw), "a stub: %s", text)
}

// dropOpenCall drops a call without a result.
func (m *flatRepairer) dropOpenCall(f *Finding) {
	if len(f.IDs) > 0 { // otherwise the receipt does not name the call
		m.allowRead(f.unit, f.Block)
	}
	m.dropCall(f, "a tool call without a result")
}

// allowRead marks the strings of a call or result that the format reads as named in a receipt,
// except quotations of another speaker.
func (m *flatRepairer) allowRead(unit int, b transcript.BlockID) {
	at := m.elementSpan(b)
	if at == m.edits.file.units[unit].span {
		return // a whole record holds more than the call
	}
	read := make(map[string]bool)
	raw := m.transcript.Bytes(m.transcript.Block(b).Span)
	eachWord(raw, jsonspan.Span{End: len(raw)}, func(s jsonspan.Span) { read[decodeString(raw, s)] = true })
	quoted := wirex.QuotedIn(m.edits.file.raw, transcript.Span(at))
	eachWord(m.edits.file.raw, at, func(s jsonspan.Span) {
		if read[decodeString(m.edits.file.raw, s)] && !quoted[s.Start] {
			m.edits.allowLoss(unit, s)
		}
	})
}

// elementSpan returns the span of the file that a block was built from.
func (m *flatRepairer) elementSpan(b transcript.BlockID) jsonspan.Span {
	blk := m.transcript.Block(b)
	p, msg := m.thread.sources[blk.Message], m.transcript.Messages()[blk.Message]
	switch i := int(b - msg.First); {
	case p.start >= 0:
		return jsonspan.Span{Start: p.start, End: p.start + msg.Span.Len()}
	case i < len(p.blockSpans):
		return p.blockSpans[i]
	}
	return m.edits.file.units[p.unit].span
}

// dropCall removes a call from its unit.
func (m *flatRepairer) dropCall(f *Finding, why string) {
	gone := func() {
		m.edits.addChange(m.change(f), wire.ActionDrop, f.Rule, f.IDs, -m.transcript.Block(f.Block).Span.Len(), "%s", why)
	}
	if m.edits.file.sealed[f.unit] {
		if n, ok := m.unitWriter.(nestedWriter); ok && !m.edits.heldUnits[f.unit] {
			n.setNestedItem(m.edits, m.thread, f.Block, nil)
			gone()
		}
		return
	}
	if m.touched[f.unit] {
		return
	}
	m.touched[f.unit] = true
	rest := m.withoutBlock(m.edits.file, m.thread, f.Block)
	if rest == nil {
		m.edits.unit(f.unit).drop = true
	} else {
		m.edits.unit(f.unit).body = rest
	}
	gone()
}

// resultTexts returns the text of a result and the bytes of its media. If both are empty and the
// result has strings elsewhere, the text is the result's JSON.
func (m *flatRepairer) resultTexts(result transcript.BlockID) (text, shown string) {
	if s, ok := m.unitWriter.(mediaWriter); ok {
		shown = string(bytes.Join(s.media(m.edits.file, m.thread, result), []byte{','}))
	}
	text = m.thread.Request.Text(result)
	if strings.TrimSpace(text+shown) != "" {
		return text, shown
	}
	unit, _ := m.thread.locate(m.edits.file, m.transcript.Block(result).Message, result)
	at, some := m.elementSpan(result), false
	if at != m.edits.file.units[unit].span {
		eachWord(m.edits.file.raw, at, func(jsonspan.Span) { some = true })
	}
	if some {
		text = string(m.edits.file.raw[at.Start:at.End])
	}
	return text, shown
}

// settleStray quotes a result without a call, or drops it if it is empty.
func (m *flatRepairer) settleStray(f *Finding) {
	if !m.canChange(f.unit) {
		return
	}
	text, shown := m.resultTexts(f.Block)
	if m.options.Repair.OrphanResult == wire.RemedyDrop || wirex.IsSynthetic(text) || strings.TrimSpace(text+shown) == "" {
		m.allowRead(f.unit, f.Block)
		m.edits.addChange(m.change(f), wire.ActionDrop, f.Rule, f.IDs, -m.dropResult(f.unit, f.Block), "a result whose call is not in the history")
		return
	}
	m.quoteResult(f.unit, f.Block, text)
	m.edits.addChange(m.change(f), wire.ActionEdit, f.Rule, f.IDs, 0, "a result whose call is not in the history, kept as quoted text")
}

// canChange reports whether the results of a unit may be changed, and marks a unit with a single
// result as touched.
func (m *flatRepairer) canChange(unit int) bool {
	if m.edits.file.sealed[unit] {
		_, ok := m.unitWriter.(nestedWriter)
		return ok && !m.edits.heldUnits[unit]
	}
	m.touched[unit] = true
	return true
}

// dropResult removes a result from its unit, and the unit if nothing else is in it. It returns the
// number of bytes removed.
func (m *flatRepairer) dropResult(unit int, result transcript.BlockID) int {
	if n, ok := m.unitWriter.(nestedWriter); ok && m.edits.file.sealed[unit] {
		n.setNestedItem(m.edits, m.thread, result, nil)
		return m.transcript.Block(result).Span.Len()
	}
	whole := m.edits.file.units[unit].span.Len()
	rest := m.withoutBlock(m.edits.file, m.thread, result)
	if rest == nil {
		m.edits.unit(unit).drop = true
		return whole
	}
	m.edits.unit(unit).body = rest
	return whole - len(rest)
}

// quoteResult replaces a result by a quotation.
func (m *flatRepairer) quoteResult(unit int, result transcript.BlockID, text string) {
	if n, ok := m.unitWriter.(nestedWriter); ok && m.edits.file.sealed[unit] {
		n.setNestedItem(m.edits, m.thread, result, n.quotedItem(m.edits.file, m.thread, result, quotation+text))
		return
	}
	u := m.edits.unit(unit)
	if p, ok := m.unitWriter.(resultSplitter); ok {
		if rest, quoted := p.splitResult(m.edits.file, m.thread, result, quotation+text); rest != nil {
			u.body, u.after = rest, append(u.after, quoted)
			return
		}
	}
	u.body = m.quoteUnit(m.edits.file, m.thread, result, quotation+text)
}

// quotation introduces a quoted result, so that nobody mistakes it for the user's words.
const quotation = "[A tool result without its call; quoted, not written by the user]\n"

// settleExtra keeps one result of a call: the first real one, or else the first synthetic one. It
// drops copies of it and synthetic results, and quotes all others.
func (m *flatRepairer) settleExtra(f *Finding, x transcript.Exchange) {
	if m.settled[x.Results[0]] {
		return // already settled
	}
	m.settled[x.Results[0]] = true
	best := x.Results[0]
	for _, r := range x.Results {
		if !wirex.IsSynthetic(m.thread.Request.Text(r)) {
			best = r
			break
		}
	}
	first, shown := m.resultTexts(best)
	said := map[[2]string]bool{{first, shown}: true}
	words := make(map[string]bool) // strings of the kept results
	again := func(r transcript.BlockID) bool {
		known := true
		eachWord(m.edits.file.raw, m.elementSpan(r), func(s jsonspan.Span) {
			if text := decodeString(m.edits.file.raw, s); !words[text] {
				words[text], known = true, false
			}
		})
		return known
	}
	again(best)
	for _, r := range x.Results {
		u, _ := m.thread.locate(m.edits.file, m.transcript.Block(r).Message, r)
		if r == best || m.touched[u] || !m.canChange(u) {
			continue
		}
		c := Change{Thread: m.thread.Name, Line: m.edits.file.units[u].line}
		text, shown := m.resultTexts(r)
		if again(r) && said[[2]string{text, shown}] || wirex.IsSynthetic(text) || strings.TrimSpace(text+shown) == "" {
			m.edits.addChange(c, wire.ActionDrop, f.Rule, f.IDs, -m.dropResult(u, r), "a call has one result; another one was kept")
			continue
		}
		said[[2]string{text, shown}] = true
		m.quoteResult(u, r, text)
		m.edits.addChange(c, wire.ActionEdit, f.Rule, f.IDs, 0, "a call has one result; this one is kept as quoted text")
	}
}
