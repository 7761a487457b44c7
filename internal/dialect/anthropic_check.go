package dialect

import (
	"slices"
	"strings"

	"github.com/pare-llm/pare/transcript"
)

// check raises the faults that show in the finished transcript. Turns are
// merged first: the API combines neighbours of one role before it looks.
func (anthropic) check(c *checker) {
	serves := c.serves()
	turns := c.turnsOf()
	c.pairs()
	c.anthropicTurns(turns)
	if serves {
		c.serverTools(turns)
	}
	c.programs(turns)
	c.thinkingRules(turns)
	c.systemRoles(turns)
	c.anthropicEnd(turns)
	c.cacheMarks()
	c.judgeNotes()
	c.anthropicHead()
}

// anthropicTurns checks what stands where inside each turn.
func (c *checker) anthropicTurns(turns []turnSpan) {
	advises := c.wants(splitResults) || c.wants(textAfterResult)
	for _, t := range turns {
		first, end := c.blocks(t)
		switch {
		case t.role == transcript.User && t.facts&hasResults != 0:
			if c.resultsFirst(first, end); advises {
				c.resultAdvice(t)
			}
		case t.role == transcript.Assistant && t.facts&hasCalls != 0:
			c.callsLast(first, end)
		}
		for m := t.first + 1; m < t.end; m++ {
			if t.role == transcript.User || t.role == transcript.Assistant {
				c.message(roleRepeats, m, t.role.String())
			}
		}
		for m := t.first; m < t.end; m++ {
			last := m == len(c.t.Messages())-1 && t.role == transcript.Assistant
			if c.extra[m]&emptyList != 0 && !last {
				c.message(emptyMessage, m, "")
			}
		}
	}
	if ms := c.t.Messages(); len(ms) > 0 && ms[0].Role == transcript.Assistant && !c.compactionFirst() {
		c.message(firstRole, 0, "")
	}
}

// compactionFirst says whether the first block is a signed compaction, which may stand nowhere
// else: whoever knows it lets the assistant begin.
func (c *checker) compactionFirst() bool {
	return slices.ContainsFunc(c.notes, func(n note) bool { return n.fault == compactionNotFirst && n.block == 0 })
}

// callsLast reports the first block that follows a call in the assistant's turn.
func (c *checker) callsLast(first, end transcript.BlockID) {
	called := false
	for b := first; b < end; b++ {
		if c.t.Blocks()[b].Kind == transcript.Call {
			called = true
		} else if called {
			c.block(contentAfterCall, b, "")
			return
		}
	}
}

func (c *checker) resultAdvice(t turnSpan) {
	answered := -1
	for m := t.first; m < t.end; m++ {
		if c.extra[m]&hasResults == 0 {
			continue
		}
		if answered >= 0 {
			c.splitFrom(m)
		}
		answered = m
	}
	if b := c.firstOther(t); b != transcript.NoBlock && answered >= 0 && c.t.Block(b).Kind == transcript.Text {
		c.block(textAfterResult, b, "")
	}
}

// splitFrom reports the results of a message that stand apart from the others of their turn: at the first of
// them, with the ids of all, and with the message of the calls, which is the one that the provider names.
func (c *checker) splitFrom(m int) {
	msg, first, asked := c.t.Messages()[m], transcript.NoBlock, 0
	var ids []string
	for b := msg.First; b < msg.End; b++ {
		if c.t.Block(b).Kind != transcript.Result {
			continue
		}
		x := c.t.Exchanges()[c.t.ExchangeOf(b)]
		if x.Call == transcript.NoBlock {
			continue // a stray is found as one
		}
		if ids = append(ids, x.CallID); first == transcript.NoBlock {
			first, asked = b, c.t.Block(x.Call).Message
		}
	}
	if first != transcript.NoBlock && c.wants(splitResults) {
		c.report(splitResults, m, first, c.Path(first), itoa(asked), ids...)
	}
}

