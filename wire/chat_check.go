package wire

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

// usualNotes are the notes with those that nearly every call, result or message with calls of Chat
// would have, and hardly anybody minds: an id that is not nine letters long, no name of the tool, no
// content beside calls, or some. They follow from the index, so they are written only for those who
// do.
func (c *checker) usualNotes() []note {
	if c.Dialect != OpenAIChat || !c.wants(idNotNine) && !c.wants(resultNameMissing) && !c.wants(noContentElement) && !c.wants(contentBesideCalls) {
		return c.notes
	}
	all, rest, ms := slices.Clone(c.notes[:c.listNotes]), filed{notes: c.notes[c.listNotes:]}, c.t.Messages()
	for i := range ms {
		ours := c.withContent(slices.Clip(rest.ours(i, &ms[i]).notes), i)
		for b := ms[i].First; b < ms[i].End; b++ {
			ours = c.withUsual(ours, b)
		}
		all = append(all, ours...)
	}
	return append(all, rest.notes...)
}

// withContent puts those of the content of a message where they would have been written.
func (c *checker) withContent(ours []note, i int) []note {
	f := noContentElement
	switch x := c.extra[i]; {
	case c.t.Messages()[i].Role == transcript.Tool:
		return ours
	case x&besideCalls != 0:
		f = contentBesideCalls
	case x&saysBeside != 0 || x&(nullContent|emptyList) == 0:
		return ours
	}
	at := slices.IndexFunc(ours, func(n note) bool {
		return n.fault == emptyCalls || n.fault == legacyFunction || n.fault == wrongType && n.sub == "tool_call_id"
	})
	if at < 0 {
		at = len(ours)
	}
	return slices.Insert(ours, at, note{f, int32(i), -1, "", ""})
}

// withUsual puts those of a block where they would have been written.
func (c *checker) withUsual(ours []note, b transcript.BlockID) []note {
	blk, in := &c.t.Blocks()[b], c.where[b].in
	called, answered := blk.Kind == transcript.Call && in == inCalls, blk.Kind == transcript.Result && in == inMessage && blk.Family != legacyFamily
	if id := blk.CallID; id != "" && (called || answered) && (len(id) != 9 || !alphanumeric(id)) {
		at := slices.IndexFunc(ours, func(n note) bool {
			return n.block == int32(b) && n.fault != idTooLong && (n.fault != wrongType || n.sub != "function.name")
		})
		if at < 0 {
			at = len(ours)
		}
		ours = slices.Insert(ours, at, note{idNotNine, int32(blk.Message), int32(b), "", id})
	}
	if answered && c.extra[blk.Message]&holdsOnly != 0 {
		ours = append(ours, note{resultNameMissing, int32(blk.Message), int32(b), "", ""})
	}
	return ours
}
