package dialect

import (
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// A bodyDraft is what a draft knows of the request's own object. Every message may have a
// finding that is repaired there, so it is looked through once, and what they all want to add
// to one of its lists is added together.
type bodyDraft struct {
	knownObject
	lists map[string]*list // being added to; one without a span is not there yet
}

// bodyObject is the request's own object; without members if the request is a bare list.
func (d *draft) bodyObject() *bodyDraft {
	o := &d.body
	if o.members != nil || d.bare {
		return o
	}
	start, end := 0, len(d.raw)
	for start < end && d.raw[start] != '{' {
		start++
	}
	for end > start && d.raw[end-1] != '}' {
		end--
	}
	o.at = transcript.Span{Start: start, End: end}
	jsonspan.Visit(d.raw, jsonspan.Span(o.at), jsonspan.Span(d.list), func(m jsonspan.Member) { o.members = append(o.members, m) })
	return o
}

// bodyMember returns the value of a member of the body. Of several the last one counts.
func (d *draft) bodyMember(name string) (transcript.Span, bool) {
	for _, m := range slices.Backward(d.bodyObject().members) {
		if jsonspan.Says(d.raw, m.Key, name) {
			return tspan(m.Value), true
		}
	}
	return transcript.Span{}, false
}

// setBodyMember gives the body a member; false if there is no object to hold it, or an
// earlier edit of this round is in the way.
func (d *draft) setBodyMember(name string, value []byte) bool {
	return len(d.bodyObject().members) > 0 && d.edit(d.bodyEdit(name, value))
}

func (d *draft) bodyEdit(name string, value []byte) jsonspan.Edit {
	if at, ok := d.bodyMember(name); ok {
		return jsonspan.Edit{Span: jsonspan.Span(at), New: value}
	}
	all := d.bodyObject().members
	end := all[len(all)-1].Value.End
	added := append(jsonspan.AppendQuote([]byte{','}, name), ':')
	return jsonspan.Edit{Span: jsonspan.Span{Start: end, End: end}, New: append(added, value...)}
}

// removeBodyMember takes a member out of the body.
func (d *draft) removeBodyMember(name string) bool {
	return d.removeFrom(&d.bodyObject().knownObject, name)
}

// bodyList returns a list of the body to add to, also one that is not there yet, or null;
// nil if there is something else of that name, or no object to hold it.
func (d *draft) bodyList(name string) *list {
	if l := d.body.lists[name]; l != nil {
		return l
	}
	l := &list{}
	at, ok := d.bodyMember(name)
	switch {
	case ok && d.raw[at.Start] == '[':
		l.span = at
		for _, e := range jsonspan.Elements(d.raw, jsonspan.Span(at)) {
			l.elems = append(l.elems, tspan(e))
		}
		l.drop = make([]bool, len(l.elems))
	case ok && d.raw[at.Start] != 'n', len(d.body.members) == 0:
		return nil
	}
	if d.body.lists == nil {
		d.body.lists = make(map[string]*list)
	}
	d.body.lists[name] = l
	return l
}

// added reports whether something was added to a list.
func (o *bodyDraft) added() bool {
	for _, l := range o.lists {
		if len(l.put) > 0 {
			return true
		}
	}
	return false
}

// bodyEdits are the edits of the lists of the body.
func (d *draft) bodyEdits() (edits []jsonspan.Edit) {
	for _, name := range sortedKeys(d.body.lists) {
		l := d.body.lists[name]
		if l.span.Len() > 0 {
			edits = append(edits, l.edits(d.raw)...)
			continue
		}
		var all [][]byte
		for _, it := range l.put[0] {
			all = append(all, it.raw)
		}
		if all != nil {
			edits = append(edits, d.bodyEdit(name, array(all...)))
		}
	}
	return edits
}
