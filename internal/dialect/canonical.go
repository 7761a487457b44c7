package dialect

import (
	"bytes"
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// Canonical returns a form of a JSON value that is the same for values that differ
// in white space, in the order of keys or in the spelling of strings only. Bytes
// that are no JSON are their own form.
func Canonical(value []byte) []byte {
	return appendCanonical(nil, value, jsonspan.Span{Start: 0, End: len(value)}, 0)
}

// Canonical is Canonical for the body of a call: a value, or one written into a string as
// on the OpenAI APIs.
func (r *Request) canonical(body transcript.Span) string {
	raw := r.t.Bytes(body)
	if r.inString(body) {
		if raw = jsonspan.Decode(nil, raw); jsonspan.Valid(raw) != nil {
			return string(raw)
		}
	}
	return string(Canonical(raw))
}

// deepest bounds the recursion; what nests deeper is compared as it is written.
const deepest = 64

func appendCanonical(dst, raw []byte, at jsonspan.Span, depth int) []byte {
	value := bytes.TrimSpace(raw[at.Start:at.End])
	if len(value) == 0 || depth > deepest {
		return append(dst, value...)
	}
	if asWritten(value) {
		return append(dst, value...)
	}
	switch value[0] {
	case '"':
		return jsonspan.AppendQuote(dst, string(jsonspan.Decode(nil, value[1:len(value)-1])))
	case '[':
		dst = append(dst, '[')
		for i, e := range jsonspan.Elements(raw, at) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendCanonical(dst, raw, e, depth+1)
		}
		return append(dst, ']')
	}
	return appendObject(dst, raw, at, depth)
}

// asWritten reports whether a value is its own canonical form: a number, a word, a string
// without escapes.
func asWritten(value []byte) bool {
	switch value[0] {
	case '"':
		return len(value) < 2 || bytes.IndexByte(value, '\\') < 0
	case '[', '{':
		return false
	}
	return true
}

func appendObject(dst, raw []byte, at jsonspan.Span, depth int) []byte {
	type member struct{ key, value []byte }
	var room [8]member
	all := room[:0]
	for _, m := range jsonspan.Members(raw, at) {
		key, value := raw[m.Key.Start:m.Key.End], bytes.TrimSpace(raw[m.Value.Start:m.Value.End])
		if bytes.IndexByte(key, '\\') >= 0 {
			key = jsonspan.Decode(nil, key)
		}
		if len(value) > 0 && !asWritten(value) {
			value = appendCanonical(nil, raw, m.Value, depth+1)
		}
		all = append(all, member{key, value})
	}
	slices.SortStableFunc(all, func(a, b member) int { return bytes.Compare(a.key, b.key) })
	dst = append(dst, '{')
	for i, m := range all { // also those of one key: parsers differ on which counts
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(jsonspan.AppendQuote(dst, string(m.key)), ':'), m.value...)
	}
	return append(dst, '}')
}
