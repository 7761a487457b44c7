package agentlog

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/pare-llm/pare/internal/jsonedit"
	"github.com/pare-llm/pare/internal/jsonspan"
)

// evidence is how much one line tells about whose file it is in.
type evidence int

const (
	noEvidence     evidence = 0
	weakEvidence   evidence = 1 // other agents write such lines, too
	strongEvidence evidence = 4 // only this one does
)

// Evidence at which the rest of a file need not be looked at.
const (
	decisiveUnopposed = 2 * strongEvidence // if nothing speaks for another format
	decisive          = 4 * strongEvidence // if half as much does
)

// proofIf returns evidence that is proof or nothing.
func strongIf(is func(object) bool) func(object) evidence {
	return func(o object) evidence {
		if is(o) {
			return strongEvidence
		}
		return noEvidence
	}
}

// Detect tells the format of a file from its content: by the evidence of all its lines,
// so that a few that are spoilt or foreign do not hide it. The name is a hint only: a
// bare Anthropic list is the file of Cline or Roo if it is called so, and a plain
// list of messages otherwise, which is none of ours. Request bodies, lists of
// messages and batches of bodies are not detected. The format may be one that
// [Read] refuses.
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
		// The elements of a list may have a line each; they are no lines of a session.
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

// detectors are those that nobody uses: for a short file their arrays cost as much as the
// look at it.
var detectors = sync.Pool{New: func() any { return new(Detector) }}

// first looks at the first line and returns what is behind it, if the line is an object and
// something follows: then the file is not one value, and the line need not be read again to
// know that.
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

// document tells the format of a file that is one JSON value.
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

// A Detector adds up what the lines of a file tell, for those who read it line by line.
// The zero value is ready. It is not for use by several goroutines at once.
type Detector struct {
	scores []evidence // of the table's rows
	// Of the line before, to be used again.
	lastMembers []jsonspan.Member
	memo        jsonedit.Memo

	pendingLine []byte        // a line that was found to be one object, and has not been added yet
	pendingSpan jsonspan.Span // that object
}

// Reset forgets all lines.
func (d *Detector) Reset() {
	clear(d.scores)
	d.pendingLine = nil
	d.releaseLine()
}

// Object reports whether a line is one object and nothing else. Neither Object nor Line reads it
// again if it comes next, with the same bytes in the same place.
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

// forget lets go of the bytes of the line before.
func (d *Detector) releaseLine() { d.memo.Forget() }

// members finds the members of the object at the start of a line.
func (d *Detector) members(line []byte, at int) (end int, ok bool) {
	d.pendingLine = nil
	if d.lastMembers == nil { // as many as most lines have, at once
		d.lastMembers = make([]jsonspan.Member, 0, 24)
	}
	d.lastMembers, end, ok = jsonedit.Members(line, jsonspan.Span{Start: at, End: len(line)}, d.lastMembers[:0])
	return end, ok
}

// Has reports whether the line that [Detector.Object] has found to be one object has a member
// whose name, as it is written, is such.
func (d *Detector) Has(such func(name []byte) bool) bool {
	return slices.ContainsFunc(d.lastMembers, func(m jsonspan.Member) bool { return such(d.pendingLine[m.Key.Start:m.Key.End]) })
}

// Line looks at one line and reports whether it tells anything.
func (d *Detector) Line(line []byte) bool {
	// Nearly every line is one object; it is read once.
	if d.Object(line) {
		d.pendingLine = nil
		return d.object(object{Raw: line, Span: d.pendingSpan, Members: d.lastMembers})
	}
	some := false
	for _, v := range valuesOf(line) {
		if v.ok && line[v.span.Start] == '{' {
			some = d.object(objectAt(line, v.span)) || some
		}
	}
	return some
}

func (d *Detector) object(o object) bool {
	if d.scores == nil {
		d.scores = make([]evidence, len(formatTable))
	}
	o = o.Noting(&d.memo)
	some := false
	for i := range formatTable {
		line := formatTable[i].lineEvidence
		if line == nil {
			continue
		}
		n := line(o)
		d.scores[i] += n
		some = some || n > noEvidence
	}
	return some
}

// Settled reports whether more lines would hardly change the verdict.
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

// Format returns the format that most speaks for; false: nothing speaks for any.
func (d *Detector) Format() (Format, bool) {
	best, most := Auto, noEvidence
	for i, n := range d.scores {
		if n > most {
			best, most = formatTable[i].format, n
		}
	}
	return best, best != Auto
}
