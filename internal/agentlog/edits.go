package agentlog

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/wire"
)

// A finisher has something to do after all threads are repaired.
type finisher interface{ finish(*edits) }

// edits collects what happens to the units of a file.
type edits struct {
	file       *Log
	appendOnly bool
	heldUnits  map[int]bool // units that are left alone, since they would lose words

	unitEdits
	fileEdits
	links claudeLinks

	changes     []Change
	allowedLoss map[int][]jsonspan.Span // by unit: what is lost with a receipt that says so
	spliced     []jsonspan.Edit         // what render did
}

// A unitEdits is what happens to units.
type unitEdits struct {
	units       map[int]*unitEdit
	innerEdits  map[int][]jsonspan.Edit // replacements inside units, by offset in the file
	nestedItems map[int]map[int][]byte  // items in the lists of units, by offset in the file; nil: they go
	mintedIDs   map[string]bool         // ids that were made
}

// A fileEdits is what happens to a file around its units.
type fileEdits struct {
	prepended   [][]byte       // units to be added in front of everything
	appended    [][]byte       // and behind it
	newFiles    map[int][]byte // of a folder: files that are written anew, by number
	newElements [][]byte       // of a file that is one list: its new elements; nil: they stay
	splitLines  bool           // put newlines between objects that share a line
	endLine     bool           // put a newline behind the last line
}

// A claudeLinks is how lines of Claude Code hang on each other after the edits.
type claudeLinks struct {
	newParents     map[int]string   // new parents; "" is none
	removed        map[int]bool     // units that go for good, so that nothing may hang on them
	insertedBefore map[int][]string // uuids of lines that were put in front of units
	promptIDs      map[int][]byte   // the promptId in force at a line
}

type unitEdit struct {
	body          []byte // nil: as it is
	drop          bool
	before, after [][]byte
}

// newEdits begins a round of edits, which leaves some units alone.
func newEdits(l *Log, appendOnly bool, held map[int]bool) *edits {
	return &edits{
		file: l, appendOnly: appendOnly, heldUnits: held, allowedLoss: make(map[int][]jsonspan.Span),
		unitEdits: unitEdits{
			units: make(map[int]*unitEdit), innerEdits: make(map[int][]jsonspan.Edit),
			nestedItems: make(map[int]map[int][]byte), mintedIDs: make(map[string]bool),
		},
		fileEdits: fileEdits{newFiles: make(map[int][]byte)},
		links: claudeLinks{
			newParents: make(map[int]string), removed: make(map[int]bool), insertedBefore: make(map[int][]string), promptIDs: make(map[int][]byte),
		},
	}
}

// unit returns what happens to a unit, to be written to.
func (e *edits) unit(u int) *unitEdit {
	if e.units[u] == nil {
		e.units[u] = new(unitEdit)
	}
	return e.units[u]
}

// dropped reports whether a unit goes.
func (e *edits) dropped(u int) bool { return e.units[u] != nil && e.units[u].drop }

// body returns the bytes of a unit as they will be.
func (e *edits) unitBytes(u int) []byte {
	e.applyInnerEdits(u)
	if x := e.units[u]; x != nil && x.body != nil {
		return x.body
	}
	s := e.file.units[u].span
	return e.file.raw[s.Start:s.End]
}

// set gives members of a unit new values.
func (e *edits) setMembers(u int, pairs ...any) {
	b := e.unitBytes(u)
	e.unit(u).body = setMembers(b, pairs...)
}

// replaceIn replaces a stretch of a unit that lies at an offset of the file. It is
// for units that nothing else has changed yet, several stretches included.
func (e *edits) replaceSpan(u, offset, length int, text []byte) {
	s := e.file.units[u].span
	e.innerEdits[u] = append(e.innerEdits[u], jsonspan.Edit{Span: jsonspan.Span{Start: offset - s.Start, End: offset - s.Start + length}, New: text})
}