// serverTools checks the pairs that the provider executes itself. They live in
// the assistant's turn, which stays open while only client results follow.
func (c *checker) serverTools(turns []turnSpan) {
	turnOf := func(b transcript.BlockID) int { return c.t.Messages()[c.t.Block(b).Message].Turn }
	closers := make([]int, len(turns)+1) // turns before i in which somebody speaks
	for i, t := range turns {
		closers[i+1] = closers[i]
		if t.role == transcript.User && t.facts&hasOthers != 0 || t.role == transcript.System {
			closers[i+1]++
		}
	}
	// open reports whether only client results part turns from and to.
	open := func(from, to int) bool { return from >= to || closers[to] == closers[from+1] }
	used := make(map[string]int)      // ids of answered server calls, and their latest turns
	programs := make(map[string]bool) // server calls that made calls themselves
	for _, n := range c.notes {
		if n.fault == programMixed {
			programs[n.arg] = true
		}
	}
	// Nobody speaks in a turn without content: it is reported as such, and the turn before is
	// the last.
	for n := len(turns); n > 0 && turns[n-1].role == transcript.User && turns[n-1].facts&(hasOthers|hasResults|hasCalls) == 0; n-- {
		turns = turns[:n-1]
	}
	extra := transcript.NoBlock // what stands beside the results of the last turn
	if n := len(turns); n > 0 && turns[n-1].role == transcript.User && turns[n-1].facts&hasResults != 0 {
		extra = c.firstOther(turns[n-1])
	}
	for _, x := range c.t.Exchanges() {
		if !x.Server {
			continue
		}
		if x.Call == transcript.NoBlock {
			c.block(serverResultUnpaired, x.Results[0], "")
			continue
		}
		if c.outside(x.Call) || len(x.Results) > 0 && c.outside(x.Results[0]) {
			c.block(serverCallUnpaired, x.Call, "")
			for _, r := range x.Results {
				c.block(serverResultUnpaired, r, "")
			}
			continue
		}
		at := turnOf(x.Call)
		if len(x.Results) > 0 {
			if before, known := used[x.CallID]; known && before == at {
				c.block(repeatedServerID, x.Call, "")
			}
			used[x.CallID] = at
			if !open(at, turnOf(x.Results[0])) {
				c.block(serverCallUnpaired, x.Call, "")
				c.block(serverResultUnpaired, x.Results[0], "")
			}
			continue
		}
		if programs[x.CallID] {
			extra = transcript.NoBlock // reported with the program's calls
		}
		c.pendingServerCall(turns, at, x, extra)
	}
}

// serves reports whether any exchange is the provider's own.
func (c *checker) serves() bool {
	all := c.t.Exchanges()
	for i := range all {
		if all[i].Server {
			return true
		}
	}
	return false
}

// outside reports whether a block stands in a message that is not the assistant's, where
// nothing can stand that the provider runs itself.
func (c *checker) outside(b transcript.BlockID) bool {
	return c.t.Messages()[c.t.Block(b).Message].Role != transcript.Assistant
}

// pendingServerCall judges a server call without a result: legal as long as the
// turn is open.
func (c *checker) pendingServerCall(turns []turnSpan, at int, x transcript.Exchange, extra transcript.BlockID) {
	switch {
	case at+1 == len(turns): // a paused turn, to be resumed as it is
	case at+2 == len(turns) && turns[at+1].role == transcript.User && turns[at+1].facts&hasResults != 0:
		if extra != transcript.NoBlock {
			c.block(pendingServerMixed, extra, x.Tool)
			return
		}
	default:
		c.block(serverCallUnpaired, x.Call, "")
		return
	}
	if c.head.toolsGiven && c.t.Block(x.Call).Family != mcpFamily && !c.declares(x.Tool) {
		c.block(toolUndefined, x.Call, x.Tool)
	}
}

