package dialect

import (
	"bytes"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// A list is a JSON list that is being changed.
type list struct {
	span  transcript.Span // brackets included; of a string, quotes included
	of    *Request        // whose messages it lists; nil: it lists elems
	elems []transcript.Span
	drop  []bool
	put   map[int][]item // what comes before element i; len(elems) is the end
	text  bool           // the list is a string so far, which counts as one text
}

// An item is an element to be put into a list: new, or made of something elsewhere. Of a
// message, inner is where its blocks are from, in order; nil: where it is from itself. They
// are in its list of blocks, or else in calls.
type item struct {
	raw   []byte
	from  origin
	inner []origin
	calls container
}

// len is how many elements there are.
func (l *list) len() int {
	if l.of != nil {
		return len(l.of.t.Messages())
	}
	return len(l.elems)
}

// at is where element i stands.
func (l *list) at(i int) transcript.Span {
	if l.of != nil {
		return l.of.t.Messages()[i].Span
	}
	return l.elems[i]
}

// insert puts an element into a list in front of element i.
func (l *list) insert(i int, it item) {
	if l.put == nil {
		l.put = make(map[int][]item)
	}
	l.put[i] = append(l.put[i], it)
}

// edits writes the changes of a list. Between two elements that stay, nothing but
// the elements that go and those that come changes: the white space is kept.
func (l *list) edits(raw []byte) []jsonspan.Edit {
	var out []jsonspan.Edit
	puts := sortedKeys(l.put)
	kept := -1 // the last element that stays
	for i, n := 0, l.len(); i <= n; i++ {
		if i < n && l.drop[i] {
			continue
		}
		for len(puts) > 0 && puts[0] <= kept {
			puts = puts[1:]
		}
		if i > kept+1 || len(puts) > 0 && puts[0] <= i {
			if e, ok := l.gap(raw, kept, i); ok {
				out = append(out, e)
			}
		}
		kept = i
	}
	return out
}

// gap writes what happens between elements i and j, which stay; -1 and the number
// of elements are the ends of the list.
func (l *list) gap(raw []byte, i, j int) (e jsonspan.Edit, ok bool) {
	var put []*item
	for k := max(i+1, 0); k <= j && len(l.put) > 0; k++ {
		for x := range l.put[k] {
			put = append(put, &l.put[k][x])
		}
	}
	n := l.len()
	if len(put) == 0 && j == i+1 {
		return jsonspan.Edit{}, false
	}
	join := func(before, after string) []byte {
		var b []byte
		for _, it := range put {
			b = append(append(append(b, before...), it.raw...), after...)
		}
		return b
	}
	comma := l.comma(raw)
	switch {
	case i < 0 && j == n: // nothing stays
		body := bytes.TrimSuffix(join("", comma), []byte(comma))
		if n == 0 {
			at := l.span.Start + 1
			return jsonspan.Edit{Span: jsonspan.Span{Start: at, End: at}, New: body}, true
		}
		return jsonspan.Edit{Span: jsonspan.Span{Start: l.at(0).Start, End: l.at(n - 1).End}, New: body}, true
	case i < 0:
		return jsonspan.Edit{Span: jsonspan.Span{Start: l.at(0).Start, End: l.at(j).Start}, New: join("", comma)}, true
	case j == n:
		return jsonspan.Edit{Span: jsonspan.Span{Start: l.at(i).End, End: l.at(n - 1).End}, New: join(comma, "")}, true
	}
	// The separator behind element i stays; what goes is removed with its own.
	sep := l.separator(raw, i)
	return jsonspan.Edit{Span: jsonspan.Span{Start: l.at(i + 1).Start, End: l.at(j).Start}, New: join("", sep)}, true
}

// comma returns what stands between two elements, white space included.
func (l *list) comma(raw []byte) string {
	switch l.len() {
	case 0:
		return ","
	case 1:
		return "," + l.separator(raw, -1)
	}
	return l.separator(raw, 0)
}

// separator is what stands between elements i and i+1, or in front of the first one.
func (l *list) separator(raw []byte, i int) string {
	if i < 0 {
		return string(raw[l.span.Start+1 : l.at(0).Start])
	}
	return string(raw[l.at(i).End:l.at(i+1).Start])
}
