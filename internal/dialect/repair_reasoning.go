package dialect

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// reasoningRepairs repair thinking and reasoning. None of them makes any up.
var reasoningRepairs = map[fault]repairFunc{
	signatureMissing:        (*repairer).dropFound,
	thinkingNotEnabled:      (*repairer).dropThinking,
	thinkingNotFirst:        (*repairer).thinkingUp,
	thinkingLast:            (*repairer).dropLastThinking,
	thinkingTextMissing:     (*repairer).emptyThinking,
	thinkingRequired:        (*repairer).thinkingOff,
	thinkingBeforeFallback:  (*repairer).dropFound,
	reasoningRequired:       (*repairer).thinkingOff,
	reasoningRequiredNow:    (*repairer).emptyReasoning,
	reasoningRequiredByName: (*repairer).emptyReasoning,
	reasoningOrphan:         (*repairer).dropReasoning,
	reasoningUnresolvable:   (*repairer).dropReasoning,
	itemUnresolvable:        (*repairer).dropFound,
	reasoningUnsupported:    (*repairer).dropReasoning,
	reasoningPlaintext:      (*repairer).emptyItem,
	summaryMissing:          (*repairer).addSummary,
	thoughtSignatureMissing: func(m *repairer, f *Finding) { m.pen.skipSignature(m, f) },
}

// dropThinking drops all thinking of the message.
func (m *repairer) dropThinking(f *Finding) {
	msg := m.t.Messages()[f.Index]
	for b := msg.First; b < msg.End; b++ {
		if m.t.Block(b).Kind == transcript.Thinking && m.free(b) {
			m.dropBlock(b)
			m.log(f, ActionDrop, b, f.Index, -m.t.Block(b).Span.Len(), "%s", m.why(f))
		}
	}
}

// dropLastThinking drops the thinking that a turn ends with, which led to nothing.
func (m *repairer) dropLastThinking(f *Finding) {
	ms := m.t.Messages()
	turn := ms[m.t.Block(f.Block).Message].Turn
	for b := f.Block; b >= 0; b-- {
		blk := m.t.Block(b)
		if blk.Kind != transcript.Thinking || ms[blk.Message].Turn != turn || !m.free(b) {
			return
		}
		m.dropBlock(b)
		m.log(f, ActionDrop, b, blk.Message, -blk.Span.Len(), "the reply broke off here; thinking may not be the last of a turn")
	}
}

// emptyThinking says that there are no words of the thinking, which its signature stands for.
func (m *repairer) emptyThinking(f *Finding) {
	at, member := m.t.Block(f.Block).Span, "thinking"
	for _, name := range []string{"reasoningContent", "reasoningText"} {
		if inner, ok := m.member(at, name); ok {
			at, member = inner, "text"
		}
	}
	if m.raw[at.Start] == '"' && at.Len() > 2 {
		if m.edit(jsonspan.Edit{Span: jsonspan.Span(at), New: object(member, m.t.Bytes(at))}) {
			m.log(f, ActionEdit, f.Block, f.Index, len(`{"":}`)+len(member), "thinking is an object: its words are its %s", member)
		}
		return
	}
	if m.raw[at.Start] != '{' { // nothing that could have words, nor a signature
		if m.raw[at.Start] == '[' {
			m.saysNothing(f.Block)
		}
		m.dropFound(f)
		return
	}
	if m.setMember(at, member, quote("")) {
		m.log(f, ActionEdit, f.Block, f.Index, 0, "thinking without words; an empty text says so, and the signature stays")
	}
}

// thinkingUp moves the thinking of a turn to its front. Its bytes stay.
func (m *repairer) thinkingUp(f *Finding) {
	blk := m.t.Block(f.Block)
	ms := m.t.Messages()
	turn := ms[blk.Message].Turn
	l := m.listOf(blk.Message, inContent)
	for i := blk.Message; i < len(ms) && ms[i].Turn == turn; i++ {
		for b := ms[i].First; b < ms[i].End; b++ {
			if o := m.t.Block(b); o.Kind == transcript.Thinking && b > f.Block && m.free(b) {
				m.dropBlock(b)
				l.insert(int(m.where[f.Block].index), item{raw: m.t.Bytes(o.Span), from: m.at(b)})
				m.log(f, ActionMove, b, i, 0, "thinking goes first")
			}
		}
	}
}

// thinkingOff switches thinking off for this request: what was thought is lost and
// must not be made up.
func (m *repairer) thinkingOff(f *Finding) {
	if m.bare {
		return
	}
	if at, ok := m.bodyMember("thinking"); ok && m.holdsWords(at) {
		return // it holds more than settings
	}
	m.pen.thinkingOff(m, f)
}

// emptyReasoning says that there is no reasoning, where the vendor takes that.
func (m *repairer) emptyReasoning(f *Finding) {
	if m.setMember(m.t.Messages()[f.Index].Span, "reasoning_content", quote("")) {
		m.log(f, ActionEdit, transcript.NoBlock, f.Index, 23, "the reasoning is lost; the field says so by being empty")
	}
}

