package recall

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/pare-llm/pare/internal/jsonedit"
)

// What is read and written most often has a short name here; paths lead into documents, see jsonedit.
var (
	at       = jsonedit.Get
	text     = jsonedit.TextAt
	number   = jsonedit.NumberAt
	elements = jsonedit.Elements
	set      = jsonedit.Put
	unset    = jsonedit.Cut
	object   = jsonedit.New
	array    = jsonedit.List
	quote    = jsonedit.Quote
)

// absent reports whether a value is missing or null.
func absent(v []byte) bool { return v == nil || string(v) == "null" }

// appendTo adds elements to the list that a member of a document is.
func appendTo(doc []byte, name string, items ...[]byte) []byte {
	return jsonedit.Append(doc, items, name)
}

// isList reports whether a member of a document is a list.
func isList(doc []byte, path ...any) bool {
	v := at(doc, path...)
	return len(v) > 0 && v[0] == '['
}

// readable reports whether bytes are a JSON object.
func readable(doc []byte) bool {
	v := bytes.TrimLeft(doc, " \t\r\n")
	return len(v) > 0 && v[0] == '{' && json.Valid(doc)
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