// declares reports whether tools has the server tool of that name. Tools of code
// execution go by several names.
func (r *Request) declares(name string) bool {
	for tool := range r.head.tools {
		if tool == name || strings.HasPrefix(tool, name+"_") || strings.HasSuffix(name, "code_execution") && strings.HasPrefix(tool, "code_execution") {
			return true
		}
	}
	return slices.ContainsFunc(r.notes, func(n note) bool { return n.fault == toolDefined && n.arg == name })
}

// programs checks the answers to calls that code execution made.
func (c *checker) programs(turns []turnSpan) {
	var made []note
	for _, n := range c.notes {
		if n.fault == programMixed {
			made = append(made, n)
		}
	}
	if made == nil {
		return
	}
	nonText := make(map[transcript.BlockID]bool)
	for _, n := range c.notes {
		if n.fault == programNonText {
			nonText[transcript.BlockID(n.block)] = true
		}
	}
	pending := make(map[string]bool)
	for _, x := range c.t.Exchanges() {
		if x.Server && x.Call != transcript.NoBlock {
			pending[x.CallID] = len(x.Results) == 0
		}
	}
	last := -1 // a turn is looked at once, however many calls it answers
	for _, n := range made {
		if at := c.t.Messages()[n.message].Turn; at != last && at+1 < len(turns) && turns[at+1].role == transcript.User {
			last = at
			if b := c.firstOther(turns[at+1]); b != transcript.NoBlock {
				c.block(programMixed, b, "")
			}
		}
		for _, r := range c.t.Exchanges()[c.t.ExchangeOf(transcript.BlockID(n.block))].Results {
			if nonText[r] {
				c.block(programNonText, r, "")
			}
		}
		if !c.head.container && !c.bare && pending[n.arg] {
			c.headFault(containerMissing, "container", "")
		}
	}
}

// systemRoles checks messages of the system role, a feature of newer models.
func (c *checker) systemRoles(turns []turnSpan) {
	for i, t := range turns {
		if t.role != transcript.System {
			continue
		}
		c.message(systemUnsupported, t.first, "")
		switch {
		case t.first == 0:
			c.message(systemFirst, 0, "")
		case !c.mayPrecedeSystem(turns[i-1]), i+1 < len(turns) && turns[i+1].role != transcript.Assistant:
			c.message(systemPlacement, t.first, "")
		}
	}
}

func (c *checker) mayPrecedeSystem(t turnSpan) bool {
	if t.role == transcript.User {
		return true
	}
	first, end := c.blocks(t)
	return first < end && c.t.Block(end-1).Kind == transcript.ServerResult
}

// cacheMarks counts the marks and checks their order.
func (c *checker) cacheMarks() {
	marks, short := c.head.cacheMarks, c.head.shortMark
	lastTTL, lastBlock := "", int32(-1)
	for _, n := range c.notes {
		if n.fault != tooManyCacheMarks {
			continue
		}
		marks++
		if n.arg == "1h" && short {
			c.block(cacheTTLOrder, transcript.BlockID(n.block), "")
		}
		short = short || n.arg == "5m"
		lastTTL, lastBlock = n.arg, n.block
	}
	explicit := marks
	if c.head.autoCache {
		marks++
		if explicit >= 4 || int(lastBlock) == len(c.t.Blocks())-1 && lastBlock >= 0 && lastTTL != c.head.autoTTL {
			c.headFault(cacheAutoConflict, "cache_control", "")
			return
		}
	}
	if marks > 4 {
		c.headFault(tooManyCacheMarks, c.g.list, itoa(marks))
	}
}