// dropReasoning drops a reasoning item and the ids of the items it led to, which would refer
// to it: those up to the next reasoning, or until somebody else speaks. Where somebody else
// came in between, they are those that the model goes on with.
func (m *repairer) dropReasoning(f *Finding) {
	m.dropBlock(f.Block)
	m.log(f, ActionDrop, f.Block, f.Index, -m.t.Block(f.Block).Span.Len(), "%s", m.why(f))
	ms := m.t.Messages()
	from := f.Index + 1
	for from < len(ms) && ms[from].Role != transcript.Assistant {
		from++
	}
	for i := from; i < len(ms) && ms[i].Role == transcript.Assistant; i++ {
		if b := ms[i].First; b < ms[i].End && m.t.Block(b).Kind == transcript.Thinking {
			return
		}
		if m.taken[i] || i > f.Index+1 && !m.idIsOptional(ms[i].Span) {
			continue
		}
		after := *f
		after.Index = i
		m.loseItemID(&after, "the id goes with the reasoning item it depends on")
	}
}

// emptyItem empties the plain text of a reasoning item.
func (m *repairer) emptyItem(f *Finding) {
	if m.setMember(m.t.Block(f.Block).Span, "content", []byte("[]")) {
		m.logMember(f, f.Block, "content", "the API takes no plain text of reasoning")
	}
}

func (m *repairer) addSummary(f *Finding) {
	if m.setMember(m.t.Block(f.Block).Span, "summary", []byte("[]")) {
		m.log(f, ActionEdit, f.Block, f.Index, 13, "an empty summary added")
	}
}

func (commonPen) skipSignature(m *repairer, f *Finding) {
	if m.setMember(m.t.Block(f.Block).Span, "thoughtSignature", quote(skippedSignature)) {
		m.log(f, ActionEdit, f.Block, f.Index, 0, "the signature is lost; the documented skip value stands in its place")
	}
}

// headRepairs repair what stands beside the messages.
var headRepairs = map[fault]repairFunc{
	toolsUndefined:       (*repairer).declareTools,
	cacheAutoConflict:    func(m *repairer, f *Finding) { m.stripHead(f, "cache_control") },
	bindingHeaderMissing: (*repairer).stripBinding,
	contextEditConflict:  func(m *repairer, f *Finding) { m.stripHead(f, "context_management") },
	contextEditOrder:     (*repairer).editFirst,
	samplingGiven:        func(m *repairer, f *Finding) { m.stripHead(f, f.arg) },
	containerMissing:     (*repairer).dropPrograms,
}

// editFirst moves the context edit that clears thinking to the front of the list. Of several
// the first one goes there, and its copies go.
func (m *repairer) editFirst(f *Finding) {
	if m.again(f, 0) {
		return
	}
	at, ok := m.bodyMember("context_management")
	if ok {
		at, ok = m.member(at, "edits")
	}
	if !ok {
		return
	}
	elems := jsonspan.Elements(m.raw, jsonspan.Span(at))
	l := list{span: at, drop: make([]bool, len(elems))}
	var first []byte
	for i, e := range elems {
		l.elems = append(l.elems, tspan(e))
		raw := m.raw[e.Start:e.End]
		if raw[0] != '{' || !m.memberIs(l.elems[i], "type", clearThinking) {
			continue
		}
		path := "context_management.edits." + strconv.Itoa(i)
		switch {
		case first == nil:
			if first = Canonical(raw); i > 0 {
				l.drop[i] = true
				l.insert(0, item{raw: raw})
				m.logHead(f, ActionMove, path, 0, "clear_thinking must be the first context edit")
			}
		case bytes.Equal(Canonical(raw), first):
			l.drop[i] = true
			m.logHead(f, ActionDrop, path, -len(raw), "a copy of the first context edit")
		}
	}
	for _, e := range l.edits(m.raw) {
		m.edit(e)
	}
}

// dropPrograms drops the calls that a program made whose container is lost, with
// the program.
func (m *repairer) dropPrograms(f *Finding) {
	if m.again(f, 0) {
		return
	}
	for _, n := range m.notes {
		if n.fault != programMixed {
			continue
		}
		for _, b := range m.t.Atoms()[m.t.AtomOf(transcript.BlockID(n.block))].Blocks {
			if m.free(b) {
				m.dropBlock(b)
				m.log(f, ActionDrop, b, 0, -m.t.Block(b).Span.Len(), "code execution cannot go on without its container")
			}
		}
	}
}

func (m *repairer) stripHead(f *Finding, name string) {
	if m.removeBodyMember(name) {
		m.logHead(f, ActionDrop, name, 0, "%s removed: %s", name, m.why(f))
	}
}

func (m *repairer) stripBinding(f *Finding) {
	if at, ok := m.bodyMember("thinking"); ok && m.removeMember(at, "block_binding") {
		m.logHead(f, ActionDrop, "thinking.block_binding", 0, "block_binding needs a header that is not sent")
	}
}

// declareTools declares the tools that the history uses, as bare as can be.
func (m *repairer) declareTools(f *Finding) {
	seen := make(map[string]bool)
	var specs [][]byte
	for _, blk := range m.t.Blocks() {
		if blk.Kind != transcript.Call || seen[blk.Tool] || !plainID(blk.Tool) || len(blk.Tool) > 64 {
			continue
		}
		seen[blk.Tool] = true
		schema := object("json", object("type", "object"))
		specs = append(specs, object("toolSpec", object("name", blk.Tool, "description", "A tool that was used earlier in this conversation.", "inputSchema", schema)))
	}
	if len(specs) == 0 {
		return
	}
	raw := object("tools", array(specs...))
	if m.setBodyMember("toolConfig", raw) {
		m.logHead(f, ActionInsert, "toolConfig", len(raw), "%s", fmt.Sprintf("%d tools that the history uses, declared", len(specs)))
	}
}
