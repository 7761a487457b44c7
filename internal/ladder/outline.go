package ladder

import (
	"slices"

	"github.com/pare-llm/pare/internal/needs"
	"github.com/pare-llm/pare/transcript"
)

// An outline is where in a history something stands that the ladder looks for again and again.
type outline struct {
	messages  int    // that were looked at
	marked    []mark // in order
	exchanges int    // that were looked at
	long      []int  // those with a block that may be shortened, in order
	facts     []fact // by block
	runs      []run  // of messages, in order
	runOf     []int  // by message
	needs     *needs.Graph
	guides    []bool // by exchange; nil: none
}

// A fact is what is asked of a block again and again, in little room.
type fact struct {
	message int32
	kind    transcript.Kind
	clears  bool // a placeholder may take its place, unless the state or the scene forbids it
}

// A run is what one speaker says in a row, whether the provider takes such messages for one turn
// or not.
type run struct {
	calls int                // in it
	last  transcript.BlockID // of them
}

// forget begins anew, in the same memory.
func (o *outline) forget() {
	*o = outline{marked: o.marked[:0], long: o.long[:0], facts: o.facts[:0], runs: o.runs[:0], runOf: o.runOf[:0]}
}

// survey looks at all messages.
func (l *Ladder) survey() {
	o, ms, blocks := &l.scratch.outline, l.t.Messages(), l.t.Blocks()
	o.needs = needs.New(l.t, nil)
	if l.Window.Guides != nil {
		o.guides = l.Window.Guides(l.Request)
	}
	o.facts, o.runOf = slices.Grow(o.facts, len(blocks)), slices.Grow(o.runOf, len(ms))
	for i := range ms {
		if i == 0 || ms[i].Role != ms[i-1].Role {
			o.runs = append(o.runs, run{})
		}
		o.runOf = append(o.runOf, len(o.runs)-1)
		r := &o.runs[len(o.runs)-1]
		for b := ms[i].First; b < ms[i].End; b++ {
			blk := &blocks[b]
			if isCall(blk.Kind) {
				r.calls, r.last = r.calls+1, b
			}
			clears := blk.Kind == transcript.Result && blk.Body != blk.Span && blk.Body.Len() >= minCleared && wirex.Editable(l.Request, b)
			o.facts = append(o.facts, fact{int32(i), blk.Kind, clears})
		}
	}
}

func isCall(k transcript.Kind) bool { return k == transcript.Call || k == transcript.ServerCall }

// A mark is a message that may be pinned wherever it stands: the system speaks there, or a
// person, or a summary stands for what is gone already.
type mark struct {
	message int
	tells   bool
}

// marked lists the marks of the first messages.
func (l *Ladder) marked(end int) []mark {
	o := &l.scratch.outline
	for all := l.t.Messages(); o.messages < len(all); o.messages++ {
		m := &all[o.messages]
		told := m.Role == transcript.User && l.tells(m)
		if told || m.Role == transcript.System || l.speaks(o.messages) {
			o.marked = append(o.marked, mark{o.messages, told})
		}
	}
	n := len(o.marked)
	for n > 0 && o.marked[n-1].message >= end {
		n--
	}
	return o.marked[:n]
}

// long lists which of the first exchanges have a block that is longer than the gentler levels
// leave.
func (l *Ladder) long(exchanges int) []int {
	o := &l.scratch.outline
	least := atMost4K.size()
	for all := l.t.Exchanges(); o.exchanges < len(all); o.exchanges++ {
		x := &all[o.exchanges]
		found := x.Call != transcript.NoBlock && l.t.Blocks()[x.Call].Body.Len() > least
		for _, b := range x.Results {
			found = found || l.t.Blocks()[b].Body.Len() > least
		}
		if found {
			o.long = append(o.long, o.exchanges)
		}
	}
	n := len(o.long)
	for n > 0 && o.long[n-1] >= exchanges {
		n--
	}
	return o.long[:n]
}
