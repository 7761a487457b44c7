package ladder

import (
	"slices"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A roster is what a state takes away, and what the rest costs as it was sent. The next request
// goes on with the chain that has it, so that only what was stirred since is looked at.
type roster struct {
	stirred []transcript.BlockID // blocks of which the level may have changed since they were weighed
	docket  wire.Docket
	told    []level              // by block: the level that the docket tells of
	other   []transcript.BlockID // those of which it is not the level
	weights []int                // by block: what it costs
	weight  int                  // of all of them

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
			c.roster.weights, c.roster.told, c.roster.stirred = append(c.roster.weights, 0), append(c.roster.told, asIs), append(c.roster.stirred, b)
		}
	}
}

// todo is Todo: it changes what the docket says of blocks that were stirred.
func (r *roster) todo(l *Ladder) *wire.Docket {
	r.other = r.other[:0]
	for _, b := range r.stirred {
		if v := l.chain.level[b]; v != r.told[b] {
			r.other, r.told[b] = append(r.other, b), v
		}
	}
	slices.Sort(r.other)
	r.docket.Change(r.other, func(b transcript.BlockID) (text string, edited, gone bool) {
		v := l.chain.level[b]
		if edited, gone = v != asIs && v != isGone, v == isGone; edited {
			text = l.words.text(b, v)
		}
		return text, edited, gone
	})
	if proveTrail != nil {
		r.prove(l)
	}
	return &r.docket
}

// weigh is what the blocks cost that are left, as they were sent. The docket is that of todo.
func (r *roster) weigh(l *Ladder, sent *wire.Request) int {
	for _, b := range r.stirred {
		n := 0
		switch v := l.chain.level[b]; v {
		case isGone:
		case asIs:
			n = l.meter.of(b, asIs)
		default:
			n = l.meter.asWritten(b, v, sent, func() transcript.BlockID {
				gone, _ := slices.BinarySearch(r.docket.Drop, b)
				return b - transcript.BlockID(gone)
			})
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
