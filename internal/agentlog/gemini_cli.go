package agentlog

import (
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/wire"
)

// geminiCLI reads the chats of Gemini CLI as it does when it resumes one. A message of the model
// holds its calls as toolCalls, each with its result, or as parts of its content, which take
// precedence. The responses may be repeated in a message of the user and are then sent twice.
//
// Older versions keep one object with all messages. Later versions keep lines: a message is written
// again whenever it changes, and the last line with an id counts. $rewindTo removes a message and
// all later ones, and $set may replace all messages.
type geminiCLI struct{}

var geminiRow = formatSpec{
	format: GeminiCLI, name: "gemini-cli", maker: "Gemini CLI", dialect: wire.Gemini, form: geminiCLI{},
	lenientUTF8: true, lineEvidence: geminiLine, isDocument: isChat, targetPercent: 40,
	// Cached tokens are included in the input.
	unitUsage: usageAt("tokens", []string{"input"}, []string{"output", "thoughts"}),
}

// isChat reports whether a value is a chat of the older versions.
func isChat(o object) bool {
	return o.Has("sessionId") && o.Has("messages") && (o.Has("projectHash") || o.Has("startTime"))
}

// geminiLine returns strong evidence also for messages of the model and for replacements of
// messages, because a chat may have lost its head.
func geminiLine(o object) evidence {
	switch kind := o.Kind(); {
	case kind == "gemini" && o.Has("id") && o.Has("timestamp") && o.Has("content"),
		o.Has("sessionId") && o.Has("projectHash"),
		kind == "" && (o.Has("$rewindTo") || o.Object("$set").Has("lastUpdated") || o.Object("$set").Has("messages")):
		return strongEvidence
	}
	return noEvidence
}

// A chatRecord is the place of a message of a chat.
type chatRecord struct {
	id   string
	unit int
	at   jsonspan.Span
}

func (g geminiCLI) read(l *Log) {
	if at, ok := soleValue(l.raw); ok && l.raw[at.Start] == '{' {
		o := objectAt(l.raw, at)
		if v, ok := o.Get("messages"); ok && l.raw[v.Start] == '[' {
			all := l.readList(v)
			for i := all.first; i < all.end; i++ {
				l.chatRecords = append(l.chatRecords, chatRecord{unit: i, at: l.units[i].span})
			}
			g.addThread(l)
			return
		}
	}
	l.readLines()
	if len(l.units) == 0 { // a truncated chat of the older versions has no lines
		l.damage, l.missingNewlines = nil, nil
		l.markUnreadable()
		return
	}
	f := replayGemini(l)
	l.chatRecords = f.records()
	if !f.hasHead && len(l.chatRecords) > 0 {
		l.reportLostHead()
	}
	g.addThread(l)
}

func (g geminiCLI) addThread(l *Log) {
	pairs, messages, model := newPairCounts(), 0, ""
	body := l.newBodyBuilder(wire.Gemini, "")
	for _, r := range l.chatRecords {
		m := objectAt(l.raw, r.at)
		if len(m.Members) == 0 {
			continue
		}
		messages++
		if name := m.Text("model"); name != "" {
			model = name
		}
		switch m.Text("type") {
		case "user":
			t := geminiContent(m)
			if !isUnsentUserMessage(t) {
				g.countResponses(t.blocks, pairs)
				t.appendTo(body, r.unit, "user")
			}
		case "gemini":
			if g.appendModelMessage(l, body, r.unit, m, pairs) {
				messages++
			}
		}
	}
	if messages == 0 {
		return
	}
	l.addToTally(pairs, messages)
	l.addPairsThread("main", Main, model, body, pairs)
}

// geminiContent returns the parts of a message's content, which is a string, a part or a list of
// them.
func geminiContent(m object) *messageBuilder {
	t := &messageBuilder{member: "parts"}
	v, ok := m.Get("content")
	if !ok {
		return t
	}
	elements := []jsonspan.Span{v}
	if m.Raw[v.Start] == '[' {
		elements = jsonspan.Elements(m.Raw, v)
	}
	for _, e := range elements {
		switch m.Raw[e.Start] {
		case '"':
			if e.Len() > 2 {
				t.add(write("text", m.Raw[e.Start:e.End]), e)
			}
		case '{':
			t.add(m.Raw[e.Start:e.End], e)
		}
	}
	return t
}

// isUnsentUserMessage reports whether Gemini CLI does not send a message of the user: an empty one,
// a command, or the context that the program adds to each session.
func isUnsentUserMessage(t *messageBuilder) bool {
	var b strings.Builder
	for _, p := range t.blocks {
		o := objectOf(p)
		if text := o.Text("text"); text != "" {
			b.WriteString(text)
		} else if !o.Has("text") {
			return false
		}
	}
	text := strings.TrimSpace(b.String())
	for _, mark := range []string{"/", "?", "<session_context>", "<hook_context>"} {
		if strings.HasPrefix(text, mark) {
			return true
		}
	}
	return text == ""
}

func (geminiCLI) countResponses(parts [][]byte, pairs *pairCounts) {
	for _, p := range parts {
		o := objectOf(p)
		if r := o.Object("functionResponse"); len(r.Members) > 0 {
			pairs.results[r.Text("id")]++
		}
	}
}

// appendModelMessage adds a message of the model and a second message with the results of its
// calls. It reports whether there was a second one.
func (g geminiCLI) appendModelMessage(l *Log, body *bodyBuilder, unit int, m object, pairs *pairCounts) bool {
	t, own := geminiContent(m), false
	for _, p := range t.blocks {
		o := objectOf(p)
		if call := o.Object("functionCall"); len(call.Members) > 0 {
			own = true
			pairs.calls[call.Text("id")]++
		}
	}
	answers := &messageBuilder{member: "parts"}
	for _, c := range m.List("toolCalls") {
		call := objectAt(l.raw, c)
		if !own {
			id, args := call.Text("id"), call.Value("args")
			if len(args) == 0 || args[0] != '{' {
				args = []byte("{}")
			}
			t.add(write("functionCall", write("id", id, "name", call.Text("name"), "args", args)), c)
			pairs.calls[id]++
		}
		for _, r := range geminiResults(call) {
			answers.add(r, c)
		}
	}
	if len(t.blocks) == 0 { // not sent
		return false
	}
	g.countResponses(answers.blocks, pairs)
	t.appendTo(body, unit, "model")
	answers.appendTo(body, unit, "user")
	return len(answers.blocks) > 0
}

// geminiResults returns the result parts of a call.
func geminiResults(call object) [][]byte {
	v, ok := call.Get("result")
	if !ok {
		return nil
	}
	switch call.Raw[v.Start] {
	case '"':
		if v.Len() <= 2 {
			return nil
		}
		output := write("output", call.Raw[v.Start:v.End])
		return [][]byte{write("functionResponse", write("id", call.Text("id"), "name", call.Text("name"), "response", output))}
	case '{':
		return [][]byte{call.Raw[v.Start:v.End]}
	case '[':
		var out [][]byte
		for _, e := range jsonspan.Elements(call.Raw, v) {
			switch call.Raw[e.Start] {
			case '"':
				out = append(out, write("text", call.Raw[e.Start:e.End]))
			case '{':
				out = append(out, call.Raw[e.Start:e.End])
			}
		}
		return out
	}
	return nil
}
