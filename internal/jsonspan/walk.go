package jsonspan

import (
	"bytes"
	"slices"
)

// A Member is one member of an object: its key without quotes, and its value,
// quotes and brackets included.
type Member struct {
	Key   Span
	Value Span
}

// Members lists the members of the object at span, which has been scanned before.
// It is for edits, which are rare; it allocates.
func Members(data []byte, at Span) []Member {
	s := inside(data, at)
	if s.Peek() != Object || !s.Enter() {
		return nil
	}
	var all []Member
	for {
		key, ok := s.Key()
		if !ok {
			return all
		}
		all = append(all, Member{key, s.Skip()})
	}
}

// Elements lists the elements of the list at span, like [Members].
func Elements(data []byte, at Span) []Span {
	s := inside(data, at)
	if s.Peek() != Array || !s.Enter() {
		return nil
	}
	var all []Span
	for s.Element() {
		all = append(all, s.Skip())
	}
	return all
}

// inside returns a scanner that reads the value at span, with offsets into data.
// It has been scanned before, so keys are not compared again.
func inside(data []byte, at Span) (s Scanner) {
	s.Reset(data[:at.End], Structural)
	s.pos, s.scanned = at.Start, true
	return s
}

// Visit calls f with each member of the object at span, which has been scanned before,
// and allocates nothing. The value at known is not read again; an empty span is none.
func Visit(data []byte, object, known Span, f func(Member)) {
	var s Scanner
	s.Reset(data[:object.End], Structural)
	s.pos = object.Start
	if s.Peek() != Object {
		return
	}
	// Like Enter and Key, without keeping the keys: nobody asks whether one stands twice.
	s.pos, s.depth, s.fresh = s.pos+1, 1, true
	for s.next('}') && s.Peek() == String {
		key := s.str()
		if s.space(); s.Failed() || s.pos >= len(s.data) || s.data[s.pos] != ':' {
			return
		}
		s.pos++
		value := known
		if s.space(); s.pos == known.Start {
			s.pos = known.End
		} else if value = s.Skip(); s.Failed() {
			return
		}
		f(Member{key, value})
	}
}

// Find returns the value of the last member of that name, which is the one that
// counts.
func Find(data []byte, object Span, name string) (found Member, ok bool) {
	Visit(data, object, Span{}, func(m Member) {
		if Says(data, m.Key, name) {
			found, ok = m, true
		}
	})
	return found, ok
}

// FindText returns the value of a member as text: a string decoded, anything else as it is
// written. It returns false if data is no object, or has no member of that name.
func FindText(data []byte, name string) (text string, ok bool) {
	if len(data) == 0 || data[0] != '{' {
		return "", false
	}
	m, ok := Find(data, Span{0, len(data)}, name)
	if !ok {
		return "", false
	}
	v := data[m.Value.Start:m.Value.End]
	if len(v) >= 2 && v[0] == '"' {
		v = Decode(nil, v[1:len(v)-1])
	}
	return string(v), true
}

// Says reports whether the string with that content is text.
func Says(data []byte, content Span, text string) bool {
	raw := data[content.Start:content.End]
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw) == text
	}
	return string(Decode(nil, raw)) == text
}

// SetMember returns the edit that gives the object at span a member of that value:
// it replaces the value there is, or adds a member at the end.
func SetMember(data []byte, object Span, name string, value []byte) Edit {
	if m, ok := Find(data, object, name); ok {
		return Edit{m.Value, value}
	}
	added := AppendQuote(nil, name)
	added = append(append(added, ':'), value...)
	all := Members(data, object)
	if len(all) == 0 {
		return Edit{Span{object.Start + 1, object.Start + 1}, added}
	}
	end := all[len(all)-1].Value.End
	return Edit{Span{end, end}, append([]byte{','}, added...)}
}

// RemoveMember returns the edits that take everything of that name out of the object at
// span, commas included; none if there is nothing. Of copies, the last counts: without it
// alone, another would.
func RemoveMember(data []byte, object Span, name string) []Edit {
	return RemoveMembers(Members(data, object), func(m Member) bool { return Says(data, m.Key, name) })
}

// RemoveMembers returns the edits that take members out of the object that has all of these,
// commas included: the edit of the last one comes last.
func RemoveMembers(all []Member, gone func(Member) bool) (edits []Edit) {
	first := slices.IndexFunc(all, func(m Member) bool { return !gone(m) })
	switch {
	case len(all) == 0:
		return nil
	case first < 0:
		return []Edit{{Span{all[0].Key.Start - 1, all[len(all)-1].Value.End}, nil}}
	case first > 0:
		edits = append(edits, Edit{Span{all[0].Key.Start - 1, all[first].Key.Start - 1}, nil})
	}
	for i := first + 1; i < len(all); i++ {
		if gone(all[i]) {
			edits = append(edits, Edit{Span{all[i-1].Value.End, all[i].Value.End}, nil})
		}
	}
	return edits
}

// RemoveAt returns the edit that takes member i out of the object that has all of these, its
// comma included.
func RemoveAt(all []Member, i int) Edit {
	m := all[i]
	switch {
	case i > 0:
		return Edit{Span{all[i-1].Value.End, m.Value.End}, nil}
	case len(all) > 1:
		return Edit{Span{m.Key.Start - 1, all[1].Key.Start - 1}, nil}
	}
	return Edit{Span{m.Key.Start - 1, m.Value.End}, nil}
}
