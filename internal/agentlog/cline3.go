package agentlog

import (
	"cmp"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// cline3 reads ID.messages.json, which Cline keeps since version 3: one object with a list of
// messages. They resemble Anthropic messages, but tool results are records with query, result and
// success. Cline rebuilds its requests from them. Seen in files of 3.0.65.
type cline3 struct{}

// cline3Row identifies the file by members that no request has. Two of them are enough, so that
// losing one does not turn the file into a request. A file that was written twice has two such
// lines.
var cline3Row = formatSpec{
	format: Cline3, name: "cline-3", maker: "Cline 3", dialect: wire.Anthropic, form: cline3{}, lenientUTF8: true,
	lineEvidence: strongIf(isCline3), isDocument: isCline3,
	unitUsage: usageAt("metrics", []string{"inputTokens", "cacheReadTokens", "cacheWriteTokens"}, []string{"outputTokens"}),
}

func isCline3(o object) bool {
	list, ok := o.Get("messages")
	if !ok || o.Raw[list.Start] != '[' {
		return false
	}
	n := 0
	for _, name := range []string{"updated_at", "sessionId", "agent", "systemPrompt", "system_prompt"} {
		if o.Has(name) {
			n++
		}
	}
	return n >= 2
}

func (c cline3) read(l *Log) {
	l.readListDocument("messages", func(b *bodyBuilder, u int, m object, pairs *pairCounts) (model string) {
		if !m.Has("role") {
			l.damageUnit(u, "skipped-message")
			return ""
		}
		c.appendMessage(l, b, u, m, pairs)
		return m.Object("modelInfo").Text("id")
	})
}

func (cline3) appendMessage(l *Log, b *bodyBuilder, u int, m object, pairs *pairCounts) {
	t := messageBuilder{counts: pairs}
	if v, ok := m.Get("content"); ok && l.raw[v.Start] == '"' {
		t.addText(l.raw[v.Start:v.End], v)
	}
	for _, c := range m.Items("content") {
		switch c.Text("type") {
		case "text":
			t.addText(c.Value("text"), c.Span)
		case "tool_use":
			t.addCall(c.Text("id"), c.Text("name"), c.Value("input"), c.Span)
		case "tool_result":
			t.addResult(c.Text("tool_use_id"), [][]byte{textBlock(cline3ResultText(c))}, c.Is("is_error"), c.Span)
		}
	}
	t.appendTo(b, u, roleOf(m.Text("role")))
}

// cline3ResultText returns the text of a tool result: a string, or the results of its records.
func cline3ResultText(c object) string {
	v, ok := c.Get("content")
	if !ok {
		return ""
	}
	if c.Raw[v.Start] == '"' {
		return textAt(c.Raw, v)
	}
	var all []string
	for _, at := range c.List("content") {
		r := objectAt(c.Raw, at)
		all = append(all, cmp.Or(r.Text("result"), r.Text("text"), r.Text("error")))
	}
	return strings.Join(all, "\n")
}

// newMessage returns a message that follows unit u.
func (cline3) newMessage(l *Log, u int, role string, content ...[]byte) []byte {
	o := l.object(u)
	id := derivedUUID(append([]byte(o.Text("id")), array(content...)...), role)
	return write("id", "msg_pare_"+id[:8], "role", role, "content", array(content...), "ts", o.Mark("ts"))
}

func (c cline3) stub(l *Log, t *Thread, call transcript.BlockID, text string) []byte {
	blk := t.Request.Transcript().Block(call)
	record := write("query", "", "result", text, "success", []byte("false"))
	return c.newMessage(l, t.sources[blk.Message].unit, "user", write("type", "tool_result", "tool_use_id", blk.CallID, "name", blk.Tool, "content", array(record)))
}

// quoteUnit returns the message with the result replaced by a text.
func (cline3) quoteUnit(l *Log, t *Thread, result transcript.BlockID, text string) []byte {
	return goose{}.quoteUnit(l, t, result, text)
}

func (c cline3) withoutBlock(l *Log, t *Thread, half transcript.BlockID) []byte {
	return withoutElement(l, t, half, c.elements)
}

func (cline3) elements(o object) []jsonspan.Span { return o.List("content") }

func (c cline3) unitFor(l *Log, u int, element []byte) []byte {
	return c.newMessage(l, u, "user", element)
}

// shorten removes messages and shortens results. Cline stores only the messages that it sends.
func (c cline3) shorten(e *edits, t *Thread, plan *pare.Plan) error {
	if _, err := shortenUnits(c, e, t, plan); err != nil {
		return err
	}
	for _, p := range t.sources { // the counts included the removed messages
		if used := e.file.object(p.unit).Object("metrics"); len(used.Members) > 0 && !e.dropped(p.unit) {
			e.setMembers(p.unit, "metrics", used.With("inputTokens", 0, "cacheReadTokens", 0, "cacheWriteTokens", 0))
		}
	}
	return nil
}

// rewrite returns a message with its remaining blocks.
func (cline3) rewrite(l *Log, u int, now object) ([]byte, bool) {
	o := l.object(u)
	text, calls := leftOf(now)
	results := make(map[string]string)
	for _, at := range now.List("content") {
		if b := objectAt(now.Raw, at); b.Text("type") == "tool_result" {
			results[b.Text("tool_use_id")] = resultText(now.Raw, b)
		}
	}
	var content [][]byte
	for _, at := range o.List("content") {
		c := objectAt(l.raw, at)
		switch c.Text("type") {
		case "tool_use":
			if _, ok := calls[c.Text("id")]; ok {
				content = append(content, l.raw[at.Start:at.End])
			}
		case "tool_result":
			said, ok := results[c.Text("tool_use_id")]
			switch {
			case !ok:
			case said == cline3ResultText(c):
				content = append(content, l.raw[at.Start:at.End])
			default:
				content = append(content, objectAt(l.raw, at).With("content", array(write("query", "", "result", said, "success", []byte("true")))))
			}
		case "text":
			if strings.Contains(text, c.Text("text")) {
				content = append(content, l.raw[at.Start:at.End])
			}
		default:
			content = append(content, l.raw[at.Start:at.End])
		}
	}
	if len(content) == 0 {
		content = append(content, textBlock(text))
	}
	return o.With("content", array(content...)), true
}

// newText returns a message with a text that follows unit u.
func (c cline3) newText(l *Log, u int, role transcript.Role, text []byte) []byte {
	return c.newMessage(l, u, role.String(), textBlock(text))
}
