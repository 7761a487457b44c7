package agentlog

import (
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// evidence is how much one line tells about whose file it is in.
type evidence int

const (
	silent evidence = 0
	hint   evidence = 1 // other agents write such lines, too
	proof  evidence = 4 // only this one does
)

// Evidence at which the rest of a file need not be looked at.
const (
	unanimous = 2 * proof // if nothing speaks for another format
	enough    = 4 * proof // if half as much does
)

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
	// The elements of a list may have a line each; they are no lines of a session.
	if at, ok := one(raw); ok {
		return detectDocument(raw, at)
	}
	var d Detector
	for at, end := range lines(raw) {
		if d.Settled() {
			break
		}
		d.Line(raw[at:end])
	}
	return d.Format()
}

// detectDocument tells the format of a file that is one JSON value.
func detectDocument(raw []byte, at jsonspan.Span) (Format, bool) {
	for _, r := range table {
		if r.document != nil && r.document(raw, at) {
			return r.format, true
		}
	}
	if raw[at.Start] != '{' {
		return Auto, false
	}
	var d Detector
	d.object(objectAt(raw, at))
	return d.Format()
}

// A Detector adds up what the lines of a file tell, for those who read it line by line.
// The zero value is ready. It is not for use by several goroutines at once.
type Detector struct {
	scores []evidence // of the table's rows
	// Of the line before, to be used again.
	members []jsonspan.Member
	asked   asked
}

// Reset forgets all lines.
func (d *Detector) Reset() {
	clear(d.scores)
	d.asked = asked{inner: object{members: d.asked.inner.members}}
}

// Line looks at one line and reports whether it tells anything.
func (d *Detector) Line(line []byte) bool {
	// Nearly every line is one object; it is read once.
	whole := jsonspan.Span{Start: skipSpace(line, 0), End: len(line)}
	members, end, ok := membersAt(line, whole, d.members[:0])
	d.members = members
	if ok && skipSpace(line, end) == len(line) {
		return d.object(object{raw: line, span: jsonspan.Span{Start: whole.Start, End: end}, members: members})
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
		d.scores = make([]evidence, len(table))
	}
	d.asked = asked{inner: object{members: d.asked.inner.members}}
	o.asked = &d.asked
	some := false
	for i, r := range table {
		if r.line == nil {
			continue
		}
		n := r.line(o)
		d.scores[i] += n
		some = some || n > silent
	}
	return some
}

// Settled reports whether more lines would hardly change the verdict.
func (d *Detector) Settled() bool {
	first, second := silent, silent
	for _, n := range d.scores {
		if n > first {
			first, second = n, first
		} else {
			second = max(second, n)
		}
	}
	return first >= unanimous && second == silent || first >= enough && second <= first/2
}

// Format returns the format that most speaks for; false: nothing speaks for any.
func (d *Detector) Format() (Format, bool) {
	best, most := Auto, silent
	for i, n := range d.scores {
		if n > most {
			best, most = table[i].format, n
		}
	}
	return best, best != Auto
}
