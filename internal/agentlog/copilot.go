package agentlog

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// copilot reads events.jsonl of GitHub Copilot CLI: one line per event, in order of time. Copilot
// does not follow links between lines. A reply is one event with its calls; each result is another
// event. A compaction repeats all previous user input and its summary in one message, and nothing
// else before it is sent. Seen by running 1.0.102.
type copilot struct{}

var copilotRow = formatSpec{
	format: Copilot, name: "copilot", maker: "GitHub Copilot CLI", dialect: wire.Anthropic, form: copilot{}, lineEvidence: copilotLine, readCounted: lastCopilotUsage, shortensItself: true,
}

func copilotLine(o object) evidence {
	if !o.Has("data") || !o.Has("timestamp") {
		return noEvidence
	}
	kind := o.Kind()
	switch kind {
	case "session.start", "user.message", "assistant.message", "tool.execution_start", "tool.execution_complete", "assistant.turn_start", "assistant.turn_end":
		return strongEvidence
	}
	for _, of := range []string{"session.", "user.", "assistant.", "tool."} {
		if strings.HasPrefix(kind, of) && o.Has("id") {
			return weakEvidence
		}
	}
	return noEvidence
}

func (c copilot) read(l *Log) {
	l.readLines()
	if len(l.units) == 0 {
		return
	}
	if l.object(0).Text("type") != "session.start" {
		l.reportLostHead()
	}
	pairs, messages, model := newPairCounts(), 0, ""
	live, rest := l.newBodyBuilder(wire.Anthropic, ""), l.newBodyBuilder(wire.Anthropic, "")
	var prompts []string
	copies := l.findCopies("id") // the agent sends both copies
	for unit := range l.units {
		if copies[unit] {
			continue
		}
		o := l.object(unit)
		data := o.Object("data")
		if data.Text("parentToolCallId") != "" || o.Text("agentId") != "" { // of a sub-agent
			continue
		}
		switch o.Text("type") {
		case "session.start", "session.model_change":
			model = cmp.Or(data.Text("newModel"), data.Text("selectedModel"), model)
		case "session.compaction_complete":
			if data.Is("success") && data.Has("summaryContent") {
				rest, live = c.appendUnsent(l, rest, live), l.newBodyBuilder(wire.Anthropic, "")
				c.appendSummary(l, live, unit, prompts, data)
				messages++
			}
		case "user.message":
			prompts = append(prompts, data.Text("content"))
			messages += c.appendMessage(l, live, unit, data, pairs)
		case "assistant.message":
			model = cmp.Or(data.Text("model"), model)
			messages += c.appendMessage(l, live, unit, data, pairs)
		case "tool.execution_complete":
			messages += c.appendMessage(l, live, unit, data, pairs)
		}
	}
	if messages == 0 {
		return
	}
	l.addToTally(pairs, messages)
	l.addPairsThread("dormant", Dormant, "", rest, pairs)
	l.addPairsThread("main", Main, model, live, pairs)
}

// appendUnsent moves the messages of live to the end of rest.
func (copilot) appendUnsent(l *Log, rest, live *bodyBuilder) *bodyBuilder {
	if len(live.parts) == 0 {
		return rest
	}
	empty := len(l.newBodyBuilder(wire.Anthropic, "").body)
	rest.appendComma()
	rest.body = append(rest.body, live.body[empty:]...)
	rest.parts = append(rest.parts, live.parts...)
	return rest
}

// appendSummary adds the message that Copilot sends for a compaction.
func (copilot) appendSummary(l *Log, b *bodyBuilder, u int, prompts []string, data object) {
	var text strings.Builder
	text.WriteString("Some of the conversation history has been summarized to free up context.\n\n")
	for _, p := range prompts {
		fmt.Fprintf(&text, "<user_message>\n%s\n</user_message>\n", p)
	}
	fmt.Fprintf(&text, "\n<summary>\n%s\n</summary>\n", data.Text("summaryContent"))
	var t messageBuilder
	t.addText(quote(text.String()), l.units[u].span)
	t.appendTo(b, u, "user")
}

// appendMessage adds the message of an event and returns the number of messages added.
func (copilot) appendMessage(l *Log, b *bodyBuilder, u int, data object, pairs *pairCounts) int {
	role, span, t := "user", l.units[u].span, messageBuilder{counts: pairs}
	if id := data.Text("toolCallId"); id != "" {
		said, why := data.Object("result"), data.Object("error")
		text := stringOrEmpty(said.Value("content"))
		if !said.Has("content") && why.Has("message") {
			text = stringOrEmpty(why.Value("message"))
		}
		t.addResult(id, [][]byte{textBlock(text)}, string(data.Value("success")) == "false", span)
		return t.appendTo(b, u, role)
	}
	if text := data.Value("content"); len(text) > 2 && text[0] == '"' {
		t.addText(text, span)
	}
	for _, call := range data.Items("toolRequests") {
		t.addCall(call.Text("toolCallId"), call.Text("name"), call.Value("arguments"), call.Span)
	}
	if data.Has("toolRequests") || data.Has("messageId") && data.Has("model") {
		role = "assistant"
	}
	return t.appendTo(b, u, role)
}

