package dialect

import (
	"slices"

	"github.com/pare-llm/pare/transcript"
)

// The provider runs programs itself, and what a program calls the client answers: until
// the program has ended it stands there without an output, and whatever it called belongs
// to it.

// callees visits the calls and outputs whose caller is a program, with the program: the
// latest one of that id in front of them.
func callees(blocks []transcript.Block, notes []note, visit func(callee, program transcript.BlockID)) {
	programs := make(map[string]transcript.BlockID)
	at := 0
	for _, n := range notes {
		if n.fault != calledBy {
			continue
		}
		for ; at < int(n.block); at++ {
			if b := &blocks[at]; b.Kind == transcript.Call && b.Family == programFamily {
				programs[b.CallID] = transcript.BlockID(at)
			}
		}
		if p, ok := programs[n.arg]; ok {
			visit(transcript.BlockID(n.block), p)
		}
	}
}

// tieItems ties items that belong together and may stand apart: a program and what it
// called, a search that the provider ran and what it found.
func (p *parser) tieItems() {
	tie := func(from, to transcript.BlockID) {
		p.ties = append(p.ties, transcript.Tie{From: from, To: to, Mutual: true})
	}
	callees(p.blocks, p.notes, tie)
	searches := make(map[string][]transcript.BlockID) // without an output, by call id; mostly it is null
	for _, n := range p.notes {
		switch b := transcript.BlockID(n.block); {
		case n.fault != searched:
		case n.arg == searchCall:
			id := p.blocks[b].CallID
			searches[id] = append(searches[id], b)
		case len(searches[p.blocks[b].CallID]) > 0:
			id := p.blocks[b].CallID
			tie(b, searches[id][0])
			searches[id] = searches[id][1:]
		}
	}
}

// far reports whether a note is about something that may be tied to an item far from it.
func (n note) far() bool { return n.fault == calledBy || n.fault == searched }

// searchCall is the note on a search, as opposed to its output.
const searchCall = "call"

// running reports whether a program may still run: it has called something, and nobody has
// said anything since.
func (c *checker) running(program transcript.BlockID) bool {
	if c.called == nil {
		c.called = make(map[transcript.BlockID]bool)
		callees(c.t.Blocks(), c.notes, func(_, program transcript.BlockID) { c.called[program] = true })
		c.spoken = -1
		for i, m := range slices.Backward(c.t.Messages()) {
			if m.Role == transcript.User || m.Role == transcript.System || m.First < m.End && c.t.Block(m.First).Kind == transcript.Text {
				c.spoken = i
				break
			}
		}
	}
	return c.called[program] && c.t.Block(program).Message > c.spoken
}
