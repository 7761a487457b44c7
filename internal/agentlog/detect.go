package agentlog

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/pare-llm/pare/internal/jsonedit"
	"github.com/pare-llm/pare/internal/jsonspan"
)

// evidence is the degree to which a line indicates a format.
type evidence int

const (
	noEvidence     evidence = 0
	weakEvidence   evidence = 1 // other agents write such lines too
	strongEvidence evidence = 4 // only this agent writes such lines
)

// Detection stops early at these sums.
const (
	decisiveUnopposed = 2 * strongEvidence // if no other format has any evidence
	decisive          = 4 * strongEvidence // if the second format has at most half of it
)

// strongIf returns a function that returns strong evidence for objects for which is returns true.
func strongIf(is func(object) bool) func(object) evidence {
	return func(o object) evidence {
		if is(o) {
			return strongEvidence
		}
		return noEvidence
	}
}

// Detect returns the format of a file. It adds up the evidence of all lines, so that a few damaged
// or foreign lines do not hide the format. The name is only a hint: a bare Anthropic list is a file
// of Cline or Roo if its name matches, and otherwise a plain list of messages, which has no format
// here. Request bodies, lists of messages and batches are not detected. [Read] may reject the
// format.
func Detect(name string, raw []byte) (Format, bool) {
	base := strings.ToLower(name[strings.LastIndexAny(name, `/\`)+1:])
	if strings.HasPrefix(base, "api_conversation_history") {
		return Cline, true
	}
	d := detectors.Get().(*Detector)
	defer detectors.Put(d)
	d.Reset()
	rest, ok := d.readFirstLine(raw)
	if !ok {
		// The elements of a list may have a line each, but they are not lines of a session.
		if at, ok := soleValue(raw); ok {
			return d.document(raw, at)
		}
	}
	for at, end := range lines(rest) {
		if d.Settled() {
			break
		}
		d.Line(rest[at:end])
	}
	d.releaseLine()
	return d.Format()
}

// detectors pools detectors, because for a short file their slices cost as much as the detection.
var detectors = sync.Pool{New: func() any { return new(Detector) }}

// readFirstLine reads the first line and returns the bytes after it. ok is true if the line is one
// object and more data follows, so that the file is not a single value and the line need not be
// read again.
func (d *Detector) readFirstLine(raw []byte) (rest []byte, ok bool) {
	at := skipSpace(raw, 0)
	line := raw[at:]
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	end, ok := d.members(line, 0)
	if !ok || skipSpace(line, end) < len(line) || skipSpace(raw, at+len(line)) == len(raw) {
		return raw, false
	}
	d.object(object{Raw: line, Span: jsonspan.Span{End: end}, Members: d.lastMembers})
	return raw[at+len(line)+1:], true
}

// document returns the format of a file that is one JSON value.
func (d *Detector) document(raw []byte, at jsonspan.Span) (Format, bool) {
	whole := objectAt(raw, at)
	for _, r := range formatTable {
		if r.isDocument != nil && r.isDocument(whole) {
			return r.format, true
		}
	}
	if raw[at.Start] != '{' {
		return Auto, false
	}
	d.object(whole)
	d.releaseLine()
	return d.Format()
}

// A Detector adds up the evidence of lines, for callers that read a file line by line. The zero
// value is ready to use. It is not safe for concurrent use.
type Detector struct {
	scores []evidence // by index in formatTable
	// lastMembers and memo are reused for each line.
	lastMembers []jsonspan.Member
	memo        jsonedit.Memo

	pendingLine []byte        // a line that Object has accepted and Line has not added yet
	pendingSpan jsonspan.Span // the object in it
}

// Reset forgets all lines.
func (d *Detector) Reset() {
	clear(d.scores)
	d.pendingLine = nil
	d.releaseLine()
}

// Object reports whether a line is exactly one object. A following call of Object or Line with the
// same slice does not read it again.
func (d *Detector) Object(line []byte) bool {
	if len(d.pendingLine) > 0 && len(d.pendingLine) == len(line) && &d.pendingLine[0] == &line[0] {
		return true
	}
	at := skipSpace(line, 0)
	if at == len(line) || line[at] != '{' {
		return false
	}
	end, ok := d.members(line, at)
	if ok = ok && skipSpace(line, end) == len(line); ok {
		d.pendingLine, d.pendingSpan = line, jsonspan.Span{Start: at, End: end}
	}
	return ok
}

func (d *Detector) releaseLine() { d.memo.Forget() }

// members reads the members of the object at an offset of a line.
func (d *Detector) members(line []byte, at int) (end int, ok bool) {
	d.pendingLine = nil
	if d.lastMembers == nil { // enough for most lines
		d.lastMembers = make([]jsonspan.Member, 0, 24)
	}
	d.lastMembers, end, ok = jsonedit.Members(line, jsonspan.Span{Start: at, End: len(line)}, d.lastMembers[:0])
	return end, ok
}

// Has reports whether the line that [Detector.Object] accepted has a member for whose raw name such
// returns true.
func (d *Detector) Has(such func(name []byte) bool) bool {
	return slices.ContainsFunc(d.lastMembers, func(m jsonspan.Member) bool { return such(d.pendingLine[m.Key.Start:m.Key.End]) })
}

// Line adds the evidence of a line and reports whether there was any.
func (d *Detector) Line(line []byte) bool {
	// Nearly every line is one object, which is read once.
	if d.Object(line) {
		d.pendingLine = nil
		return d.object(object{Raw: line, Span: d.pendingSpan, Members: d.lastMembers})
	}
	hasEvidence := false
	for _, v := range valuesOf(line) {
		if v.ok && line[v.span.Start] == '{' {
			hasEvidence = d.object(objectAt(line, v.span)) || hasEvidence
		}
	}
	return hasEvidence
}

func (d *Detector) object(o object) bool {
	if d.scores == nil {
		d.scores = make([]evidence, len(formatTable))
	}
	o = o.Noting(&d.memo)
	hasEvidence := false
	for i := range formatTable {
		line := formatTable[i].lineEvidence
		if line == nil {
			continue
		}
		n := line(o)
		d.scores[i] += n
		hasEvidence = hasEvidence || n > noEvidence
	}
	return hasEvidence
}

// Settled reports whether more lines are unlikely to change the result.
func (d *Detector) Settled() bool {
	first, second := noEvidence, noEvidence
	for _, n := range d.scores {
		if n > first {
			first, second = n, first
		} else {
			second = max(second, n)
		}
	}
	return first >= decisiveUnopposed && second == noEvidence || first >= decisive && second <= first/2
}

// Format returns the format with the most evidence, or false if there is no evidence.
func (d *Detector) Format() (Format, bool) {
	best, most := Auto, noEvidence
	for i, n := range d.scores {
		if n > most {
			best, most = formatTable[i].format, n
		}
	}
	return best, best != Auto
}
