// Package jsonedit reads the members of JSON objects and the elements of lists where they lie, and
// writes objects and lists: new ones, and old ones with members set or taken out. What is not named
// stays byte for byte. Whatever is read has been scanned before; what is no object has no members.
package jsonedit

import (
	"bytes"
	"strconv"
	"unicode"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// An Object gives the members of one JSON object by name.
type Object struct {
	Raw     []byte // what it lies in
	Span    jsonspan.Span
	Members []jsonspan.Member
	memo    *Memo
}

// A Memo keeps what several ask an object for: its type, and the members of one of its own.
type Memo struct {
	typed bool
	kind  string
	name  string
	inner Object
}

// At lists the members of the object at a span.
func At(raw []byte, at jsonspan.Span) Object {
	if at.Len() == 0 || raw[at.Start] != '{' {
		return Object{Raw: raw, Span: at}
	}
	members, _, _ := Members(raw, at, make([]jsonspan.Member, 0, 16))
	return Object{Raw: raw, Span: at, Members: members}
}

// Of lists the members of the object that raw is.
func Of(raw []byte) Object { return At(raw, jsonspan.Span{End: len(raw)}) }

// Members adds the members of the object at the start of a span to all, says where it ends and
// whether it could be read; one that has been scanned before can.
func Members(raw []byte, at jsonspan.Span, all []jsonspan.Member) (_ []jsonspan.Member, end int, ok bool) {
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

// Forget lets go of what the memo holds, and keeps the room that it took.
func (m *Memo) Forget() { *m = Memo{inner: Object{Members: m.inner.Members[:0]}} }

// Noting is the object with a memo for its answers, which forgets those of another one.
func (o Object) Noting(m *Memo) Object {
	m.Forget()
	o.memo = m
	return o
}

// Bytes are the bytes of the object.
func (o Object) Bytes() []byte { return o.Raw[o.Span.Start:o.Span.End] }

// Get returns where the value of a member lies; the last one of a name counts.
func (o *Object) Get(name string) (jsonspan.Span, bool) {
	for i := len(o.Members) - 1; i >= 0; i-- {
		k := o.Members[i].Key
		if k.Len() == len(name) && string(o.Raw[k.Start:k.End]) == name {
			return o.Members[i].Value, true
		}
	}
	return jsonspan.Span{}, false
}

// Has reports whether there is a member of that name.
func (o Object) Has(name string) bool {
	_, ok := o.Get(name)
	return ok
}

// Value returns the bytes of a member, or nil.
func (o Object) Value(name string) []byte {
	v, ok := o.Get(name)
	if !ok {
		return nil
	}
	return o.Raw[v.Start:v.End]
}

// Text returns a member that is a string, decoded; "" if there is none.
func (o Object) Text(name string) string {
	v, _ := o.Get(name)
	return Text(o.Raw, v)
}

// Is reports whether a member is true.
func (o Object) Is(name string) bool { return string(o.Value(name)) == "true" }

// Number returns a member that is a whole number and not negative; else 0.
func (o Object) Number(name string) int {
	n, _ := strconv.Atoi(string(o.Value(name)))
	return max(n, 0)
}

// Object returns a member that is an object; an empty one if it is not.
func (o Object) Object(name string) Object {
	m := o.memo
	if m == nil {
		v, _ := o.Get(name)
		return At(o.Raw, v)
	}
	if m.name != name {
		v, _ := o.Get(name)
		members := m.inner.Members[:0] // those of another are not needed again
		if v.Len() > 0 && o.Raw[v.Start] == '{' {
			members, _, _ = Members(o.Raw, v, members)
		}
		m.name, m.inner = name, Object{Raw: o.Raw, Span: v, Members: members}
	}
	return m.inner
}

// Kind is the object's type, decoded; "" if it has none.
func (o Object) Kind() string {
	m := o.memo
	if m == nil {
		return o.Text("type")
	}
	if !m.typed {
		m.typed, m.kind = true, o.Text("type")
	}
	return m.kind
}

// List returns where the elements of a member lie that is a list.
func (o Object) List(name string) []jsonspan.Span {
	v, ok := o.Get(name)
	if !ok || o.Raw[v.Start] != '[' {
		return nil
	}
	return jsonspan.Elements(o.Raw, v)
}

// Items returns the elements of a member that is a list as objects.
func (o Object) Items(name string) []Object {
	var all []Object
	for _, at := range o.List(name) {
		all = append(all, At(o.Raw, at))
	}
	return all
}

// Mark returns the bytes of a member that is a number, a truth value, or a text such as a time, an
// id or a path; otherwise nil. It is what a new object may take over from one beside it: words
// would be said by somebody else there.
func (o Object) Mark(name string) []byte {
	v := o.Value(name)
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

// With returns the object with members replaced or added: alternating names and values, of which a
// string is quoted and bytes go in as they are.
func (o Object) With(pairs ...any) []byte { return Set(o.Bytes(), pairs...) }

// Without returns the object without members.
func (o Object) Without(names ...string) []byte {
	out := o.Bytes()
	for _, name := range names {
		out = splice(out, jsonspan.RemoveMember(out, jsonspan.Span{End: len(out)}, name)...)
	}
	return out
}

// Set returns an object with members replaced or added, as [Object.With] does.
func Set(object []byte, pairs ...any) []byte {
	out := bytes.Clone(object)
	for i := 0; i < len(pairs); i += 2 {
		out = splice(out, jsonspan.SetMember(out, jsonspan.Span{End: len(out)}, pairs[i].(string), value(pairs[i+1])))
	}
	return out
}

func splice(raw []byte, edits ...jsonspan.Edit) []byte {
	out, err := jsonspan.Splice(raw, edits)
	if err != nil {
		return raw
	}
	return out
}

// value writes the value of a member.
func value(v any) []byte {
	switch v := v.(type) {
	case string:
		return Quote(v)
	case int:
		return strconv.AppendInt(nil, int64(v), 10)
	}
	return v.([]byte)
}

// Text decodes the string at a span; "" if it is none.
func Text(raw []byte, at jsonspan.Span) string {
	if at.Len() < 2 || raw[at.Start] != '"' {
		return ""
	}
	text := raw[at.Start+1 : at.End-1]
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text)
	}
	return string(jsonspan.Decode(nil, text))
}

// Quote writes a string.
func Quote(s string) []byte { return jsonspan.AppendQuote(nil, s) }

// New writes an object of alternating names and values: a string is quoted, an int is written as a
// number, bytes go in as they are, and nil bytes leave the member out.
func New(pairs ...any) []byte {
	b := []byte{'{'}
	for i := 0; i < len(pairs); i += 2 {
		if v, raw := pairs[i+1].([]byte); raw && v == nil {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(jsonspan.AppendQuote(b, pairs[i].(string)), ':')
		b = append(b, value(pairs[i+1])...)
	}
	return append(b, '}')
}

// List writes a list of values.
func List(items ...[]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(items, []byte{','})...), ']')
}
