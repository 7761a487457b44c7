package config

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// readJSON reads a JSON file into a tree, or reports where it stops being one.
func (s *source) readJSON() *value {
	if err := jsonspan.Valid(s.data); err != nil {
		var syntax *jsonspan.SyntaxError
		if errors.As(err, &syntax) {
			s.failAt(place{s.document, syntax.Offset}, "", "", "invalid JSON: %s", syntax.Reason)
			return nil
		}
		s.failAt(place{}, "", "", "invalid JSON: %v", err)
		return nil
	}
	return s.jsonValue(jsonspan.Span{Start: 0, End: len(s.data)}, 0)
}

// deepest is deeper than any configuration nests; more is not worth reading.
const deepest = 32

func (s *source) jsonValue(at jsonspan.Span, depth int) *value {
	for at.Start < at.End && bytes.IndexByte([]byte(" \t\r\n"), s.data[at.Start]) >= 0 {
		at.Start++
	}
	raw := bytes.TrimRight(s.data[at.Start:at.End], " \t\r\n")
	at.End = at.Start + len(raw)
	v := &value{at: at.Start, end: at.End}
	switch c := raw[0]; {
	case c == '{':
		v.kind = table
		for _, m := range jsonspan.Members(s.data, at) {
			if depth < deepest {
				key := string(jsonspan.Decode(nil, s.data[m.Key.Start:m.Key.End]))
				v.add(key, m.Key.Start, s.jsonValue(m.Value, depth+1))
			}
		}
	case c == '[':
		v.kind = list
		for _, e := range jsonspan.Elements(s.data, at) {
			if depth < deepest {
				v.items = append(v.items, s.jsonValue(e, depth+1))
			}
		}
	case c == '"':
		v.kind, v.text = text, string(jsonspan.Decode(nil, raw[1:len(raw)-1]))
	case c == 't' || c == 'f':
		v.kind, v.boolean = boolean, c == 't'
	case c == '-' || c >= '0' && c <= '9':
		v.number(string(raw))
	}
	return v
}

// number reads a number of either format, without underscores.
func (v *value) number(raw string) {
	if n, err := strconv.ParseInt(raw, 0, 64); err == nil {
		v.kind, v.integer, v.decimal = integer, n, float64(n)
		return
	}
	f, err := strconv.ParseFloat(raw, 64)
	if err != nil {
		return // out of range of anything that is wanted here
	}
	v.kind, v.decimal = decimal, f
}
