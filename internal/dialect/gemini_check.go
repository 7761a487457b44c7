package dialect

import "github.com/pare-llm/pare/transcript"

// check raises the faults that show in the finished transcript.
func (gemini) check(c *checker) {
	turns := c.turnsOf()
	c.pairs()
	c.geminiTurns(turns)
	c.responseNames()
	c.signatures(turns)
	c.geminiServer()
	c.geminiEnds(turns)
}

// responseNames reports responses that have the id of a call and another name.
func (c *checker) responseNames() {
	if !c.wants(nameOther) {
		return
	}
	all := c.t.Exchanges()
	for i := range all {
		x := &all[i]
		if x.Server || x.Call == transcript.NoBlock || x.CallID == "" {
			continue
		}
		for _, r := range x.Results {
			if name := c.t.Block(r).Tool; name != "" && name != x.Tool {
				c.block(nameOther, r, name)
			}
		}
	}
}

func (c *checker) geminiTurns(turns []turnSpan) {
	for _, t := range turns {
		if t.role == transcript.User && t.facts&hasResults != 0 {
			c.splitTurn(t)
		}
		for m := t.first; m < t.end; m++ {
			if c.extra[m]&emptyList != 0 {
				c.message(emptyMessage, m, "")
			}
			if c.extra[m]&hasResults != 0 && t.role == transcript.User {
				c.mixedParts(c.t.Messages()[m], m+1 < t.end && c.extra[m+1]&hasResults != 0)
			}
			if m > t.first && t.role != transcript.Unknown && c.extra[m-1]&hasResults == 0 && c.extra[m]&(hasResults|hasCalls) == 0 {
				c.message(roleRepeats, m, "")
			}
		}
	}
}

// splitTurn reports the responses of one step that do not stand in one turn.
func (c *checker) splitTurn(t turnSpan) {
	answered, spoken := false, false
	for m := t.first; m < t.end; m++ {
		msg := c.t.Messages()[m]
		for b := msg.First; b < msg.End; b++ {
			if c.t.Block(b).Kind != transcript.Result || !answersInPlace(c.t.Exchanges()[c.t.ExchangeOf(b)]) {
				continue
			}
			if spoken {
				c.block(resultAfterMessage, b, "")
			} else if answered {
				c.block(splitResults, b, "")
				break
			}
		}
		answered = answered || c.extra[m]&hasResults != 0
		spoken = spoken || c.extra[m]&hasResults == 0
	}
}

// answersInPlace reports whether the results of x stand where the provider looks for them,
// also of calls that share their id.
func answersInPlace(x transcript.Exchange) bool {
	return x.State == transcript.Whole || x.Repeats && !x.Late
}

// mixedParts reports parts that share a content with responses; more says that responses follow in the next
// content of the turn.
func (c *checker) mixedParts(m transcript.Message, more bool) {
	last := m.First
	for b := m.First; b < m.End; b++ {
		if c.t.Block(b).Kind == transcript.Result {
			last = b
		}
	}
	if more {
		last = m.End
	}
	for b := m.First; b < m.End; b++ {
		switch {
		case c.t.Block(b).Kind == transcript.Result:
		case b < last:
			c.block(mixedResultTurn, b, "")
		default:
			c.block(mixedResultTail, b, "")
		}
	}
}

// signedBlocks are the blocks that carry a signature; the parser notes them.
func (c *checker) signedBlocks() map[transcript.BlockID]bool {
	signed := make(map[transcript.BlockID]bool)
	for _, n := range c.notes {
		if n.fault == thoughtSignatureMissing {
			signed[transcript.BlockID(n.block)] = true
		}
	}
	return signed
}

// signatures checks the steps since the user spoke last: the first call of each
// must be signed.
func (c *checker) signatures(turns []turnSpan) {
	if !c.wants(thoughtSignatureMissing) {
		return
	}
	signed := c.signedBlocks()
	from := 0
	for i, t := range turns {
		if t.role == transcript.User && t.facts&hasResults == 0 {
			from = i
		}
	}
	for _, t := range turns[from:] {
		if t.role != transcript.Assistant {
			continue
		}
		first, end := c.blocks(t)
		for b := first; b < end; b++ {
			if c.t.Block(b).Kind == transcript.Call {
				if !signed[b] {
					c.block(thoughtSignatureMissing, b, "")
				}
				break
			}
		}
	}
}

func (c *checker) geminiServer() {
	all, last := c.t.Exchanges(), c.t.Turns()-1
	for i := range all {
		switch x := &all[i]; {
		case !x.Server:
		case x.Call == transcript.NoBlock:
			c.block(serverResultUnpaired, x.Results[0], "")
		case len(x.Results) == 0 && c.t.Messages()[c.t.Block(x.Call).Message].Turn != last:
			c.block(serverCallUnpaired, x.Call, "")
		}
	}
}

func (c *checker) geminiEnds(turns []turnSpan) {
	if len(turns) == 0 {
		return
	}
	if t := turns[0]; t.role == transcript.Assistant {
		if t.facts&hasCalls != 0 {
			c.message(firstCall, 0, "")
		} else {
			c.message(firstRole, 0, "")
		}
	}
	if t := turns[len(turns)-1]; t.role == transcript.Assistant && t.facts&hasCalls == 0 {
		c.message(lastRole, t.end-1, "")
	}
}
