package hosts

import (
	"bytes"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// An object is one of the document, with its members; none if it is something else.
type object struct {
	raw     []byte
	at      jsonspan.Span
	members []jsonspan.Member
}

func open(raw []byte, at jsonspan.Span) object {
	o := object{raw: raw, at: at}
	if at.Len() > 0 && raw[at.Start] == '{' {
		o.members = jsonspan.Members(raw, at)
	}
	return o
}

// get is the value at a path such as "state.output"; of several, as in "input|args", the first that is
// there. An empty span is none.
func (o object) get(path string) jsonspan.Span {
	for rest := path; rest != ""; {
		var one string
		one, rest, _ = strings.Cut(rest, "|")
		if at := o.only(one); at.Len() > 0 {
			return at
		}
	}
	return jsonspan.Span{}
}

func (o object) only(path string) (at jsonspan.Span) {
	name, rest, deep := strings.Cut(path, ".")
	for i := len(o.members) - 1; i >= 0; i-- { // the last one of a name counts
		if m := o.members[i]; jsonspan.Says(o.raw, m.Key, name) {
			if at = m.Value; deep {
				return open(o.raw, at).only(rest)
			}
			return at
		}
	}
	return at
}

func (o object) bytes(path string) []byte {
	at := o.get(path)
	return o.raw[at.Start:at.End]
}

// text is the string at a path, or "".
func (o object) text(path string) string { return decode(o.bytes(path)) }

// is reports whether the value at a path is true.
func (o object) is(path string) bool { return string(o.bytes(path)) == "true" }

func (o object) list(path string) []jsonspan.Span {
	if at := o.get(path); at.Len() > 0 && o.raw[at.Start] == '[' {
		return jsonspan.Elements(o.raw, at)
	}
	return nil
}

// first is the byte that a value begins with, or 0.
func first(value []byte) byte {
	if len(value) == 0 {
		return 0
	}
	return value[0]
}

// decode returns what a string says; "" if the value is none.
func decode(value []byte) string {
	if first(value) != '"' {
		return ""
	}
	if in := value[1 : len(value)-1]; bytes.IndexByte(in, '\\') < 0 {
		return string(in)
	}
	return string(jsonspan.Decode(nil, value[1:len(value)-1]))
}

func quote(text string) []byte { return jsonspan.AppendQuote(nil, text) }

// write is an object of names and values by turns: text is quoted, bytes stay as they are, no bytes
// leave the member out.
func write(pairs ...any) []byte {
	b := []byte{'{'}
	for i := 0; i < len(pairs); i += 2 {
		value, ok := pairs[i+1].([]byte)
		if !ok {
			value = quote(pairs[i+1].(string))
		} else if len(value) == 0 {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, quote(pairs[i].(string))...), ':'), value...)
	}
	return append(b, '}')
}

func array(items ...[]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(items, []byte{','})...), ']')
}

// set gives an object a value at a path: where there is one of several, else at the first.
func set(raw []byte, path string, value []byte) []byte {
	o := open(raw, jsonspan.Span{End: len(raw)})
	for one := range strings.SplitSeq(path, "|") {
		if o.only(one).Len() > 0 {
			path = one
			break
		}
	}
	path, _, _ = strings.Cut(path, "|")
	name, rest, deep := strings.Cut(path, ".")
	if deep {
		inner := o.bytes(name)
		if first(inner) != '{' {
			inner = []byte("{}")
		}
		value = set(inner, rest, value)
	}
	out, err := jsonspan.Splice(raw, []jsonspan.Edit{jsonspan.SetMember(raw, o.at, name, value)})
	if err != nil {
		panic(err) // one edit, inside of raw
	}
	return out
}

// An item is an element of a list that is written: one that was there, or a new one.
type item struct {
	was int // its number; -1: it is new
	raw []byte
}

// rewritten is a list with other elements. What stood between those that stay neighbours stays.
func rewritten(raw []byte, list jsonspan.Span, old []jsonspan.Span, now []item) []byte {
	if len(now) == 0 || len(old) == 0 {
		all := make([][]byte, len(now))
		for i, x := range now {
			all[i] = x.raw
		}
		return array(all...)
	}
	between := []byte{','}
	if len(old) > 1 {
		between = raw[old[0].End:old[1].Start]
	}
	out := bytes.Clone(raw[list.Start:old[0].Start])
	for i, x := range now {
		switch {
		case i == 0:
		case x.was > 0 && now[i-1].was == x.was-1:
			out = append(out, raw[old[x.was-1].End:old[x.was].Start]...)
		default:
			out = append(out, between...)
		}
		out = append(out, x.raw...)
	}
	return append(out, raw[old[len(old)-1].End:list.End]...)
}
