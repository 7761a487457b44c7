package dialect

import "github.com/pare-llm/pare/transcript"

// check raises the faults that show in the finished transcript.
func (interactions) check(c *checker) {
	if c.turnsGiven() {
		return // refused before anybody looks at what they hold
	}
	c.pairs()
	c.geminiServer()
	for i := range c.extra {
		if c.extra[i]&emptyList != 0 {
			c.message(emptyMessage, i, "")
		}
	}
	turns := c.turnsOf()
	c.signedThoughts(turns)
	if len(turns) == 0 {
		return
	}
	if t := turns[0]; t.role == transcript.Assistant && t.facts&hasCalls != 0 {
		c.message(firstCall, 0, "")
	}
	if t := turns[len(turns)-1]; t.role == transcript.Assistant && t.facts&hasCalls == 0 {
		c.message(lastRole, t.end-1, "")
	}
}

// turnsGiven reports whether the list holds turns; the notes on them are reported.
func (c *checker) turnsGiven() bool {
	for _, n := range c.notes {
		if n.fault == turnList {
			return true
		}
	}
	return false
}

// signedThoughts checks the steps since the user spoke last: in front of the calls of each
// run of the model's stands a signed thought, and if a thought opens the run it is signed.
func (c *checker) signedThoughts(turns []turnSpan) {
	if !c.wants(thoughtSignatureMissing) {
		return
	}
	signed := c.signedBlocks()
	from := 0
	for i, t := range turns {
		if t.role == transcript.User {
			from = i
		}
	}
	for _, t := range turns[from:] {
		if t.role == transcript.Assistant && t.facts&hasCalls != 0 {
			c.signedRun(t, signed)
		}
	}
}

func (c *checker) signedRun(t turnSpan, signed map[transcript.BlockID]bool) {
	first, end := c.blocks(t)
	if c.t.Block(first).Kind == transcript.Thinking && !signed[first] {
		c.block(thoughtSignatureMissing, first, "")
		return
	}
	for b := first; b < end && !signed[b]; b++ {
		if c.t.Block(b).Kind == transcript.Call {
			c.block(thoughtSignatureMissing, b, "")
			return
		}
	}
}
