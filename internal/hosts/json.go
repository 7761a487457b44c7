package hosts

import (
	"bytes"
	"strings"

	"github.com/pare-llm/pare/internal/jsonedit"
	"github.com/pare-llm/pare/internal/jsonspan"
)

// Short names for the most frequent operations.
var (
	write = jsonedit.New
	array = jsonedit.List
	quote = jsonedit.Quote
)

// An object is a JSON object whose values are looked up by path. For other values it has no
// members.
type object struct{ jsonedit.Object }

func objectAt(raw []byte, at jsonspan.Span) object { return object{jsonedit.At(raw, at)} }

func objectOf(raw []byte) object { return object{jsonedit.Of(raw)} }

// get returns the value at a path such as "state.output". For alternatives such as "input|args" it
// returns the first one that exists. The span is empty if there is none.
func (o object) get(path string) jsonspan.Span {
	for one := range strings.SplitSeq(path, "|") {
		if at := o.getOne(one); at.Len() > 0 {
			return at
		}
	}
	return jsonspan.Span{}
}

func (o object) getOne(path string) (at jsonspan.Span) {
	name, rest, deep := strings.Cut(path, ".")
	for i := len(o.Members) - 1; i >= 0; i-- { // the last member with a name counts
		if m := o.Members[i]; jsonspan.Says(o.Raw, m.Key, name) {
			if at = m.Value; deep {
				return objectAt(o.Raw, at).getOne(rest)
			}
			return at
		}
	}
	return at
}

// bytes returns the value at a path, or nil.
func (o object) bytes(path string) []byte {
	if at := o.get(path); at.Len() > 0 {
		return o.Raw[at.Start:at.End]
	}
	return nil
}

// text returns the string at a path, or "".
func (o object) text(path string) string { return jsonedit.Text(o.Raw, o.get(path)) }

func (o object) is(path string) bool { return string(o.bytes(path)) == "true" }

func (o object) list(path string) []jsonspan.Span {
	if at := o.get(path); at.Len() > 0 && o.Raw[at.Start] == '[' {
		return jsonspan.Elements(o.Raw, at)
	}
	return nil
}

// firstByte returns the first byte of a value, or 0.
func firstByte(value []byte) byte {
	if len(value) == 0 {
		return 0
	}
	return value[0]
}

// decodeString returns the decoded string, or "" if the value is not a string.
func decodeString(value []byte) string { return jsonedit.Text(value, jsonspan.Span{End: len(value)}) }

// setPath returns the object with a value set at a path: at the first alternative that exists, or
// else at the first one.
func setPath(raw []byte, path string, value []byte) []byte {
	o := objectOf(raw)
	for one := range strings.SplitSeq(path, "|") {
		if o.getOne(one).Len() > 0 {
			path = one
			break
		}
	}
	path, _, _ = strings.Cut(path, "|")
	name, rest, deep := strings.Cut(path, ".")
	if deep {
		inner := o.bytes(name)
		if firstByte(inner) != '{' {
			inner = []byte("{}")
		}
		value = setPath(inner, rest, value)
	}
	return jsonedit.Set(raw, name, value)
}

// A newItem is an element of a rewritten list.
type newItem struct {
	oldIndex int // index in the old list; -1 for a new element
	raw      []byte
}

// rewriteList returns a list with other elements. It keeps the separators between elements that
// were neighbors before.
func rewriteList(raw []byte, list jsonspan.Span, old []jsonspan.Span, now []newItem) []byte {
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
		case x.oldIndex > 0 && now[i-1].oldIndex == x.oldIndex-1:
			out = append(out, raw[old[x.oldIndex-1].End:old[x.oldIndex].Start]...)
		default:
			out = append(out, between...)
		}
		out = append(out, x.raw...)
	}
	return append(out, raw[old[len(old)-1].End:list.End]...)
}
