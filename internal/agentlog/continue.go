package agentlog

import (
	"bytes"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// continues reads the sessions of Continue: one object with a history of items. An item holds a
// message and the states of its calls with their outputs. Continue sends a state without output as
// a cancelled call, a call without a state without a result, and a state without a call as an
// orphan result. Seen by running the command line of Continue, 1.5.47.
type continues struct{}

var continueRow = formatSpec{
	format: Continue, name: "continue", maker: "Continue", dialect: wire.Anthropic, form: continues{},
	lenientUTF8: true, shortensItself: true, isDocument: isContinue,
	unitUsage: usageAt("message.usage", []string{"prompt_tokens"}, []string{"completion_tokens"}),
}

func isContinue(o object) bool {
	list, ok := o.Get("history")
	if !ok || o.Raw[list.Start] != '[' || !o.Has("sessionId") {
		return false
	}
	for _, h := range jsonspan.Elements(o.Raw, list) {
		return objectAt(o.Raw, h).Has("message")
	}
	return o.Has("workspaceDirectory")
}

func (c continues) read(l *Log) {
	l.readListDocument("history", func(b *bodyBuilder, u int, item object, pairs *pairCounts) (model string) {
		c.appendItem(l, b, u, item, pairs)
		return item.Object("message").Object("usage").Text("model")
	})
}

// appendItem adds the messages of an item: first the text and the calls, then the results.
func (continues) appendItem(l *Log, body *bodyBuilder, unit int, item object, pairs *pairCounts) {
	m, said, answer := item.Object("message"), messageBuilder{counts: pairs}, messageBuilder{counts: pairs}
	role := m.Text("role")
	if role != "user" && role != "assistant" && role != "tool" { // system, thinking
		return
	}
	content, _ := m.Get("content")
	if role == "tool" {
		answer.addResult(m.Text("toolCallId"), textBlocks(l.raw, content), false, m.Span)
		answer.appendTo(body, unit, "user")
		return
	}
	for _, text := range textBlocks(l.raw, content) {
		if objectOf(text).Text("text") != "" {
			said.add(text, content)
		}
	}
	for _, call := range m.Items("toolCalls") {
		does := call.Object("function")
		said.addCall(call.Text("id"), does.Text("name"), []byte(does.Text("arguments")), call.Span)
	}
	said.appendTo(body, unit, role)
	for _, s := range item.Items("toolCallStates") {
		answer := messageBuilder{counts: pairs}
		answer.addResult(s.Text("toolCallId"), [][]byte{textBlock(continueOutput(s))}, s.Text("status") == "errored", s.Span)
		answer.appendTo(body, unit, "user")
	}
}

// continueOutput returns the text that Continue sends for a state.
func continueOutput(s object) string {
	var all []string
	for _, at := range s.List("output") {
		all = append(all, objectAt(s.Raw, at).Text("content"))
	}
	if all == nil {
		return "Tool cancelled"
	}
	return strings.Join(all, "\n\n")
}

// repair adds a state to calls without one. It restores the lost call of a state from the copy in
// the state.
func (c continues) repair(e *edits, t *Thread, o Options) error {
	tr := t.Request.Transcript()
	for _, f := range e.file.checkThread(t, o.Check) {
		if f.Block == transcript.NoBlock || e.heldUnits[f.unit] || f.Open && o.Repair.Open {
			continue
		}
		if o.AppendOnly {
			return ErrAppendOnly
		}
		ch := Change{Thread: t.Name, Line: f.Line}
		id := tr.Block(f.Block).CallID
		switch {
		case f.Rule == "orphan-call":
			text := stubText(o.Repair, tr, f.Block)
			e.appendToList(f.unit, "toolCallStates", continueState(e.file, t, f.Block, text))
			e.addChange(ch.with(wire.Change{Action: wire.ActionInsert, Rule: f.Rule, IDs: f.IDs, Bytes: len(text)}), "a stub: %s", text)
		case f.Rule == "orphan-result" && c.restoreCall(e, f.unit, id):
			e.addChange(ch.with(wire.Change{Action: wire.ActionInsert, Rule: f.Rule, IDs: f.IDs}), "the call, which the state of the result has a copy of")
		case f.Rule == "orphan-result" || f.Rule == "duplicate-result" || f.Rule == "displaced-result":
			text := t.Request.Text(f.Block)
			c.dropResult(e, f.unit, id)
			e.unit(f.unit).after = append(e.unit(f.unit).after, continueText(transcript.User, quote(quotation+text)))
			e.addChange(ch.with(wire.Change{Action: wire.ActionEdit, Rule: f.Rule, IDs: f.IDs}), "a result whose call is not in the history, kept as quoted text")
		}
	}
	return nil
}

// appendToList appends an element to a list of a unit and creates the list if necessary.
func (e *edits) appendToList(u int, name string, element []byte) {
	body := e.unitBytes(u)
	o := objectOf(body)
	var all [][]byte
	for _, at := range o.List(name) {
		all = append(all, body[at.Start:at.End])
	}
	e.setMembers(u, name, array(append(all, element)...))
}

// continueState returns the state of a failed call with the given text.
func continueState(l *Log, t *Thread, call transcript.BlockID, text string) []byte {
	tr := t.Request.Transcript()
	blk := tr.Block(call)
	at := t.sources[blk.Message].blockSpans[call-tr.Messages()[blk.Message].First]
	args := wire.Arguments(tr, call)
	if _, ok := wholeObject(args); !ok {
		args = []byte("{}")
	}
	return write("toolCallId", blk.CallID, "toolCall", l.raw[at.Start:at.End], "status", "errored", "parsedArgs", args,
		"output", array(write("content", text, "name", "Tool Result", "description", "Tool execution result")))
}

// restoreCall copies the call of a state back into its message. It reports whether it found one.
func (continues) restoreCall(e *edits, u int, id string) bool {
	body := e.unitBytes(u)
	item := objectOf(body)
	m := item.Object("message")
	if m.Text("role") != "assistant" {
		return false
	}
	for _, at := range item.List("toolCallStates") {
		s := objectAt(body, at)
		if call := s.Object("toolCall"); s.Text("toolCallId") == id && call.Text("id") == id {
			var all [][]byte
			for _, at := range m.List("toolCalls") {
				all = append(all, body[at.Start:at.End])
			}
			all = append(all, body[call.Span.Start:call.Span.End])
			e.setMembers(u, "message", m.With("toolCalls", array(all...)))
			return true
		}
	}
	return false
}

// dropResult removes the last state of a call from a unit, or the unit if it is a result.
func (continues) dropResult(e *edits, u int, id string) {
	body := e.unitBytes(u)
	item := objectOf(body)
	if item.Object("message").Text("role") == "tool" {
		e.unit(u).drop = true
		return
	}
	all := item.List("toolCallStates")
	for i := len(all) - 1; i >= 0; i-- {
		if objectAt(body, all[i]).Text("toolCallId") != id {
			continue
		}
		var rest [][]byte
		for k, at := range all {
			if k != i {
				rest = append(rest, body[at.Start:at.End])
			}
		}
		e.setMembers(u, "toolCallStates", array(rest...))
		return
	}
}

// continueText returns an item with a text.
func continueText(role transcript.Role, text []byte) []byte {
	return write("message", write("role", role.String(), "content", text), "contextItems", []byte("[]"))
}

// shorten removes items and calls with their states, and shortens outputs.
func (c continues) shorten(e *edits, t *Thread, plan *pare.Plan) error {
	kept, err := keptPieces(e, t, plan, continueText)
	if err != nil {
		return err
	}
	for group := range e.unitGroups(t, kept) {
		c.shortenItem(e, t, group)
	}
	return nil
}

// shortenItem removes the dropped messages from an item.
func (c continues) shortenItem(e *edits, t *Thread, group unitGroup) {
	item := e.file.object(group.unit)
	m := item.Object("message")
	head, outputs := c.remaining(t, group)
	if m.Text("role") == "tool" {
		e.setMembers(group.unit, "message", m.With("content", quote(outputs[m.Text("toolCallId")])))
		return
	}
	tr := t.Request.Transcript()
	text, calls := leftOf(head)
	var pairs []any
	if old, _ := leftOf(objectOf(tr.Bytes(tr.Messages()[group.first].Span))); old != text {
		pairs = append(pairs, "content", text)
	}
	if m.Has("toolCalls") {
		var stay [][]byte
		for _, at := range m.List("toolCalls") {
			if _, ok := calls[objectAt(e.file.raw, at).Text("id")]; ok {
				stay = append(stay, e.file.raw[at.Start:at.End])
			}
		}
		pairs = append(pairs, "toolCalls", array(stay...))
	}
	if used := m.Object("usage"); len(used.Members) > 0 {
		pairs = append(pairs, "usage", used.With("prompt_tokens", 0, "completion_tokens", 0, "total_tokens", 0))
	}
	e.setMembers(group.unit, "message", m.With(pairs...))
	if item.Has("toolCallStates") {
		e.setMembers(group.unit, "toolCallStates", array(shortenStates(item, outputs)...))
	}
}

// remaining returns the remaining message of an item, and the texts of its remaining results by
// call id.
func (continues) remaining(t *Thread, group unitGroup) (head object, outputs map[string]string) {
	tr := t.Request.Transcript()
	outputs = make(map[string]string)
	for i := group.first; i < group.end; i++ {
		kept, ok := group.kept[i]
		if !ok {
			continue
		}
		raw := kept.raw
		if raw == nil {
			raw = tr.Bytes(tr.Messages()[i].Span)
		}
		message := objectOf(raw)
		if blocks := message.List("content"); len(blocks) == 1 {
			if b := objectAt(raw, blocks[0]); b.Text("type") == "tool_result" {
				outputs[b.Text("tool_use_id")] = resultText(raw, b)
				continue
			}
		}
		head = message
	}
	return head, outputs
}

// shortenStates returns the states of the remaining results with their remaining texts.
func shortenStates(item object, outputs map[string]string) (states [][]byte) {
	for _, at := range item.List("toolCallStates") {
		state := objectAt(item.Raw, at)
		text, ok := outputs[state.Text("toolCallId")]
		switch {
		case !ok:
		case text == continueOutput(state):
			states = append(states, bytes.Clone(state.Bytes()))
		default:
			states = append(states, state.With("output", array(write("content", text, "name", "Tool Result", "description", "Tool execution result"))))
		}
	}
	return states
}
