package agentlog

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// settleDuplicateID handles a call with the id of an earlier call. A copy is dropped; a different
// call and its results get a new id.
func (r *flatRepairer) settleDuplicateID(f *Finding, x transcript.Exchange) {
	first := r.ids.first[x.CallID]
	if first == transcript.NoBlock || first == f.Block {
		return
	}
	if sameCall(r.transcript, first, f.Block) {
		r.dropCall(f, "a call that another one makes already")
		return
	}
	halves := append([]transcript.BlockID{x.Call}, x.Results...)
	for _, b := range halves {
		unit, _ := r.thread.locate(r.edits.file, r.transcript.Block(b).Message, b)
		if _, nests := r.unitWriter.(nestedWriter); r.touched[unit] || r.edits.file.sealed[unit] && !nests {
			return // the next round handles it
		}
	}
	id := r.ids.mint(x.CallID)
	for _, b := range halves {
		r.renameID(b, x.CallID, id)
		unit, _ := r.thread.locate(r.edits.file, r.transcript.Block(b).Message, b)
		r.edits.addChange(Change{Thread: r.thread.Name, Line: r.edits.file.units[unit].line, Change: wire.Change{Action: wire.ActionRename, Rule: f.Rule, IDs: []string{x.CallID}, Bytes: len(id) - len(x.CallID)}}, "id %q becomes %q: another call has it", x.CallID, id)
	}
	for _, b := range halves {
		unit, _ := r.thread.locate(r.edits.file, r.transcript.Block(b).Message, b)
		r.touched[unit] = true
	}
}

// callIDs are the call ids of a thread.
type callIDs struct {
	first map[string]transcript.BlockID // by id: the first call, or NoBlock if the id has none
	next  map[string]int                // by id: the number of ids derived from it
}

func newCallIDs(tr *transcript.Transcript) *callIDs {
	c := &callIDs{make(map[string]transcript.BlockID), make(map[string]int)}
	for _, x := range tr.Exchanges() {
		if _, known := c.first[x.CallID]; !known {
			c.first[x.CallID] = x.Call
		}
	}
	return c
}

// mint derives an unused id from old.
func (c *callIDs) mint(old string) string {
	for {
		sum := sha256.Sum256(fmt.Appendf(nil, "pare\x00%s\x00%d", old, c.next[old]))
		c.next[old]++
		id := fmt.Sprintf("%s_%x", old, sum[:4])
		if _, taken := c.first[id]; !taken {
			c.first[id] = transcript.NoBlock
			return id
		}
	}
}

// sameCall reports whether two calls have the same tool and arguments.
func sameCall(tr *transcript.Transcript, a, b transcript.BlockID) bool {
	one, two := tr.Block(a), tr.Block(b)
	return one.Tool == two.Tool && bytes.Equal(tr.Bytes(one.Body), tr.Bytes(two.Body))
}

// renameID replaces the id of a call or result everywhere in its element.
func (r *flatRepairer) renameID(b transcript.BlockID, old, id string) {
	unit, _ := r.thread.locate(r.edits.file, r.transcript.Block(b).Message, b)
	at := r.elementSpan(b)
	var all []jsonspan.Edit
	eachString(r.edits.file.raw, at, func(_, s jsonspan.Span, key bool) {
		if !key && decodeString(r.edits.file.raw, s) == old {
			all = append(all, jsonspan.Edit{Span: s, New: quote(id)[1 : len(quote(id))-1]})
		}
	})
	if !r.edits.file.sealed[unit] {
		for _, x := range all {
			r.edits.replaceSpan(unit, x.Start, x.Len(), x.New)
		}
		return
	}
	for i := range all {
		all[i].Start, all[i].End = all[i].Start-at.Start, all[i].End-at.Start
	}
	if now, err := jsonspan.Splice(r.edits.file.raw[at.Start:at.End], all); err == nil {
		r.unitWriter.(nestedWriter).setNestedItem(r.edits, r.thread, b, now)
	}
}
