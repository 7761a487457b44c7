package agentlog

import (
	"bytes"
	"iter"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// A unit is one JSON object of the file.
type unit struct {
	span  jsonspan.Span
	line  int  // counted from one
	alone bool // nothing else stands on its line
}

// A value is a piece of a line: JSON, or what could not be read.
type value struct {
	span jsonspan.Span
	ok   bool
}

// valuesOf cuts a line into its JSON values. Objects and lists may follow each
// other without a newline; what cannot be read is one piece, up to the end of the
// line or up to an object that goes to its end.
func valuesOf(line []byte) []value {
	var all []value
	s := jsonspan.Borrow(nil, jsonspan.Strict)
	defer s.Return()
	for at := skipSpace(line, 0); at < len(line); {
		s.Reset(line[at:], jsonspan.Strict)
		v := s.Skip()
		full := jsonspan.Span{Start: at + v.Start, End: at + v.End}
		next := skipSpace(line, full.End)
		// A scalar counts only if it has the line for itself.
		if c := line[at]; !s.Failed() && (c == '{' || c == '[' || len(all) == 0 && next == len(line)) {
			all = append(all, value{full, true})
			at = next
			continue
		}
		start, ok := salvage(line, at, s.Torn())
		if !ok {
			return append(all, value{span: trimmedRest(line, at)})
		}
		all = append(all, value{span: jsonspan.Span{Start: at, End: start}})
		at = start
	}
	return all
}

// trimmed is the rest of the line without white space at its end.
func trimmedRest(line []byte, at int) jsonspan.Span {
	return jsonspan.Span{Start: at, End: at + len(bytes.TrimRight(line[at:], " \t\r\n"))}
}

func skipSpace(b []byte, at int) int {
	for at < len(b) && (b[at] == ' ' || b[at] == '\t' || b[at] == '\r' || b[at] == '\n') {
		at++
	}
	return at
}

// heads are how the objects of session files begin; a write that broke off is
// followed by one of them on the same line. The first are hardly found elsewhere.
var heads = [][]byte{[]byte(`{"parentUuid":`), []byte(`{"timestamp":`), []byte(`{"uuid":`), []byte(`{"type":`), []byte(`{"id":`), []byte(`{"role":`)}

// salvage finds an object behind the place where a line breaks that goes to the
// end of the line. It tries a bounded number of places.
//
// A line that is torn is all of it the beginning of one value, and such an object is most
// likely the last thing in that value that came to its end. It is another line only if it
// is one by what it says, and no element behind others of a list.
func salvage(line []byte, from int, torn bool) (int, bool) {
	var s jsonspan.Scanner
	end := trimmedRest(line, from).End
	for _, h := range heads {
		at := from + 1
		for range 24 {
			i := bytes.Index(line[min(at, len(line)):], h)
			if i < 0 {
				break
			}
			s.Reset(line[at+i:], jsonspan.Strict)
			if v := s.Skip(); !s.Failed() && at+i+v.End == end && (!torn || isLine(line, jsonspan.Span{Start: at + i, End: end})) {
				return at + i, true
			}
			at += i + 1
		}
	}
	return 0, false
}

// findCopies notes the lines that repeat an earlier one with the same id, byte for byte.
func (l *Log) findCopies(member string) map[int]bool {
	seen, all := make(map[string]int), make(map[int]bool)
	for u := range l.units {
		o := l.object(u)
		id := o.Text(member)
		first, known := seen[id]
		switch {
		case id == "":
		case !known:
			seen[id] = u
		case bytes.Equal(l.object(first).Bytes(), o.Bytes()):
			all[u] = true
			l.duplicates = append(l.duplicates, u)
			l.damageUnit(u, "duplicate-line")
		}
	}
	return all
}

// isLine reports whether an object in a line that is torn is a line of its own.
func isLine(line []byte, at jsonspan.Span) bool {
	if bytes.HasSuffix(bytes.TrimRight(line[:at.Start], " \t"), []byte{','}) {
		return false
	}
	o := objectAt(line, at)
	return slices.ContainsFunc(formatTable, func(r formatSpec) bool { return r.lineEvidence != nil && r.lineEvidence(o) == strongEvidence })
}

// one returns the value that all of raw is, if it is one.
func soleValue(raw []byte) (jsonspan.Span, bool) {
	v, ok := firstValue(raw)
	return v, ok && skipSpace(raw, v.End) == len(raw)
}

// firstValue returns the value that raw begins with, if it does.
func firstValue(raw []byte) (jsonspan.Span, bool) {
	s := jsonspan.Borrow(raw, jsonspan.Strict)
	defer s.Return()
	v := s.Skip()
	return v, !s.Failed() && v.Len() > 0
}

// lines yields where each line of raw begins and ends, without its newline.
func lines(raw []byte) iter.Seq2[int, int] {
	return func(yield func(at, end int) bool) {
		for at := 0; at < len(raw); {
			end := len(raw)
			if i := bytes.IndexByte(raw[at:], '\n'); i >= 0 {
				end = at + i
			}
			if !yield(at, end) {
				return
			}
			at = end + 1
		}
	}
}

// readLines cuts a JSONL file into units and notes the damage.
func (l *Log) readLines() {
	line := 0
	for at, end := range lines(l.raw) {
		line++
		l.readLine(at, end, line)
	}
	l.readEnd(line)
}

// readEnd notes that the last line is whole but lacks its newline.
func (l *Log) readEnd(line int) {
	n := len(l.units)
	if end := trimmedRest(l.raw, 0).End; n > 0 && l.units[n-1].span.End == end && bytes.IndexByte(l.raw[end:], '\n') < 0 {
		l.unterminated = true
		l.damageAt(end, line, "no-final-newline")
	}
}

func (l *Log) readLine(at, end, line int) {
	values := valuesOf(l.raw[at:end])
	last := end == len(l.raw) // no newline behind it
	for i, v := range values {
		span := jsonspan.Span{Start: at + v.span.Start, End: at + v.span.End}
		if i > 0 { // the agent reads neither
			l.damageAt(span.Start, line, "joined-lines")
			l.missingNewlines = append(l.missingNewlines, span.Start)
		}
		switch {
		case !v.ok:
			l.damageAt(span.Start, line, brokenRule(l.raw[span.Start:span.End], last && i == len(values)-1))
		case l.raw[span.Start] != '{':
			l.damageAt(span.Start, line, "foreign-line")
		default:
			l.units = append(l.units, unit{span, line, len(values) == 1})
		}
	}
}

// brokenRule names what is wrong with bytes that are no JSON.
func brokenRule(bad []byte, last bool) string {
	text := strings.TrimSpace(string(bad[:min(len(bad), 64)]))
	switch {
	case strings.HasPrefix(text, "//"), strings.HasPrefix(text, "#"), strings.HasPrefix(text, "/*"):
		return "comment-line"
	case last:
		return "truncated-line"
	}
	return "broken-line"
}
