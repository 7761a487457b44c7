package dialect

import (
	"bytes"
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// dropCopy takes the copy of a member out that stands twice and says the same both
// times. Which of two different values was meant, nobody can tell.
func (m *repairer) dropCopy(f *Finding) {
	offset, ok := flawOffset(f)
	if !ok {
		return
	}
	at := jsonspan.Span{End: len(m.raw)}
	if f.Index >= 0 {
		at = jsonspan.Span(m.t.Messages()[f.Index].Span)
	}
	o := m.way.object(m.raw, at, offset)
	if o == nil {
		return
	}
	o.index(m.raw)
	path := ""
	for i := o.keyFrom(offset); i >= 0; i = o.after[i] { // a key is found once, however often it stands there
		if !o.copies(m.raw, i) {
			continue
		}
		gone := jsonspan.Span{Start: o.members[i-1].Value.End, End: o.members[i].Value.End}
		if !m.edit(jsonspan.Edit{Span: gone}) {
			continue
		}
		m.isCopyAt(f.Index, tspan(gone))
		if path == "" {
			path = m.pathAt(f.Index, offset, f.Path)
		}
		m.logHead(f, ActionDrop, path, -gone.Len(), "%q stands twice and says the same; the copy goes", o.name(m.raw, i))
		copied := o.members[i].Value
		m.changes[len(m.changes)-1].Removed = string(m.raw[copied.Start:copied.End])
	}
}

// A way leads from a value to a place in it, from the outside in. Of places that are asked for
// in order, each object and list on the way is read once.
type way []*opened

// An opened is an object or a list on a way.
type opened struct {
	at      jsonspan.Span
	members []jsonspan.Member
	items   []jsonspan.Span
	last    map[string]int // the last member of each name
	before  []int          // by member: the one before it of the same name, or -1
	after   []int          // and the one after it
}

// object returns the innermost object in a value that holds the key at an offset. There is
// none to work on in a value that another of its name hides: no path leads there.
func (w *way) object(raw []byte, in jsonspan.Span, offset int) *opened {
	if len(*w) == 0 || (*w)[0].at != in {
		*w = append((*w)[:0], open(raw, in))
	}
	for n := len(*w); n > 1 && !(*w)[n-1].holds(offset); n-- {
		*w = (*w)[:n-1]
	}
	for {
		o := (*w)[len(*w)-1]
		inner, hidden, ok := o.inner(raw, offset)
		if hidden {
			return nil
		}
		if !ok {
			return o
		}
		*w = append(*w, open(raw, inner))
	}
}

func open(raw []byte, at jsonspan.Span) *opened {
	return &opened{at: at, members: jsonspan.Members(raw, at), items: jsonspan.Elements(raw, at)}
}

func (o *opened) holds(offset int) bool { return o.at.Start <= offset && offset < o.at.End }

// inner returns the value in it that holds an offset, and whether another of its name hides it.
func (o *opened) inner(raw []byte, offset int) (at jsonspan.Span, hidden, ok bool) {
	ends := func(s jsonspan.Span, offset int) int { return s.End - offset - 1 }
	if i, _ := slices.BinarySearchFunc(o.members, offset, func(e jsonspan.Member, offset int) int { return ends(e.Value, offset) }); i < len(o.members) && o.members[i].Value.Start <= offset {
		o.index(raw)
		return o.members[i].Value, o.last[o.name(raw, i)] != i, true
	}
	if i, _ := slices.BinarySearchFunc(o.items, offset, ends); i < len(o.items) && o.items[i].Start <= offset {
		return o.items[i], false, true
	}
	return at, false, false
}

// keyFrom is the first member whose key starts at an offset or behind it, or -1.
func (o *opened) keyFrom(offset int) int {
	i, _ := slices.BinarySearchFunc(o.members, offset, func(e jsonspan.Member, offset int) int { return e.Key.Start - offset })
	if i == len(o.members) {
		return -1
	}
	return i
}

// copies reports whether member i says what the one before it of the same name says.
func (o *opened) copies(raw []byte, i int) bool {
	value := func(k int) []byte { v := o.members[k].Value; return raw[v.Start:v.End] }
	return o.before[i] >= 0 && bytes.Equal(value(o.before[i]), value(i))
}

// index finds members of the same name.
func (o *opened) index(raw []byte) {
	if o.last != nil {
		return
	}
	n := len(o.members)
	o.last, o.before, o.after = make(map[string]int, n), make([]int, n), make([]int, n)
	for i := range o.members {
		name := o.name(raw, i)
		o.before[i], o.after[i] = -1, -1
		if k, ok := o.last[name]; ok {
			o.before[i], o.after[k] = k, i
		}
		o.last[name] = i
	}
}

func (o *opened) name(raw []byte, i int) string {
	k := o.members[i].Key
	return string(jsonspan.Decode(nil, raw[k.Start:k.End]))
}
