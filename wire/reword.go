package wire

import (
	"slices"
	"sync/atomic"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// reworded returns the changed request if edits do nothing but put one text in the place of
// another in results, as a window does that clears old ones: then there are the same messages,
// blocks and pairs, which have only moved. They share everything but their places, so that
// nothing is filed, paired or found again.
func (d *draft) reworded(raw []byte, edits []jsonspan.Edit) (*Request, bool) {
	if d.borrowed || len(d.opened) > 0 || len(d.messages.put) > 0 || slices.Contains(d.messages.drop, true) || !d.rewordsOnly(edits) {
		return nil, false
	}
	messages, blocks, frames := slices.Clone(d.t.Messages()), slices.Clone(d.t.Blocks()), slices.Clone(d.frame)
	shift := 0
	for i := range messages {
		m := &messages[i]
		n, grown := editsIn(m, edits), 0
		for _, e := range edits[:n] {
			grown += len(e.New) - e.Len()
		}
		moved := shifts{by: shift, edits: edits[:n]}
		edits, shift = edits[n:], shift+grown
		m.Span, frames[i] = moved.moved(m.Span), frame{moved.moved(frames[i].content), moved.moved(frames[i].calls)}
		for b := m.First; b < m.End; b++ {
			moved.block(&blocks[b])
		}
	}
	next := &Request{
		Dialect: d.Dialect, Profile: d.Profile, g: d.g, raw: raw, list: transcript.Span{Start: d.list.Start, End: d.list.End + shift}, bare: d.bare,
		head: d.head, where: d.where, extra: d.extra, frame: frames, notes: d.notes, listNotes: d.listNotes, ties: d.ties,
	}
	next.head.said = d.saidAfter(shift)
	next.t = transcriptx.Moved(d.t, raw, messages, blocks)
	if len(raw) <= len(d.raw) { // of what results say a check reads nothing but notes, of the bytes how many there are
		next.clean = atomic.LoadUint32(&d.Request.clean)
	}
	return next, true
}

// rewordsOnly reports whether all edits put one text in the place of another in results.
func (d *draft) rewordsOnly(edits []jsonspan.Edit) bool {
	notes, ms := filed{notes: d.notes[d.listNotes:]}, d.t.Messages()
	for i := range ms {
		n := editsIn(&ms[i], edits)
		if n > 0 && !d.rewords(&ms[i], edits[:n], notes.ours(i, &ms[i]).notes) {
			return false
		}
		edits = edits[n:]
	}
	return len(edits) == 0
}

// editsIn is how many of the edits that are left lie in a message, or in front of it.
func editsIn(m *transcript.Message, edits []jsonspan.Edit) (n int) {
	for n < len(edits) && edits[n].Start < m.Span.End {
		n++
	}
	return n
}