// finish adds a missing head. Copilot does not load a session without one.
func (c copilot) finish(e *edits) {
	if !e.file.lacksHead() || e.appendOnly {
		return
	}
	first := e.file.object(0)
	folder := path.Base(path.Dir(strings.ReplaceAll(e.file.name, `\`, "/")))
	e.prependHead(write("type", "session.start", "data", write("sessionId", folder, "version", []byte("1"), "producer", "copilot-agent", "copilotVersion", "1.0.102",
		"startTime", first.Text("timestamp")), "id", derivedUUID(first.Bytes(), "head"), "timestamp", first.Text("timestamp"), "parentId", []byte("null")))
}

// newEvent returns an event that follows unit u.
func (copilot) newEvent(l *Log, u int, kind string, data []byte) []byte {
	o := l.object(u)
	return write("type", kind, "data", data, "id", derivedUUID(append([]byte(o.Text("id")), data...), kind), "timestamp", nextMillisecond(o.Text("timestamp")), "parentId", o.Text("id"))
}

func (c copilot) stub(l *Log, t *Thread, call transcript.BlockID, text string) []byte {
	blk := t.Request.Transcript().Block(call)
	u := t.sources[blk.Message].unit
	data := l.object(u)
	of := data.Object("data")
	return c.newEvent(l, u, "tool.execution_complete", write("toolCallId", blk.CallID, "interactionId", of.Value("interactionId"), "turnId", of.Value("turnId"),
		"success", []byte("false"), "result", write("content", text), "error", write("message", text)))
}

// quoteUnit returns a user message with the text of an orphan result.
func (c copilot) quoteUnit(l *Log, t *Thread, result transcript.BlockID, text string) []byte {
	u := t.unitOf(result)
	return c.newText(l, u, transcript.User, quote(text))
}

func (copilot) elements(o object) []jsonspan.Span { return o.Object("data").List("toolRequests") }

func (c copilot) withoutBlock(l *Log, t *Thread, half transcript.BlockID) []byte {
	if out := withoutElement(l, t, half, c.elements); out != nil {
		return out
	}
	u := t.unitOf(half)
	o := l.object(u)
	data := o.Object("data")
	if data.Text("content") == "" {
		return nil
	}
	return o.With("data", data.With("toolRequests", []byte("[]"))) // its text stays
}

// skipped returns the event with an unknown type, which Copilot keeps and does not send.
func (copilot) skipped(record []byte) []byte {
	return setMembers(record, "type", "pare.passed_over")
}

// shorten removes events and shortens results in place. Copilot sends every event and links none.
func (c copilot) shorten(e *edits, t *Thread, plan *pare.Plan) error {
	removed, err := shortenUnits(c, e, t, plan)
	if err != nil {
		return err
	}
	for u := range e.file.units {
		o := e.file.object(u)
		if id := o.Object("data").Text("toolCallId"); o.Text("type") == "tool.execution_start" && removed[id] {
			e.unit(u).drop = true
		}
	}
	return nil
}

// rewrite returns an event with the rest of its message.
func (copilot) rewrite(l *Log, u int, now object) ([]byte, bool) {
	o := l.object(u)
	data := o.Object("data")
	out := data.Bytes()
	if data.Has("toolCallId") {
		blocks := now.List("content")
		if len(blocks) != 1 {
			return nil, false
		}
		text := resultText(now.Raw, objectAt(now.Raw, blocks[0]))
		return o.With("data", data.With("result", write("content", text))), true
	}
	text, calls := leftOf(now)
	var requests [][]byte
	for _, at := range data.List("toolRequests") {
		call := objectAt(l.raw, at)
		if input, ok := calls[call.Text("toolCallId")]; ok {
			requests = append(requests, objectAt(l.raw, at).With("arguments", input))
		}
	}
	out = setMembers(out, "content", quote(text))
	if data.Has("toolRequests") {
		out = setMembers(out, "toolRequests", array(requests...))
	}
	return o.With("data", out), true
}

// newText returns a user message that follows unit u.
func (c copilot) newText(l *Log, u int, _ transcript.Role, text []byte) []byte {
	return c.newEvent(l, u, "user.message", write("content", text, "transformedContent", text, "attachments", []byte("[]")))
}
