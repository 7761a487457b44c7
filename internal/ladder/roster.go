package ladder

import (
	"slices"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A roster is what a state takes away, and what the rest costs as it was sent. The next request
// goes on with the chain that has it, so that only what was stirred since is looked at.
type roster struct {
	stirred []transcript.BlockID    // blocks of which the level may not be that of the lists
	drop    [2][]transcript.BlockID // what goes, and what went before
	edits   [2][]wire.BlockEdit
	weights []int // by block: what it costs
	weight  int   // of all of them

	// For a stable window:
	waiting []transcript.BlockID // results of exchanges that are not recent that may still be cleared
	old     int                  // those exchanges
	judged  int                  // exchanges
	lame    bool                 // there is a block that costs more when it is shortened
}

// await takes in further exchanges of a history that has so many messages.
func (r *roster) await(l *Ladder, end int) {
	all := exchangesOf(l.t, end)
	for ; r.judged < len(all); r.judged++ {
		x := &all[r.judged]
		for _, b := range append([]transcript.BlockID{x.Call}, x.Results...) {
			if b != transcript.NoBlock {
				r.lame = r.lame || !l.shortens(b)
			}
		}
	}
	for all = old(all, l.Window.Recent); r.old < len(all); r.old++ {
		for _, b := range all[r.old].Results {
			if l.chain.facts[b].clears {
				r.waiting = append(r.waiting, b)
			}
		}
	}
}

// shortens reports whether a block costs no more the shorter the rungs make it that drop nothing.
func (l *Ladder) shortens(b transcript.BlockID) bool {
	if !l.longer(b, atMost4K) || !l.malleable(b) {
		return true
	}
	cost := l.meter.of(b, asIs)
	for _, to := range [...]level{atMost16K, atMost4K} {
		if l.longer(b, to) {
			was := cost
			if cost = l.meter.of(b, to); cost > was {
				return false
			}
		}
	}
	return true
}

// keptChain returns a chain with a roster, of no messages.
func keptChain() *chain { return &chain{roster: new(roster)} }

// extend adds the messages of a history that goes on, as they came.
func (c *chain) extend(t *transcript.Transcript, facts []fact) {
	c.t, c.facts = t, facts
	for _, m := range t.Messages()[len(c.left):] {
		c.left = append(c.left, 0)
		for b := m.First; b < m.End; b++ {
			if facts[b].kind != transcript.Thinking {
				c.left[len(c.left)-1]++
			}
			c.level, c.by = append(c.level, asIs), append(c.by, 0)
			c.roster.weights, c.roster.stirred = append(c.roster.weights, 0), append(c.roster.stirred, b)
		}
	}
}

// todo is Todo: it changes what the lists say of blocks that were stirred.
func (r *roster) todo(l *Ladder) ([]transcript.BlockID, []wire.BlockEdit) {
	slices.Sort(r.stirred)
	r.stirred = slices.Compact(r.stirred)
	drop, was := r.drop[1][:0], r.drop[0]
	edits, said := r.edits[1][:0], r.edits[0]
	for _, b := range r.stirred {
		i, on := slices.BinarySearch(was, b)
		drop, was = append(drop, was[:i]...), was[i+one(on):]
		i, on = slices.BinarySearchFunc(said, b, func(e wire.BlockEdit, b transcript.BlockID) int { return int(e.Block) - int(b) })
		edits, said = append(edits, said[:i]...), said[i+one(on):]
		switch v := l.chain.level[b]; v {
		case asIs:
		case isGone:
			drop = append(drop, b)
		default:
			edits = append(edits, wire.BlockEdit{Block: b, Text: l.words.text(b, v)})
		}
	}
	drop, edits = append(drop, was...), append(edits, said...)
	r.drop, r.edits = [2][]transcript.BlockID{drop, r.drop[0]}, [2][]wire.BlockEdit{edits, r.edits[0]}
	if proveTrail != nil {
		r.prove(l)
	}
	return drop, edits
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// weigh is what the blocks cost that are left, as they were sent. The lists are those of todo.
func (r *roster) weigh(l *Ladder, sent *wire.Request) int {
	for _, b := range r.stirred {
		n := 0
		switch v := l.chain.level[b]; v {
		case isGone:
		case asIs:
			n = l.meter.of(b, asIs)
		default:
			gone, _ := slices.BinarySearch(r.drop[0], b)
			n = l.meter.asWritten(b, v, sent, b-transcript.BlockID(gone))
		}
		r.weight += n - r.weights[b]
		r.weights[b] = n
	}
	r.stirred = r.stirred[:0]
	if proveTrail != nil && l.left(sent) != r.weight {
		panic("what is left weighs something else")
	}
	return r.weight
}
