package agentlog

import (
	"cmp"
	"slices"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Finding is a fault or a note about a session file, with its place.
type Finding struct {
	wire.Finding
	Effect  Effect `json:"effect"`
	Instead string `json:"instead,omitempty"` // advice for faults that cannot be fixed
	Thread  string `json:"thread,omitempty"`  // name of the thread; "" for the file itself
	File    string `json:"file,omitempty"`    // the file of a folder
	Line    int    `json:"line"`
	Column  int    `json:"column"` // in bytes, from one
	Offset  int    `json:"offset"`
	Dormant bool   `json:"dormant,omitempty"` // in a part that the agent does not send
	// Open is true for a call at the end that may still be running. Fix repairs it all the same,
	// because a resumed agent would send it.
	Open     bool `json:"open,omitempty"`
	Physical bool `json:"physical,omitempty"` // about the bytes and links of the file

	thread    *Thread
	unit      int
	logOffset int // offset in the log, which may hold several files
}

// pairRules are the rules about pairs of calls and results. Agents that rebuild each request from
// their own format correct everything else themselves.
var pairRules = map[string]bool{
	"orphan-call": true, "orphan-result": true, "displaced-result": true, "duplicate-result": true, "duplicate-call-id": true,
}

// Check reports damage of the file and everything that would make the provider reject the resumed
// session, in file order. It also reports a session that exceeds the window of its model, which
// only Shorten repairs.
func (l *Log) Check(o wire.CheckOptions) []Finding {
	return l.inFileOrder(append(l.findFaults(o), l.findOverWindow()...))
}

// findFaults reports the faults that Fix repairs.
func (l *Log) findFaults(o wire.CheckOptions) []Finding {
	var all []Finding
	for _, f := range l.damage {
		if !f.Advice || o.Advice {
			all = append(all, f)
		}
	}
	for _, t := range l.Threads {
		all = append(all, l.checkThread(t, o)...)
	}
	return all
}

// inFileOrder sorts findings by their place in the file and converts offsets to those of the
// original bytes.
func (l *Log) inFileOrder(all []Finding) []Finding {
	slices.SortStableFunc(all, func(a, b Finding) int { return cmp.Compare(a.logOffset, b.logOffset) })
	for i := range all {
		if f := &all[i]; l.patches != nil {
			f.Column += l.originalOffset(f.Offset) - f.Offset - l.originalOffset(l.lineStart(f.Line)) + l.lineStart(f.Line)
			f.Offset = l.originalOffset(f.Offset)
		}
	}
	return all
}

func (l *Log) checkThread(t *Thread, o wire.CheckOptions) []Finding {
	if !l.isSent(t) {
		return l.checkDormant(t)
	}
	var all []Finding
	agent, _ := l.Format.spec()
	for _, f := range t.Request.Check(o) {
		if agent.repairsItself != nil && agent.repairsItself(l, t, f) {
			continue
		}
		if t.pairsOnly && !pairRules[f.Rule] {
			continue
		}
		if t.hasPrompt && f.Index == len(t.sources) || f.Index < 0 || f.Rule == "thinking-not-enabled" {
			continue // about the added prompt, or about members that the file does not store
		}
		all = append(all, l.locate(t, f))
	}
	return all
}

// isSent reports whether the agent sends a thread when the session is resumed. Conversations of
// sub-agents are finished, unless the file holds nothing else.
func (l *Log) isSent(t *Thread) bool {
	return t.Kind == Main || t.Kind == Side && !slices.ContainsFunc(l.Threads, func(t *Thread) bool { return t.Kind == Main })
}

// Sent returns the threads that the agent sends when the session is resumed: one, or one for each
// session of a folder.
func (l *Log) Sent() []*Thread {
	var all []*Thread
	for _, t := range l.Threads {
		if l.isSent(t) {
			all = append(all, t)
		}
	}
	return all
}

// locate converts a finding of a thread into one with a place in the file.
func (l *Log) locate(t *Thread, f wire.Finding) Finding {
	out := Finding{Finding: f, Thread: t.Name, Dormant: !l.isSent(t), thread: t}
	if out.Dormant || f.Advice {
		out.Effect = Cosmetic
	}
	out.unit, out.Offset = t.locate(l, f.Index, f.Block)
	out.logOffset = out.Offset
	out.Line, out.Column = l.position(out.Offset)
	if l.files != nil {
		l.moveToFile(&out)
	}
	if f.Block != transcript.NoBlock {
		tr := t.Request.Transcript()
		if x := tr.ExchangeOf(f.Block); x != transcript.NoExchange && f.Rule == "orphan-call" && !out.Dormant {
			out.Open = tr.Exchanges()[x].State == transcript.Open
		}
	}
	return out
}

// locate returns the unit of a message and the offset of one of its blocks in the file.
func (t *Thread) locate(l *Log, message int, block transcript.BlockID) (unit, offset int) {
	tr := t.Request.Transcript()
	p := t.sources[message]
	m := tr.Messages()[message]
	switch {
	case block == transcript.NoBlock && p.start >= 0:
		return p.unit, p.start
	case block == transcript.NoBlock:
		return p.unit, l.units[p.unit].span.Start
	case p.start >= 0:
		return p.unit, p.shift + tr.Block(block).Span.Start - m.Span.Start
	}
	if i := int(block - m.First); i < len(p.blockSpans) && p.blockSpans[i].Len() > 0 {
		return p.unit, p.blockSpans[i].Start
	}
	return p.unit, l.units[p.unit].span.Start
}

// checkDormant reports calls and results of an unsent part that have no counterpart anywhere in the
// file. Fix leaves them alone: a result for an unsent call would itself lack its call.
func (l *Log) checkDormant(t *Thread) []Finding {
	var all []Finding
	tr := t.Request.Transcript()
	for b, blk := range tr.Blocks() {
		k := t.counts
		var rule string
		switch {
		case blk.CallID == "": // cannot be paired
			continue
		case blk.Kind == transcript.Call && k.results[blk.CallID] == 0:
			rule = "orphan-call"
		case blk.Kind == transcript.Result && k.calls[blk.CallID] == 0:
			rule = "orphan-result"
		default:
			continue
		}
		id := transcript.BlockID(b)
		all = append(all, l.locate(t, wire.Finding{
			Rule: rule, Path: t.Request.Path(id), IDs: []string{blk.CallID}, Message: dialect.RuleSlugs()[rule],
			Source: "agentlog/" + rule, Index: blk.Message, Block: id,
		}))
	}
	return all
}

// unitOf returns the unit that contains a block.
func (t *Thread) unitOf(b transcript.BlockID) int {
	return t.sources[t.Request.Transcript().Block(b).Message].unit
}

// Of returns the thread of the finding, or nil for a finding about the file itself. Index and Block
// of the finding refer to the thread's request.
func (f *Finding) Of() *Thread { return f.thread }

// Line returns the line of message i of a thread, or 0 if the message is not in the file. In a
// folder it is the line in the message's own file.
func (l *Log) Line(t *Thread, i int) int {
	if i < 0 || i >= len(t.sources) {
		return 0
	}
	return l.units[t.sources[i].unit].line
}
