package dialect

import (
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// check raises the faults that show in the finished transcript.
func (chat) check(c *checker) {
	c.pairs()
	c.functionsAmong()
	c.blankIDs()
	c.halfIDs()
	c.chatRoles()
	c.chatReasoning()
	c.argumentsJSON()
	c.listContents()
	if n := len(c.t.Messages()); n > 2048 {
		c.headFault(tooManyMessages, "messages", itoa(n))
	}
}

// functionsAmong reports the results of functions that stand in front of those of tools, for a
// message that called both: only messages of tools may follow tool_calls until all are answered.
func (c *checker) functionsAmong() {
	if !slices.ContainsFunc(c.notes, func(n note) bool { return n.fault == legacyFunction }) {
		return // no function is called, so no result answers one
	}
	var among []transcript.BlockID // results of functions in this run
	for _, m := range c.t.Messages() {
		switch {
		case m.Role != transcript.Tool || m.First == m.End:
			among = among[:0]
		case c.t.Block(m.First).Family == legacyFamily:
			among = append(among, m.First)
		default:
			for _, b := range among {
				if x := c.t.Exchanges()[c.t.ExchangeOf(b)]; x.State == transcript.Whole {
					c.block(displacedResult, b, "")
				}
			}
			among = among[:0]
		}
	}
}

// blankIDs reports calls whose id is empty and whose answer was found by its place, which
// does not name them, and answers that have an empty id where their call has one. Where both
// are empty, one names the other, but only once in a message.
func (c *checker) blankIDs() {
	unnamed := -1 // the last message with a call whose id and answer's are empty
	all := c.t.Exchanges()
	for i := range all {
		x := &all[i]
		if !x.Guessed || x.Call == transcript.NoBlock || c.t.Block(x.Call).Family == legacyFamily {
			continue
		}
		blank := func(b transcript.BlockID, name string) bool {
			m, given := jsonspan.Find(c.raw, jsonspan.Span(c.t.Block(b).Span), name)
			return given && m.Value.Len() == len(`""`)
		}
		for _, r := range x.Results {
			if x.CallID != "" && blank(r, "tool_call_id") {
				c.block(resultIDBlank, r, "")
			}
		}
		switch at := c.t.Block(x.Call).Message; {
		case !blank(x.Call, "id"): // without any it is reported as missing
		case !blank(x.Results[0], "tool_call_id"):
			c.block(callIDBlank, x.Call, c.t.Block(x.Results[0]).CallID)
		case unnamed == at:
			c.block(callIDBlankAgain, x.Call, "")
		default:
			unnamed = at
		}
	}
}

// halfIDs reports pairs of which one half has an id and the other none.
func (c *checker) halfIDs() {
	if !c.wants(callIDHalf) && !c.wants(resultIDHalf) {
		return
	}
	all := c.t.Exchanges()
	for i := range all {
		x := &all[i]
		if !x.Guessed || x.Call == transcript.NoBlock || c.t.Block(x.Call).Family == legacyFamily {
			continue
		}
		for _, r := range x.Results {
			switch named := c.t.Block(r).CallID != ""; {
			case named && x.CallID == "":
				c.block(callIDHalf, x.Call, "")
			case !named && x.CallID != "":
				c.block(resultIDHalf, r, "")
			}
		}
	}
}

// chatRoles checks the order of roles.
func (c *checker) chatRoles() {
	ms, said := c.t.Messages(), transcript.Unknown
	for i := range ms {
		m := &ms[i]
		if i > 0 {
			c.chatNeighbours(i, ms[i-1].Role, m.Role)
		}
		switch m.Role {
		case transcript.System:
			c.message(systemUnsupported, i, "")
			if i > 0 {
				c.message(systemLater, i, "")
			}
		case transcript.Tool:
			said = transcript.Unknown
		case transcript.User, transcript.Assistant:
			if m.Role == said {
				c.message(roleRepeats, i, m.Role.String())
			}
			said = m.Role
		}
		if i < len(ms)-1 && c.extra[i]&wantsPrefix != 0 {
			c.message(prefixNotLast, i, "")
		}
	}
	if n := len(ms); n > 0 {
		if last := ms[n-1].Role; last == transcript.System || last == transcript.Assistant && c.extra[n-1]&wantsPrefix == 0 {
			c.message(lastRole, n-1, last.String())
		}
		if n == 1 && ms[0].Role != transcript.User && ms[0].Role != transcript.System {
			c.message(loneMessage, 0, "")
		}
		if !slices.ContainsFunc(ms, func(m transcript.Message) bool { return m.Role == transcript.User }) {
			c.headFault(nobodySpeaks, "messages", "")
		}
	}
}

// listContents reports what others than the user say in a list of parts, for vendors that
// want a string.
func (c *checker) listContents() {
	if !c.wants(listContent) {
		return
	}
	ms := c.t.Messages()
	for i := range ms {
		if at := c.frame[i].content; ms[i].Role != transcript.User && at.Len() > 0 && c.raw[at.Start] == '[' {
			c.message(listContent, i, ms[i].Role.String())
		}
	}
}

// chatNeighbours judges message i by the roles of itself and of the one before.
func (c *checker) chatNeighbours(i int, before, role transcript.Role) {
	switch {
	case role == transcript.System && (before == transcript.Assistant || before == transcript.Tool):
		c.message(roleOrder, i, role.String()+"' after role '"+before.String())
	case role == transcript.User && before == transcript.Tool:
		c.message(userAfterTool, i, "")
	}
}

// chatReasoning finds assistant turns that called tools and lost their reasoning.
func (c *checker) chatReasoning() {
	if !c.wants(reasoningRequired) && !c.wants(reasoningRequiredByName) && !c.wants(reasoningRequiredNow) {
		for _, n := range c.notes {
			if n.fault == reasoningField { // a vendor that wants it back cannot refuse it
				c.reportNote(n)
			}
		}
		return
	}
	ms := c.t.Messages()
	asked := -1 // the last message of the user
	for i := range ms {
		if ms[i].Role == transcript.User {
			asked = i
		}
	}
	for i := range ms {
		if ms[i].Role != transcript.Assistant || c.extra[i]&hasCalls == 0 || c.extra[i]&hasReasoning != 0 {
			continue
		}
		switch {
		case c.head.thinking == "enabled":
			c.message(reasoningRequired, i, "")
		case i > asked:
			c.message(reasoningRequiredNow, i, "")
		}
		if c.head.thinking != "disabled" {
			c.message(reasoningRequiredByName, i, "")
		}
	}
}
