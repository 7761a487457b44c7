package jsonedit

import (
	"bytes"
	"iter"
	"strconv"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// A path leads into a document by names of members and numbers of elements. The document must be
// JSON; white space in front of its value is passed over.

// Find returns where a path leads.
func Find(doc []byte, path ...any) (jsonspan.Span, bool) {
	at := jsonspan.Span{Start: len(doc) - len(bytes.TrimLeft(doc, " \t\r\n")), End: len(bytes.TrimRight(doc, " \t\r\n"))}
	for _, step := range path {
		if at.Start >= at.End {
			return at, false
		}
		switch step := step.(type) {
		case string:
			m, ok := jsonspan.Find(doc, at, step)
			if !ok {
				return at, false
			}
			at = m.Value
		case int:
			all := jsonspan.Elements(doc, at)
			if step >= len(all) {
				return at, false
			}
			at = all[step]
		}
	}
	return at, true
}

// Get returns the value that a path leads to, quotes included; nil if there is none.
func Get(doc []byte, path ...any) []byte {
	at, ok := Find(doc, path...)
	if !ok {
		return nil
	}
	return doc[at.Start:at.End]
}

// TextAt is the string that a path leads to, or "".
func TextAt(doc []byte, path ...any) string {
	at, ok := Find(doc, path...)
	if !ok {
		return ""
	}
	return Text(doc, at)
}

// NumberAt is the whole number that a path leads to, or 0.
func NumberAt(doc []byte, path ...any) int {
	n, err := strconv.Atoi(string(Get(doc, path...)))
	if err != nil {
		return 0
	}
	return n
}

// Elements are the elements of the list that a path leads to.
func Elements(doc []byte, path ...any) (all [][]byte) {
	at, ok := Find(doc, path...)
	if !ok {
		return nil
	}
	for _, e := range jsonspan.Elements(doc, at) {
		all = append(all, doc[e.Start:e.End])
	}
	return all
}

// Put puts a value where a path leads; what leads there must exist, but for a member at its end.
func Put(doc, value []byte, path ...any) []byte {
	if len(path) == 0 {
		return value
	}
	last := len(path) - 1
	name, member := path[last].(string)
	if !member {
		at, ok := Find(doc, path...)
		if !ok {
			return doc
		}
		return splice(doc, jsonspan.Edit{Span: at, New: value})
	}
	in, ok := Find(doc, path[:last]...)
	if !ok || in.Start >= in.End || doc[in.Start] != '{' {
		return doc
	}
	return splice(doc, jsonspan.SetMember(doc, in, name, value))
}

// Cut takes a member out of the object that a path leads to.
func Cut(doc []byte, name string, path ...any) []byte {
	in, ok := Find(doc, path...)
	if !ok {
		return doc
	}
	return splice(doc, jsonspan.RemoveMember(doc, in, name)...)
}

// Append adds elements to the list that a path leads to.
func Append(doc []byte, items [][]byte, path ...any) []byte {
	list, ok := Find(doc, path...)
	if !ok {
		return doc
	}
	return splice(doc, Appended(doc, list, items...))
}

// Appended is the edit that adds elements to the list at a span.
func Appended(doc []byte, list jsonspan.Span, items ...[]byte) jsonspan.Edit {
	joined, at := bytes.Join(items, []byte{','}), list.Start+1
	if all := jsonspan.Elements(doc, list); len(all) > 0 {
		joined, at = append([]byte{','}, joined...), all[len(all)-1].End
	}
	return jsonspan.Edit{Span: jsonspan.Span{Start: at, End: at}, New: joined}
}

// All yields the members of an object: names decoded, values as they are written.
func All(object []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for _, m := range jsonspan.Members(object, jsonspan.Span{End: len(object)}) {
			if !yield(string(jsonspan.Decode(nil, object[m.Key.Start:m.Key.End])), object[m.Value.Start:m.Value.End]) {
				return
			}
		}
	}
}
