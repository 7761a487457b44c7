package wire

import (
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// reworded returns the changed request if edits do nothing but put one text in the place of
// another in results, as a window does that clears old ones: then there are the same messages,
// blocks and pairs, which have only moved. They share everything but their places, so that
// nothing is filed or paired again.
func (d *draft) reworded(raw []byte, edits []jsonspan.Edit) (*Request, bool) {
	if d.borrowed || d.lent != nil || len(d.opened) > 0 || len(d.messages.put) > 0 || slices.Contains(d.messages.drop, true) {
		return nil, false
	}
	messages, blocks, frames := slices.Clone(d.t.Messages()), slices.Clone(d.t.Blocks()), slices.Clone(d.frame)
	notes, shift := filed{notes: d.notes[d.listNotes:]}, 0
	for i := range messages {
		m := &messages[i]
		n, grown := 0, 0
		for n < len(edits) && edits[n].Start < m.Span.End {
			grown += len(edits[n].New) - edits[n].Len()
			n++
		}
		moved := shifts{by: shift, edits: edits[:n]}
		if n > 0 && !d.rewords(m, moved.edits, notes.ours(i, m).notes) {
			return nil, false
		}
		edits, shift = edits[n:], shift+grown
		m.Span, frames[i] = moved.moved(m.Span), frame{moved.moved(frames[i].content), moved.moved(frames[i].calls)}
		for b := m.First; b < m.End; b++ {
			moved.block(&blocks[b])
		}
	}
	if len(edits) > 0 {
		return nil, false
	}
	next := &Request{
		Dialect: d.Dialect, Profile: d.Profile, g: d.g, raw: raw, list: transcript.Span{Start: d.list.Start, End: d.list.End + shift}, bare: d.bare,
		head: d.head, where: d.where, extra: d.extra, frame: frames, notes: d.notes, listNotes: d.listNotes, ties: d.ties,
	}
	next.head.said = d.said(shift)
	next.t = d.t.Moved(raw, messages, blocks)
	return next, true
}
