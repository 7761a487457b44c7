package agentlog

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/wire"
)

// A finisher is a format with a step after the repair of all threads.
type finisher interface{ finish(*edits) }

// edits collects the changes of one round of repairs.
type edits struct {
	file       *Log
	appendOnly bool
	heldUnits  map[int]bool // units that must not change, because they would lose words

	unitEdits
	fileEdits
	links claudeLinks

	changes     []Change
	allowedLoss map[int][]jsonspan.Span // by unit: spans whose loss a receipt reports
	spliced     []jsonspan.Edit         // set by render
}

// unitEdits holds the changes of units.
type unitEdits struct {
	units map[int]*unitEdit
	// Replacements inside units, by unit; spans relative to the unit.
	innerEdits map[int][]jsonspan.Edit
	// By unit and offset: the new item of a list in the unit; nil removes it.
	nestedItems map[int]map[int][]byte
	mintedIDs   map[string]bool // ids of new records
}

// fileEdits holds the changes around the units.
type fileEdits struct {
	prepended   [][]byte       // new units before the first one
	appended    [][]byte       // new units after the last one
	newFiles    map[int][]byte // new contents of the files of a folder, by index
	newElements [][]byte       // the new elements of a file that is one list; nil keeps the old ones
	splitLines  bool           // insert newlines between objects on one line
	endLine     bool           // add a newline after the last line
}

// claudeLinks holds the links between lines of Claude Code after the edits.
type claudeLinks struct {
	newParents     map[int]string   // by unit; "" means no parent
	removed        map[int]bool     // removed units, which must not be parents
	insertedBefore map[int][]string // by unit: uuids of the lines inserted before it
	promptIDs      map[int][]byte   // by unit: the promptId in force
}

type unitEdit struct {
	body          []byte // nil if unchanged
	drop          bool
	before, after [][]byte
}

// newEdits returns an empty set of edits that leaves the held units alone.
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

// unit returns the edit of a unit and creates it if necessary.
func (e *edits) unit(u int) *unitEdit {
	if e.units[u] == nil {
		e.units[u] = new(unitEdit)
	}
	return e.units[u]
}

// dropped reports whether a unit is removed.
func (e *edits) dropped(u int) bool { return e.units[u] != nil && e.units[u].drop }

// unitBytes returns the bytes of a unit after the edits so far.
func (e *edits) unitBytes(u int) []byte {
	e.applyInnerEdits(u)
	if x := e.units[u]; x != nil && x.body != nil {
		return x.body
	}
	s := e.file.units[u].span
	return e.file.raw[s.Start:s.End]
}

// setMembers sets members of a unit.
func (e *edits) setMembers(u int, pairs ...any) {
	b := e.unitBytes(u)
	e.unit(u).body = setMembers(b, pairs...)
}

// replaceSpan replaces a span of a unit, given by its offset in the file. Nothing but replaceSpan
// may have changed the unit before.
func (e *edits) replaceSpan(u, offset, length int, text []byte) {
	s := e.file.units[u].span
	e.innerEdits[u] = append(e.innerEdits[u], jsonspan.Edit{Span: jsonspan.Span{Start: offset - s.Start, End: offset - s.Start + length}, New: text})
}

// applyInnerEdits applies the replacements inside a unit.
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

// addChange records a change with a reason.
func (e *edits) addChange(c Change, format string, args ...any) {
	if c.IDs == nil {
		c.IDs = []string{}
	}
	c.Reason = fmt.Sprintf(format, args...)
	if c.Line > 0 {
		c.Path = fmt.Sprintf("line.%d", c.Line)
	}
	e.changes = append(e.changes, c)
}

// eol returns the line ending of the file.
func (e *edits) eol() []byte {
	if i := bytes.IndexByte(e.file.raw, '\n'); i > 0 && e.file.raw[i-1] == '\r' {
		return []byte("\r\n")
	}
	return []byte{'\n'}
}

// render returns the changed file, or the original slice if nothing changes.
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
		e.addChange(Change{Line: line, Change: wire.Change{Action: wire.ActionEdit, Rule: "no-final-newline", Bytes: len(e.eol())}}, "a newline behind the last line")
	}
	return out, err
}

// newlineEdits returns the newlines to insert between objects on one line.
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

// appendedEdit returns the lines to append, and a newline after an unterminated last line.
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

// lineSpan returns the span to remove together with a unit: its whole line with the newline if the
// unit is alone on it. A last line without a newline is removed with the preceding newline, unless
// a line is inserted there.
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

// listEdits returns the edits of files whose units are elements of lists. It keeps the commas and
// white space between unchanged elements.
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
	hasPrevious := false // an element precedes
	for i := l.first; i < l.end; i++ {
		edit, span := e.units[i], at(i)
		if edit == nil {
			hasPrevious = true
			continue
		}
		before, after := edit.before, edit.after
		if edit.drop {
			before, after = append(slices.Clone(before), after...), nil
		}
		var put []byte // replaces the element or goes before it
		for k, b := range before {
			if k > 0 {
				put = append(put, sep...)
			}
			put = append(put, b...)
		}
		switch {
		case edit.drop && len(put) > 0:
			add(span.Start, span.End, put)
		case edit.drop && hasPrevious:
			add(at(i-1).End, span.End, nil)
			continue
		case edit.drop && i+1 < l.end:
			add(span.Start, at(i+1).Start, nil)
			continue
		case edit.drop:
			add(span.Start, span.End, nil)
			continue
		default:
			if len(put) > 0 {
				add(span.Start, span.Start, append(put, sep...))
			}
			if edit.body != nil && !bytes.Equal(edit.body, raw[span.Start:span.End]) {
				add(span.Start, span.End, edit.body)
			}
			for _, b := range after {
				add(span.End, span.End, append(slices.Clone(sep), b...))
			}
		}
		hasPrevious = true
	}
	return all
}