// judgeNotes weighs the notes that the rest of the request decides.
func (c *checker) judgeNotes() {
	var toolset map[transcript.BlockID]string
	var cited [2]bool // without and with
	signed := 0
	defined := map[string]bool{}   // in the history so far
	fallback := transcript.NoBlock // the one before
	for _, n := range c.notes {
		b := transcript.BlockID(n.block)
		switch n.fault {
		case toolsetMismatch:
			if toolset == nil {
				toolset = make(map[transcript.BlockID]string)
			}
			toolset[b] = n.arg
		case citationsMixed:
			if n.arg == "true" {
				cited[1] = true
			} else {
				cited[0] = true
			}
			if cited[0] && cited[1] {
				c.block(citationsMixed, b, "")
			}
			if c.t.Messages()[n.message].Role == transcript.Assistant {
				c.block(partType, b, "search_result")
			}
		case documentOfAssistant, citationsOfUser:
			role := c.t.Messages()[n.message].Role
			if role == transcript.Assistant == (n.fault == documentOfAssistant) {
				c.reportNote(n)
			}
		case toolDefined:
			defined[n.arg] = true
		case toolChangeUnknown:
			if c.head.toolsGiven && !c.head.tools[n.arg] && !defined[n.arg] {
				c.block(toolChangeUnknown, b, n.arg)
			}
		case referenceUnknown:
			if c.head.toolsGiven && !c.head.tools[n.arg] && !defined[n.arg] {
				c.reportNote(n)
			}
		case serverResult4Client:
			if x := c.t.ExchangeOf(b); c.t.Exchanges()[x].State == transcript.OrphanResult {
				c.block(serverResult4Client, b, "")
			}
		case betaHeaderMissing:
			if c.lacksBeta(func(name string) bool { return allows(name, n.arg) }) {
				c.block(betaHeaderMissing, b, n.arg)
			}
		case compactionNotFirst:
			if signed++; signed > 1 {
				c.block(compactionTwice, b, "")
			} else if b != 0 {
				c.block(compactionNotFirst, b, "")
			}
		case thinkingBeforeFallback:
			c.beforeFallback(fallback+1, b)
			fallback = b
		}
	}
	c.toolsets(toolset)
	if signed > 0 && c.head.thresholdEdit {
		c.headFault(contextEditConflict, "context_management", "")
	}
}

// beforeFallback reports thinking and calls that a later fallback made stale, from
// the fallback before it on.
func (c *checker) beforeFallback(from, fallback transcript.BlockID) {
	m := c.t.Messages()[c.t.Block(fallback).Message]
	for b := max(from, m.First); b < fallback; b++ {
		if k := c.t.Block(b).Kind; k == transcript.Thinking || k == transcript.Call {
			c.block(thinkingBeforeFallback, b, "")
		}
	}
}

// toolsets checks that the result of a toolset's call names the same toolset.
func (c *checker) toolsets(named map[transcript.BlockID]string) {
	if len(named) == 0 {
		return
	}
	for _, x := range c.t.Exchanges() {
		if x.Call == transcript.NoBlock || named[x.Call] == "" {
			continue
		}
		for _, r := range x.Results {
			if named[r] != named[x.Call] {
				c.block(toolsetMismatch, r, named[x.Call])
			}
		}
	}
}

// allows reports whether a beta header covers a block type.
func allows(beta, block string) bool {
	switch block {
	case "compaction":
		return strings.HasPrefix(beta, "compact-")
	case "tool_definition":
		return strings.HasPrefix(beta, "inline-tools")
	case "advisor_tool_result":
		return strings.HasPrefix(beta, "advisor")
	case "fallback":
		return strings.Contains(beta, "fallback")
	}
	return strings.Contains(beta, "system") || strings.Contains(beta, "tool")
}

func (c *checker) anthropicHead() {
	if c.head.binding {
		c.headFault(bindingHeaderMissing, "thinking.block_binding", "")
	}
	if c.head.startsThread || c.head.delta == "thread" {
		c.headFault(threadGiven, "thread", "")
	}
	if c.head.compaction && c.head.contextEdits {
		c.headFault(contextEditConflict, "context_management", "")
	}
	if len(c.t.Messages()) > 100_000 {
		c.headFault(tooManyMessages, "messages", itoa(len(c.t.Messages())))
	}
	if size := len(c.raw); size > 32<<20 {
		c.headFault(bodyTooLarge, "", itoa(size))
	}
}
