package dialect

import "github.com/pare-llm/pare/transcript"

// check raises the faults that show in the finished transcript.
func (bedrock) check(c *checker) {
	turns := c.turnsOf()
	c.pairs()
	c.bedrockTurns(turns)
	c.bedrockMarks()
	c.systemRoles(turns)
	for _, n := range c.notes {
		if n.fault == toolChangeUnknown && c.head.toolsGiven && !c.head.tools[n.arg] {
			c.block(toolChangeUnknown, transcript.BlockID(n.block), n.arg)
		}
	}
	c.thinkingRules(turns)
	c.anthropicEnd(turns)
	if len(turns) > 0 && turns[0].role == transcript.Assistant {
		c.message(firstRole, 0, "")
	}
	if c.head.toolsGiven || c.bare {
		return
	}
	for b, blk := range c.t.Blocks() {
		if blk.Kind == transcript.Call || blk.Kind == transcript.Result {
			c.block(toolsUndefined, transcript.BlockID(b), "")
			return
		}
	}
}

func (c *checker) bedrockTurns(turns []turnSpan) {
	media := make(map[transcript.BlockID]bool)
	for _, n := range c.notes {
		if n.fault == mixedMedia {
			media[transcript.BlockID(n.block)] = true
		}
	}
	for _, t := range turns {
		first, end := c.blocks(t)
		// What may not share a turn with results is parted by a filler, not joined.
		apart := false
		if t.role == transcript.User && t.facts&hasResults != 0 {
			c.resultsFirst(first, end)
			if b := c.firstOther(t); b != transcript.NoBlock {
				c.block(mixedResultTurn, b, "")
				apart = c.wants(mixedResultTurn)
			}
			for b := first; b < end && len(media) > 0; b++ {
				if media[b] {
					c.block(mixedMedia, b, "")
				}
			}
		}
		for m := t.first; m < t.end; m++ {
			if c.extra[m]&emptyList != 0 {
				c.message(emptyMessage, m, "")
			}
			if m > t.first && !apart {
				c.message(roleRepeats, m, "")
			}
		}
	}
}

// bedrockMarks counts cache points and checks what they stand behind.
func (c *checker) bedrockMarks() {
	marks := c.head.cacheMarks
	media := make(map[int32]bool)
	for _, n := range c.notes {
		switch n.fault {
		case mixedMedia:
			media[n.block] = true
		case tooManyCacheMarks:
			marks++
			c.cachePoint(transcript.BlockID(n.block), media[n.block-1])
		}
	}
	if marks > 4 {
		c.headFault(tooManyCacheMarks, "messages", itoa(marks))
	}
}

// cachePoint checks what a cache point stands behind, in its own message.
func (c *checker) cachePoint(b transcript.BlockID, behindMedia bool) {
	m := c.t.Messages()[c.t.Block(b).Message]
	switch {
	case b > m.First && behindMedia:
		c.block(cacheMarkAfterMedia, b, "")
	case b > m.First && c.t.Block(b-1).Kind == transcript.Thinking:
		c.block(cacheMarkAtThought, b, "")
	case m.End-m.First == 1:
		c.block(cacheMarkAlone, b, "")
	}
}
