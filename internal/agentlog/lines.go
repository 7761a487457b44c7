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
	line  int  // from one
	alone bool // the only value on its line
}

// A value is a piece of a line: valid JSON or invalid bytes.
type value struct {
	span jsonspan.Span
	ok   bool
}

// valuesOf splits a line into its JSON values. Objects and lists may follow each other without a
// newline. Invalid bytes are one piece, which ends at the end of the line or before an object that
// extends to it.
func valuesOf(line []byte) []value {
	var all []value
	s := jsonspan.Borrow(nil, jsonspan.Strict)
	defer s.Return()
	for at := skipSpace(line, 0); at < len(line); {
		s.Reset(line[at:], jsonspan.Strict)
		v := s.Skip()
		full := jsonspan.Span{Start: at + v.Start, End: at + v.End}
		next := skipSpace(line, full.End)
		// A scalar counts only if it is alone on the line.
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

// trimmedRest returns the rest of the line without trailing white space.
func trimmedRest(line []byte, at int) jsonspan.Span {
	return jsonspan.Span{Start: at, End: at + len(bytes.TrimRight(line[at:], " \t\r\n"))}
}

func skipSpace(b []byte, at int) int {
	for at < len(b) && (b[at] == ' ' || b[at] == '\t' || b[at] == '\r' || b[at] == '\n') {
		at++
	}
	return at
}

// lineBeginnings are common beginnings of objects in session files. After an interrupted write, one
// of them follows on the same line. The first ones rarely occur elsewhere.
var lineBeginnings = [][]byte{[]byte(`{"parentUuid":`), []byte(`{"timestamp":`), []byte(`{"uuid":`), []byte(`{"type":`), []byte(`{"id":`), []byte(`{"role":`)}

// salvage finds an object after the place where a line becomes invalid that extends to the end of
// the line. It tries a bounded number of places.
//
// A torn line is the beginning of a single value, so such an object is most likely the last
// complete part of that value. It counts as another line only if its members identify it as one and
// it is not a later element of a list.
func salvage(line []byte, from int, torn bool) (int, bool) {
	var s jsonspan.Scanner
	end := trimmedRest(line, from).End
	for _, h := range lineBeginnings {
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

// findCopies reports the lines that repeat an earlier line with the same id, and returns their
// units.
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

// isLine reports whether an object in a torn line is a line by itself.
func isLine(line []byte, at jsonspan.Span) bool {
	if bytes.HasSuffix(bytes.TrimRight(line[:at.Start], " \t"), []byte{','}) {
		return false
	}
	o := objectAt(line, at)
	return slices.ContainsFunc(formatTable, func(r formatSpec) bool { return r.lineEvidence != nil && r.lineEvidence(o) == strongEvidence })
}

// soleValue returns the value that raw consists of.
func soleValue(raw []byte) (jsonspan.Span, bool) {
	v, ok := firstValue(raw)
	return v, ok && skipSpace(raw, v.End) == len(raw)
}

// firstValue returns the value at the start of raw.
func firstValue(raw []byte) (jsonspan.Span, bool) {
	s := jsonspan.Borrow(raw, jsonspan.Strict)
	defer s.Return()
	v := s.Skip()
	return v, !s.Failed() && v.Len() > 0
}

// lines yields the start and end of each line of raw, without its newline.
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

// readLines splits a JSONL file into units and reports damage.
func (l *Log) readLines() {
	line := 0
	for at, end := range lines(l.raw) {
		line++
		l.readLine(at, end, line)
	}
	l.readEnd(line)
}

// readEnd reports a complete last line without a newline.
func (l *Log) readEnd(line int) {
	n := len(l.units)
	if end := trimmedRest(l.raw, 0).End; n > 0 && l.units[n-1].span.End == end && bytes.IndexByte(l.raw[end:], '\n') < 0 {
		l.unterminated = true
		l.damageAt(end, line, "no-final-newline")
	}
}

func (l *Log) readLine(at, end, line int) {
	values := valuesOf(l.raw[at:end])
	last := end == len(l.raw) // no newline follows
	for i, v := range values {
		span := jsonspan.Span{Start: at + v.span.Start, End: at + v.span.End}
		if i > 0 { // the agent reads neither value
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

// brokenRule returns the rule for bytes that are not JSON.
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