// rewriteUnit carries out the replacements inside a unit.
func (e *edits) applyInnerEdits(u int) {
	inner := e.innerEdits[u]
	if inner == nil {
		return
	}
	delete(e.innerEdits, u)
	slices.SortFunc(inner, func(a, b jsonspan.Edit) int { return cmp.Compare(a.Start, b.Start) })
	s := e.file.units[u].span
	if out, err := jsonspan.Splice(e.file.raw[s.Start:s.End], inner); err == nil {
		e.unit(u).body = out
	}
}

func (e *edits) addChange(c Change, action wire.Action, rule string, ids []string, n int, format string, args ...any) {
	if ids == nil {
		ids = []string{}
	}
	c.Action, c.Rule, c.IDs, c.Bytes, c.Reason = action, rule, ids, n, fmt.Sprintf(format, args...)
	if c.Line > 0 {
		c.Path = fmt.Sprintf("line.%d", c.Line)
	}
	e.changes = append(e.changes, c)
}

// eol is how the lines of the file end.
func (e *edits) eol() []byte {
	if i := bytes.IndexByte(e.file.raw, '\n'); i > 0 && e.file.raw[i-1] == '\r' {
		return []byte("\r\n")
	}
	return []byte{'\n'}
}

// render writes the changed file: the original slice if nothing changes.
func (e *edits) render() ([]byte, error) {
	var all []jsonspan.Edit
	for _, b := range e.prepended {
		all = append(all, jsonspan.Edit{New: append(slices.Clone(b), e.eol()...)})
	}
	all = append(all, e.newlineEdits()...)
	if e.file.lists != nil {
		all = append(all, e.listEdits()...)
	} else {
		all = append(all, e.lineEdits()...)
	}
	all = append(all, e.appendedEdit()...)
	for i, raw := range e.newFiles {
		all = append(all, jsonspan.Edit{Span: e.file.files[i].span, New: raw})
	}
	slices.SortStableFunc(all, func(a, b jsonspan.Edit) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	e.spliced = all
	out, err := jsonspan.Splice(e.file.raw, all)
	if err == nil && e.file.unterminated && !bytes.Equal(out, e.file.raw) && !bytes.HasSuffix(out, []byte{'\n'}) {
		out = append(slices.Clip(out), e.eol()...)
		line, _ := e.file.position(len(e.file.raw))
		e.addChange(Change{Line: line}, wire.ActionEdit, "no-final-newline", nil, len(e.eol()), "a newline behind the last line")
	}
	return out, err
}

// splits puts newlines between objects that share a line.
func (e *edits) newlineEdits() []jsonspan.Edit {
	eol := e.eol()
	var all []jsonspan.Edit
	for _, at := range e.file.missingNewlines {
		if e.splitLines {
			all = append(all, jsonspan.Edit{Span: jsonspan.Span{Start: at, End: at}, New: eol})
		}
	}
	return all
}

// tail ends a last line that is open, and adds lines behind it.
func (e *edits) appendedEdit() []jsonspan.Edit {
	raw, eol := e.file.raw, e.eol()
	var tail []byte
	open := len(raw) > 0 && raw[len(raw)-1] != '\n'
	if e.endLine && open {
		tail, open = append(tail, eol...), false
	}
	for _, b := range e.appended {
		if open {
			tail = append(append(tail, eol...), b...)
		} else {
			tail = append(append(tail, b...), eol...)
		}
	}
	if tail == nil {
		return nil
	}
	return []jsonspan.Edit{{Span: jsonspan.Span{Start: len(raw), End: len(raw)}, New: tail}}
}

func (e *edits) lineEdits() []jsonspan.Edit {
	raw, eol := e.file.raw, e.eol()
	var all []jsonspan.Edit
	add := func(start, end int, text []byte) {
		all = append(all, jsonspan.Edit{Span: jsonspan.Span{Start: start, End: end}, New: text})
	}
	for i, u := range e.file.units {
		x := e.units[i]
		if x == nil {
			continue
		}
		before, after := x.before, x.after
		if x.drop {
			before, after = append(slices.Clone(before), after...), nil
		}
		for _, b := range before {
			add(u.span.Start, u.span.Start, append(slices.Clone(b), eol...))
		}
		switch {
		case x.drop:
			start, end := e.lineSpan(u, len(before) > 0 || i > 0 && e.dropped(i-1))
			add(start, end, nil)
		case x.body != nil && !bytes.Equal(x.body, raw[u.span.Start:u.span.End]):
			add(u.span.Start, u.span.End, x.body)
		}
		for _, b := range after {
			add(u.span.End, u.span.End, append(slices.Clone(eol), b...))
		}
	}
	return all
}

// lineOf returns what goes with a unit that is dropped: its line, newline
// included, if it has one for itself. A last line without a newline takes the one
// in front of it along, unless something is put there.
func (e *edits) lineSpan(u unit, keepFront bool) (start, end int) {
	raw := e.file.raw
	start, end = u.span.Start, u.span.End
	if !u.alone {
		return start, end
	}
	if i := bytes.IndexByte(raw[end:], '\n'); i >= 0 {
		return start, end + i + 1
	}
	if keepFront || e.appended != nil {
		return start, len(raw)
	}
	for start > 0 && (raw[start-1] == ' ' || raw[start-1] == '\t') {
		start--
	}
	if start > 0 && raw[start-1] == '\n' {
		start--
		if start > 0 && raw[start-1] == '\r' {
			start--
		}
	}
	return start, len(raw)
}

// listEdits writes the changes of files whose units are elements of lists. Commas
// and white space between elements that stay are kept.
func (e *edits) listEdits() []jsonspan.Edit {
	var all []jsonspan.Edit
	for _, l := range e.file.lists {
		if e.newElements != nil {
			all = append(all, jsonspan.Edit{Span: l.span, New: array(e.newElements...)})
			continue
		}
		all = append(all, e.elementEdits(l)...)
	}
	return all
}

func (e *edits) elementEdits(l list) []jsonspan.Edit {
	raw := e.file.raw
	var all []jsonspan.Edit
	add := func(start, end int, text []byte) {
		all = append(all, jsonspan.Edit{Span: jsonspan.Span{Start: start, End: end}, New: text})
	}
	at := func(i int) jsonspan.Span { return e.file.units[i].span }
	sep := []byte{','}
	if l.end-l.first > 1 {
		sep = raw[at(l.first).End:at(l.first+1).Start]
	} else if l.end > l.first {
		sep = append(sep, raw[l.span.Start+1:at(l.first).Start]...)
	}
	some := false // an element has been written
	for i := l.first; i < l.end; i++ {
		x, u := e.units[i], at(i)
		if x == nil {
			some = true
			continue
		}
		before, after := x.before, x.after
		if x.drop {
			before, after = append(slices.Clone(before), after...), nil
		}
		var put []byte // stands where the element stood, or in front of it
		for k, b := range before {
			if k > 0 {
				put = append(put, sep...)
			}
			put = append(put, b...)
		}
		switch {
		case x.drop && len(put) > 0:
			add(u.Start, u.End, put)
		case x.drop && some:
			add(at(i-1).End, u.End, nil)
			continue
		case x.drop && i+1 < l.end:
			add(u.Start, at(i+1).Start, nil)
			continue
		case x.drop:
			add(u.Start, u.End, nil)
			continue
		default:
			if len(put) > 0 {
				add(u.Start, u.Start, append(put, sep...))
			}
			if x.body != nil && !bytes.Equal(x.body, raw[u.Start:u.End]) {
				add(u.Start, u.End, x.body)
			}
			for _, b := range after {
				add(u.End, u.End, append(slices.Clone(sep), b...))
			}
		}
		some = true
	}
	return all
}
