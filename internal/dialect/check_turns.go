package dialect

import (
	"strings"
	"unicode"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// A turnSpan is one turn: its messages first up to end.
type turnSpan struct {
	first, end int
	role       transcript.Role
	facts      facts
}

// turnsOf lists the turns.
func (c *checker) turnsOf() []turnSpan {
	ms, turns := c.t.Messages(), make([]turnSpan, 0, c.t.Turns())
	for i := 0; i < len(ms); {
		t := turnSpan{first: i, end: i + 1, role: ms[i].Role, facts: c.extra[i]}
		for ; t.end < len(ms) && ms[t.end].Turn == ms[i].Turn; t.end++ {
			t.facts |= c.extra[t.end]
		}
		turns, i = append(turns, t), t.end
	}
	return turns
}

// blocks returns the blocks of a turn as a range.
func (c *checker) blocks(t turnSpan) (first, end transcript.BlockID) {
	ms := c.t.Messages()
	return ms[t.first].First, ms[t.end-1].End
}

// firstOther returns the first block of a turn that is no result, or NoBlock.
func (c *checker) firstOther(t turnSpan) transcript.BlockID {
	first, end := c.blocks(t)
	for b := first; b < end; b++ {
		if c.t.Blocks()[b].Kind != transcript.Result {
			return b
		}
	}
	return transcript.NoBlock
}

// resultsFirst reports results that have something else in front of them.
func (c *checker) resultsFirst(first, end transcript.BlockID) {
	other := -1 // message of the last block that is no result
	for b := first; b < end; b++ {
		blk := &c.t.Blocks()[b]
		if blk.Kind != transcript.Result {
			other = blk.Message
			continue
		}
		if other < 0 || c.t.Exchanges()[c.t.ExchangeOf(b)].State != transcript.Whole {
			continue
		}
		if other == blk.Message {
			c.block(resultAfterText, b, "")
		} else {
			c.block(resultAfterMessage, b, "")
		}
	}
}

// thinkingRules checks thinking blocks against the mode of the request.
func (c *checker) thinkingRules(turns []turnSpan) {
	if len(turns) == 0 {
		return
	}
	ms := c.t.Messages()
	if c.head.thinking == "enabled" {
		for i := range ms {
			if ms[i].Role == transcript.Assistant {
				c.thinkingFirst(ms[i].First, ms[i].End)
			}
		}
		c.openLoop(turns)
	}
	last := len(ms) - 1
	if !c.bare && ms[last].Role == transcript.Assistant && (c.head.thinking == "" || c.head.thinking == "disabled") {
		for b := ms[last].First; b < ms[last].End; b++ {
			if c.t.Block(b).Kind == transcript.Thinking {
				c.block(thinkingNotEnabled, b, "")
				turns = turns[:len(turns)-1] // without it, the turn ends otherwise
				break
			}
		}
	}
	c.thinkingEnds(turns)
}

// thinkingFirst reports a run of blocks that holds thinking but starts otherwise.
func (c *checker) thinkingFirst(first, end transcript.BlockID) {
	first = c.behindCompaction(first, end)
	for b := first + 1; b < end; b++ {
		if c.t.Block(b).Kind == transcript.Thinking && c.t.Block(first).Kind != transcript.Thinking {
			c.block(thinkingNotFirst, first, wireType(c.t.Block(first).Kind))
			return
		}
	}
}

// thinkingEnds reports thinking that is the last of a turn which somebody answered: the reply
// broke off there. The last turn is looked at if somebody must answer it. A turn that called
// something was refused for other reasons only.
func (c *checker) thinkingEnds(turns []turnSpan) {
	if !c.wants(thinkingLast) {
		return
	}
	thinks := c.head.thinking == "enabled" || c.head.thinking == "adaptive"
	for _, t := range turns {
		if t.role != transcript.Assistant || t.facts&hasCalls != 0 {
			continue
		}
		if t.end == len(c.t.Messages()) && !c.wants(lastRole) && !(thinks && c.wants(lastRoleThinking)) {
			break
		}
		if first, end := c.blocks(t); first < end && c.t.Blocks()[end-1].Kind == transcript.Thinking {
			c.block(thinkingLast, end-1, "")
		}
	}
}

// behindCompaction passes over the compactions that a reply may begin with.
func (c *checker) behindCompaction(first, end transcript.BlockID) transcript.BlockID {
	for first+1 < end && c.t.Block(first).Kind == transcript.Compaction {
		first++
	}
	return first
}

// openLoop checks the tool loop that the request continues: without interleaving,
// thinking stands in its first step only, with it in the last one too.
func (c *checker) openLoop(turns []turnSpan) {
	n := len(turns)
	starts := func(t turnSpan) (transcript.BlockID, bool) {
		first, end := c.blocks(t)
		first = c.behindCompaction(first, end)
		return first, first < end && c.t.Block(first).Kind == transcript.Thinking
	}
	for i := n - 1; i >= 0; i-- {
		if turns[i].role == transcript.Assistant {
			c.thinkingFirst(c.blocks(turns[i]))
			break
		}
	}
	if turns[n-1].role != transcript.User || turns[n-1].facts&hasResults == 0 {
		return
	}
	firstStep, lastStep := -1, -1
	for i := n - 1; i >= 0; i-- {
		if turns[i].role == transcript.Assistant {
			if firstStep = i; lastStep < 0 {
				lastStep = i
			}
		} else if turns[i].role == transcript.User && turns[i].facts&hasResults == 0 {
			break
		}
	}
	if lastStep < 0 || turns[lastStep].facts&hasCalls == 0 {
		return
	}
	b, ok := starts(turns[lastStep])
	if _, first := starts(turns[firstStep]); ok || first || c.thinks(turns[lastStep]) {
		return // thinking that is there but not first is another fault
	}
	c.block(thinkingRequired, b, wireType(c.t.Block(b).Kind))
}

// wireType returns what Anthropic calls a kind of block.
func wireType(k transcript.Kind) string {
	switch k {
	case transcript.Call:
		return "tool_use"
	case transcript.Result:
		return "tool_result"
	case transcript.ServerCall:
		return "server_tool_use"
	}
	return k.String()
}

// thinks reports whether a turn holds thinking.
func (c *checker) thinks(t turnSpan) bool {
	first, end := c.blocks(t)
	for b := first; b < end; b++ {
		if c.t.Block(b).Kind == transcript.Thinking {
			return true
		}
	}
	return false
}

// anthropicEnd checks with which turn the request ends.
func (c *checker) anthropicEnd(turns []turnSpan) {
	if len(turns) == 0 || turns[len(turns)-1].role != transcript.Assistant {
		return
	}
	last := len(c.t.Messages()) - 1
	m := c.t.Messages()[last]
	for _, x := range c.t.Exchanges() {
		if x.Call != transcript.NoBlock && len(x.Results) == 0 && c.t.Block(x.Call).Message >= turns[len(turns)-1].first {
			return // an open call, reported as such, or a paused turn
		}
	}
	if c.head.thinking == "enabled" || c.head.thinking == "adaptive" {
		c.message(lastRoleThinking, last, "")
	}
	c.message(lastRole, last, "")
	if m.First < m.End && c.endsInSpace(m.End-1) {
		c.block(trailingSpace, m.End-1, "")
	}
}

// endsInSpace reports whether block b is a text that ends in white space but is
// not white space only, which is another fault.
func (c *checker) endsInSpace(b transcript.BlockID) bool {
	blk := c.t.Block(b)
	if blk.Kind != transcript.Text || blk.Body == blk.Span {
		return false
	}
	tail := c.t.Bytes(blk.Body)
	text := string(jsonspan.Decode(nil, tail[max(0, len(tail)-64):]))
	trimmed := strings.TrimRightFunc(text, unicode.IsSpace)
	return trimmed != text && (trimmed != "" || len(tail) > 64)
}
