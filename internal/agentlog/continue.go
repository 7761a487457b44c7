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
// message and the states of its calls, with their outputs. A state without output is sent as a call
// that was cancelled; a call without a state is sent without a result, and a state without a call
// as a result of nothing. Seen by running the command line of Continue, 1.5.47.
type continues struct{}

// continueRow is Continue: a history of items around messages.
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
	l.readListDocument("history", func(b *bodyBuilder, u int, item object, k *pairCounts) (model string) {
		c.appendItem(l, b, u, item, k)
		return item.Object("message").Object("usage").Text("model")
	})
}

// item adds the messages of an item: what is said and called, then the results.
func (continues) appendItem(l *Log, b *bodyBuilder, u int, item object, k *pairCounts) {
	m, said, answer := item.Object("message"), messageBuilder{counts: k}, messageBuilder{counts: k}
	role := m.Text("role")
	if role != "user" && role != "assistant" && role != "tool" { // system, thinking
		return
	}
	content, _ := m.Get("content")
	if role == "tool" {
		answer.addResult(m.Text("toolCallId"), textBlocks(l.raw, content), false, m.Span)
		answer.appendTo(b, u, "user")
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
	said.appendTo(b, u, role)
	for _, s := range item.Items("toolCallStates") {
		answer := messageBuilder{counts: k}
		answer.addResult(s.Text("toolCallId"), [][]byte{textBlock(continueOutput(s))}, s.Text("status") == "errored", s.Span)
		answer.appendTo(b, u, "user")
	}
}

// continueOutput is what is sent of a state.
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

// repair gives calls without a state one, and states without a call theirs, which they keep a copy of.
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
			e.addChange(ch, wire.ActionInsert, f.Rule, f.IDs, len(text), "a stub: %s", text)
		case f.Rule == "orphan-result" && c.restoreCall(e, f.unit, id):
			e.addChange(ch, wire.ActionInsert, f.Rule, f.IDs, 0, "the call, which the state of the result has a copy of")
		case f.Rule == "orphan-result" || f.Rule == "duplicate-result" || f.Rule == "displaced-result":
			text := t.Request.Text(f.Block)
			c.dropResult(e, f.unit, id)
			e.unit(f.unit).after = append(e.unit(f.unit).after, continueText(transcript.User, quote(quotation+text)))
			e.addChange(ch, wire.ActionEdit, f.Rule, f.IDs, 0, "a result whose call is not in the history, kept as quoted text")
		}
	}
	return nil
}

// addTo adds an element to a list of a unit, which need not be there yet.
func (e *edits) appendToList(u int, name string, element []byte) {
	body := e.unitBytes(u)
	o := objectOf(body)
	var all [][]byte
	for _, at := range o.List(name) {
		all = append(all, body[at.Start:at.End])
	}
	e.setMembers(u, name, array(append(all, element)...))
}

// continueState writes the state of a call that has ended with a text.
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

// restores puts the call of a state back into its message.
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

// dropResult takes the last state of an id out of a unit, or the unit, if it is a result.
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

// continueSays writes an item with a text.
func continueText(role transcript.Role, text []byte) []byte {
	return write("message", write("role", role.String(), "content", text), "contextItems", []byte("[]"))
}

// shorten takes items out, calls with their states, and makes outputs shorter.
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

// shortenItem makes an item what is left of its messages.
func (continues) shortenItem(e *edits, t *Thread, g unitGroup) {
	u, first, end := g.unit, g.first, g.end
	tr := t.Request.Transcript()
	message := func(i int) object {
		raw := g.kept[i].raw
		if raw == nil {
			raw = tr.Bytes(tr.Messages()[i].Span)
		}
		return objectOf(raw)
	}
	item := e.file.object(u)
	m := item.Object("message")
	outputs := make(map[string]string) // of the results that stay
	head := object{}
	for i := first; i < end; i++ {
		if _, ok := g.kept[i]; !ok {
			continue
		}
		x := message(i)
		blocks := x.List("content")
		if len(blocks) == 1 {
			if b := objectAt(x.Raw, blocks[0]); b.Text("type") == "tool_result" {
				outputs[b.Text("tool_use_id")] = resultText(x.Raw, b)
				continue
			}
		}
		head = x
	}
	if m.Text("role") == "tool" {
		e.setMembers(u, "message", m.With("content", quote(outputs[m.Text("toolCallId")])))
		return
	}
	text, calls := leftOf(head)
	var pairs []any
	if was, _ := leftOf(objectAt(tr.Bytes(tr.Messages()[first].Span), jsonspan.Span{End: tr.Messages()[first].Span.Len()})); was != text {
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
	e.setMembers(u, "message", m.With(pairs...))
	var states [][]byte
	for _, at := range item.List("toolCallStates") {
		s := objectAt(e.file.raw, at)
		said, ok := outputs[s.Text("toolCallId")]
		switch {
		case !ok:
		case said == continueOutput(s):
			states = append(states, bytes.Clone(e.file.raw[at.Start:at.End]))
		default:
			states = append(states, objectAt(e.file.raw, at).With("output", array(write("content", said, "name", "Tool Result", "description", "Tool execution result"))))
		}
	}
	if item.Has("toolCallStates") {
		e.setMembers(u, "toolCallStates", array(states...))
	}
}
