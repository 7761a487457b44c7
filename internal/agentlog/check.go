package agentlog

import (
	"cmp"
	"slices"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Finding is something that is wrong with a session file, at a line. Many goroutines
// may read it.
type Finding struct {
	wire.Finding
	Effect  Effect `json:"effect"`
	Instead string `json:"instead,omitempty"` // what to do about what cannot be fixed
	Thread  string `json:"thread,omitempty"`  // the thread it is about; "" for the file itself
	File    string `json:"file,omitempty"`    // in a folder: the file it is in
	Line    int    `json:"line"`
	Column  int    `json:"column"` // in bytes
	Offset  int    `json:"offset"`
	Dormant bool   `json:"dormant,omitempty"` // in a part that the agent does not send
	// Open: the call stands at the end and may still be running. It is repaired all the
	// same, because resuming would send it.
	Open     bool `json:"open,omitempty"`
	Physical bool `json:"physical,omitempty"` // about the bytes and links of the file

	thread    *Thread
	unit      int
	logOffset int // Offset in the log, which may hold several files
}

// pairRules are the findings about pairs. Agents that write each request anew from
// a form of their own put everything else right on the way.
var pairRules = map[string]bool{
	"orphan-call": true, "orphan-result": true, "displaced-result": true, "duplicate-result": true, "duplicate-call-id": true,
}

// Check reports what is wrong with the file and what would make the provider
// refuse the session when it is resumed, in the order of the file. A session that is
// longer than the window of its model is reported, too; Fix leaves that to Shorten.
func (l *Log) Check(o wire.CheckOptions) []Finding {
	return l.inFileOrder(append(l.findFaults(o), l.findOverWindow()...))
}

// faulty reports what Fix is for.
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

// inFileOrder puts findings in the order of the file.
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
			continue // about the prompt, or about a head that is not in the file
		}
		all = append(all, l.locate(t, f))
	}
	return all
}

// sends reports whether the agent sends a thread when the session is resumed. The talks
// of sub-agents are over, unless the file is that of a sub-agent.
func (l *Log) isSent(t *Thread) bool {
	return t.Kind == Main || t.Kind == Side && !slices.ContainsFunc(l.Threads, func(t *Thread) bool { return t.Kind == Main })
}

// Sent returns the threads that the agent sends when the session is resumed: one, or one
// for each session of a folder.
func (l *Log) Sent() []*Thread {
	var all []*Thread
	for _, t := range l.Threads {
		if l.isSent(t) {
			all = append(all, t)
		}
	}
	return all
}

// locate adds the place in the file to a finding of a thread.
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

// locate returns the unit of a message and where its block stands in the file.
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

// checkDormant reports the halves in a part that is not sent whose other half is nowhere
// in the file. They are left alone: an answer to a call that is not sent would be one
// without its call.
func (l *Log) checkDormant(t *Thread) []Finding {
	var all []Finding
	tr := t.Request.Transcript()
	for b, blk := range tr.Blocks() {
		k := t.counts
		var rule string
		switch {
		case blk.CallID == "": // nothing can be said about it
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
			Rule: rule, Path: t.Request.Path(id), IDs: []string{blk.CallID}, Message: wirex.RuleSlugs()[rule],
			Source: "agentlog/" + rule, Index: blk.Message, Block: id,
		}))
	}
	return all
}

// unitOf returns the unit that a block comes from.
func (t *Thread) unitOf(b transcript.BlockID) int {
	return t.sources[t.Request.Transcript().Block(b).Message].unit
}
