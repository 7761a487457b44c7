package agentlog

import (
	"bytes"
	"unicode"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// An object gives the members of one JSON object by name.
type object struct {
	raw     []byte
	span    jsonspan.Span
	members []jsonspan.Member
	asked   *asked // what was asked for, if that is kept
}

// asked is what several ask an object for: its type, and the members of one of its own.
type asked struct {
	typed bool
	kind  string
	name  string
	inner object
}

// objectAt lists the members of the object at span; none if it is no object.
func objectAt(raw []byte, at jsonspan.Span) object {
	if at.Len() == 0 || raw[at.Start] != '{' {
		return object{raw: raw, span: at}
	}
	members, _, _ := membersAt(raw, at, make([]jsonspan.Member, 0, 16))
	return object{raw: raw, span: at, members: members}
}

// membersAt adds the members of the object at the start of span to all, says where it ends
// and whether it could be read; one that has been scanned before can.
func membersAt(raw []byte, at jsonspan.Span, all []jsonspan.Member) (_ []jsonspan.Member, end int, ok bool) {
	s := jsonspan.Borrow(raw[at.Start:at.End], jsonspan.Structural)
	defer s.Return()
	if !s.Enter() {
		return all, at.Start, false
	}
	for {
		key, ok := s.Key()
		if !ok {
			return all, at.Start + s.Offset(), !s.Failed()
		}
		v := s.Skip()
		all = append(all, jsonspan.Member{
			Key:   jsonspan.Span{Start: at.Start + key.Start, End: at.Start + key.End},
			Value: jsonspan.Span{Start: at.Start + v.Start, End: at.Start + v.End},
		})
	}
}

// get returns the value of a member; the last one of a name counts.
func (o *object) get(name string) (jsonspan.Span, bool) {
	for i := len(o.members) - 1; i >= 0; i-- {
		k := o.members[i].Key
		if k.Len() == len(name) && string(o.raw[k.Start:k.End]) == name {
			return o.members[i].Value, true
		}
	}
	return jsonspan.Span{}, false
}

func (o object) has(name string) bool {
	_, ok := o.get(name)
	return ok
}

// text returns a member that is a string, decoded; "" if there is none.
func (o object) text(name string) string {
	v, ok := o.get(name)
	if !ok {
		return ""
	}
	return textAt(o.raw, v)
}

// value returns the bytes of a member, or nil.
func (o object) value(name string) []byte {
	v, ok := o.get(name)
	if !ok {
		return nil
	}
	return o.raw[v.Start:v.End]
}

// mark returns the bytes of a member that is a number, a truth value, or a text such as a time, an
// id or a path; otherwise nil. It is what a new record may take over from one beside it: words
// would be said by somebody else there.
func (o object) mark(name string) []byte {
	v := o.value(name)
	if len(v) == 0 || v[0] == '{' || v[0] == '[' {
		return nil
	}
	if v[0] == '"' {
		text := jsonspan.Decode(nil, v[1:len(v)-1])
		if !absolute(text) && (len(text) > 200 || bytes.ContainsFunc(text, unicode.IsSpace)) {
			return nil
		}
	}
	return v
}

// absolute reports whether a text is an absolute path of any system.
func absolute(text []byte) bool {
	return len(text) > 2 && (text[0] == '/' || text[1] == ':' && (text[2] == '\\' || text[2] == '/') || text[0] == '\\' && text[1] == '\\')
}

// is reports whether a member is true.
func (o object) is(name string) bool { return string(o.value(name)) == "true" }

// object returns a member that is an object; an empty one if it is not.
func (o object) object(name string) object {
	a := o.asked
	if a == nil {
		v, _ := o.get(name)
		return objectAt(o.raw, v)
	}
	if a.name != name {
		v, _ := o.get(name)
		members := a.inner.members[:0] // those of another are not needed again
		if v.Len() > 0 && o.raw[v.Start] == '{' {
			members, _, _ = membersAt(o.raw, v, members)
		}
		a.name, a.inner = name, object{raw: o.raw, span: v, members: members}
	}
	return a.inner
}

// kind is the object's type, decoded; "" if it has none.
func (o object) kind() string {
	a := o.asked
	if a == nil {
		return o.text("type")
	}
	if !a.typed {
		a.typed, a.kind = true, o.text("type")
	}
	return a.kind
}

// list returns the elements of a member that is a list.
func (o object) list(name string) []jsonspan.Span {
	v, ok := o.get(name)
	if !ok || o.raw[v.Start] != '[' {
		return nil
	}
	return jsonspan.Elements(o.raw, v)
}

// textAt decodes the string at span; "" if it is none.
func textAt(raw []byte, at jsonspan.Span) string {
	if at.Len() < 2 || raw[at.Start] != '"' {
		return ""
	}
	text := raw[at.Start+1 : at.End-1]
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text)
	}
	return string(jsonspan.Decode(nil, text))
}

func quote(s string) []byte { return jsonspan.AppendQuote(nil, s) }

// write puts together an object of alternating names and values; a string is
// quoted, bytes go in as they are, and nil bytes leave the member out.
func write(pairs ...any) []byte {
	b := []byte{'{'}
	for i := 0; i < len(pairs); i += 2 {
		v, isRaw := pairs[i+1].([]byte)
		if isRaw && v == nil {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(b, quote(pairs[i].(string))...), ':')
		if isRaw {
			b = append(b, v...)
		} else {
			b = append(b, quote(pairs[i+1].(string))...)
		}
	}
	return append(b, '}')
}

func array(items ...[]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(items, []byte{','})...), ']')
}

// setMembers returns the object at span with members replaced or added.
func setMembers(raw []byte, at jsonspan.Span, pairs ...any) []byte {
	out := bytes.Clone(raw[at.Start:at.End])
	for i := 0; i < len(pairs); i += 2 {
		v, isRaw := pairs[i+1].([]byte)
		if !isRaw {
			v = quote(pairs[i+1].(string))
		}
		e := jsonspan.SetMember(out, jsonspan.Span{Start: 0, End: len(out)}, pairs[i].(string), v)
		next, err := jsonspan.Splice(out, []jsonspan.Edit{e})
		if err != nil {
			return out
		}
		out = next
	}
	return out
}
