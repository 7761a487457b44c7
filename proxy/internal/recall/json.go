package recall

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// whole is the span of a document.
func whole(doc []byte) jsonspan.Span { return jsonspan.Span{End: len(doc)} }

// at returns the value that a path of names and numbers leads to, quotes included; nil if
// there is none. The document must be JSON.
func at(doc []byte, path ...any) []byte {
	span, ok := spanAt(doc, path...)
	if !ok {
		return nil
	}
	return doc[span.Start:span.End]
}

func spanAt(doc []byte, path ...any) (jsonspan.Span, bool) {
	span := whole(doc)
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, ok := jsonspan.Find(doc, span, step)
			if !ok {
				return span, false
			}
			span = m.Value
		case int:
			all := jsonspan.Elements(doc, span)
			if step >= len(all) {
				return span, false
			}
			span = all[step]
		}
	}
	return span, true
}

// text is the string that a path leads to, or "".
func text(doc []byte, path ...any) string {
	v := at(doc, path...)
	if len(v) < 2 || v[0] != '"' {
		return ""
	}
	return string(jsonspan.Decode(nil, v[1:len(v)-1]))
}

// number is the whole number that a path leads to, or 0.
func number(doc []byte, path ...any) int {
	n, err := strconv.Atoi(string(at(doc, path...)))
	if err != nil {
		return 0
	}
	return n
}

// elements are the elements of the list that a path leads to.
func elements(doc []byte, path ...any) [][]byte {
	span, ok := spanAt(doc, path...)
	if !ok {
		return nil
	}
	var all [][]byte
	for _, e := range jsonspan.Elements(doc, span) {
		all = append(all, doc[e.Start:e.End])
	}
	return all
}

// absent reports whether a value is missing or null.
func absent(v []byte) bool { return v == nil || string(v) == "null" }

// set puts a value where a path leads; what leads there must exist, but for the last step.
func set(doc []byte, value []byte, path ...any) []byte {
	if len(path) == 0 {
		return value
	}
	last := len(path) - 1
	in, ok := spanAt(doc, path[:last]...)
	if !ok {
		return doc
	}
	var e jsonspan.Edit
	switch step := path[last].(type) {
	case string:
		if i := skipSpace(doc, in.Start); i >= in.End || doc[i] != '{' {
			return doc
		}
		e = jsonspan.SetMember(doc, in, step, value)
	case int:
		all := jsonspan.Elements(doc, in)
		if step >= len(all) {
			return doc
		}
		e = jsonspan.Edit{Span: all[step], New: value}
	}
	return splice(doc, e)
}

// unset takes a member out of the object that a path leads to.
func unset(doc []byte, name string, path ...any) []byte {
	in, ok := spanAt(doc, path...)
	if !ok {
		return doc
	}
	return splice(doc, jsonspan.RemoveMember(doc, in, name)...)
}

// appendTo adds elements to the list that a member of a document is.
func appendTo(doc []byte, name string, items ...[]byte) []byte {
	span, ok := spanAt(doc, name)
	if !ok {
		return doc
	}
	return splice(doc, appended(doc, span, items...))
}

// appended is the edit that adds elements to the list at span.
func appended(doc []byte, list jsonspan.Span, items ...[]byte) jsonspan.Edit {
	joined := bytes.Join(items, []byte{','})
	at := list.Start + 1
	if all := jsonspan.Elements(doc, list); len(all) > 0 {
		at = all[len(all)-1].End
		joined = append([]byte{','}, joined...)
	}
	return jsonspan.Edit{Span: jsonspan.Span{Start: at, End: at}, New: joined}
}

func splice(doc []byte, edits ...jsonspan.Edit) []byte {
	out, err := jsonspan.Splice(doc, edits)
	if err != nil {
		return doc
	}
	return out
}

// isList reports whether a member of a document is a list.
func isList(doc []byte, path ...any) bool {
	v := at(doc, path...)
	return len(v) > 0 && v[0] == '['
}

func skipSpace(doc []byte, i int) int {
	for i < len(doc)-1 && (doc[i] == ' ' || doc[i] == '\n' || doc[i] == '\t' || doc[i] == '\r') {
		i++
	}
	return i
}

// object writes an object of alternating keys and values: strings are quoted, bytes are
// taken as they are.
func object(pairs ...any) []byte {
	b := []byte{'{'}
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(jsonspan.AppendQuote(b, pairs[i].(string)), ':')
		switch v := pairs[i+1].(type) {
		case string:
			b = jsonspan.AppendQuote(b, v)
		case []byte:
			b = append(b, v...)
		case int:
			b = strconv.AppendInt(b, int64(v), 10)
		}
	}
	return append(b, '}')
}

func array(items ...[]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(items, []byte{','})...), ']')
}

func quote(s string) []byte { return jsonspan.AppendQuote(nil, s) }

// readable reports whether bytes are a JSON object.
func readable(doc []byte) bool {
	return len(doc) > 0 && doc[skipSpace(doc, 0)] == '{' && json.Valid(doc)
}

// plus adds to the number that a path leads to, where there is one.
func plus(doc []byte, n int, path ...any) []byte {
	if n == 0 || at(doc, path...) == nil {
		return doc
	}
	return set(doc, strconv.AppendInt(nil, int64(number(doc, path...)+n), 10), path...)
}

// outputs adds up what turns took.
func outputs(turns []*Turn) (n int) {
	for _, t := range turns {
		n += t.Output
	}
	return n
}

// shown is everything that turns show, in order.
func shown(turns []*Turn, last *Turn) (all [][]byte) {
	for _, t := range turns {
		all = append(all, t.Shown...)
	}
	return append(all, last.Shown...)
}
