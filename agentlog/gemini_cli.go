package agentlog

import (
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// geminiCLI reads the chats of Gemini CLI. A message of the model holds its calls,
// and each call holds its result. On resume a call is sent with or without a
// result, just as it is recorded; a call without one is refused.
//
// Older versions keep one object with all messages. Later ones keep lines: a
// message is written again whenever it changes, and the last line of an id counts;
// $rewindTo takes a message and all behind it back, $set may replace all of them.
type geminiCLI struct{}

var geminiRow = row{format: GeminiCLI, name: "gemini-cli", maker: "Gemini CLI", dialect: wire.Gemini, form: geminiCLI{}, line: geminiLine, document: isChat}

// isChat reports whether a value is a chat of the older versions.
func isChat(raw []byte, at jsonspan.Span) bool {
	o := objectAt(raw, at)
	return o.has("sessionId") && o.has("messages") && (o.has("projectHash") || o.has("startTime"))
}

func geminiLine(o object) evidence {
	if o.has("sessionId") && o.has("projectHash") || o.has("$rewindTo") {
		return proof
	}
	return silent
}

// A record is where a message of a chat stands.
type record struct {
	id   string
	unit int
	at   jsonspan.Span
}

func (g geminiCLI) read(l *Log) {
	if at, ok := one(l.raw); ok && l.raw[at.Start] == '{' {
		o := objectAt(l.raw, at)
		if v, ok := o.get("messages"); ok && l.raw[v.Start] == '[' {
			all := l.readList(v)
			var records []record
			for i := all.first; i < all.end; i++ {
				records = append(records, record{unit: i, at: l.units[i].span})
			}
			g.thread(l, records)
			return
		}
	}
	l.readLines()
	g.thread(l, g.fold(l))
}

// fold goes through the lines of a chat and returns the messages that are left.
func (geminiCLI) fold(l *Log) []record {
	var all []record
	index := make(map[string]int)
	replace := func(unit int, list []jsonspan.Span) {
		all, index = nil, make(map[string]int)
		for _, e := range list {
			id := objectAt(l.raw, e).text("id")
			index[id] = len(all)
			all = append(all, record{id, unit, e})
		}
	}
	for i, u := range l.units {
		o := objectAt(l.raw, u.span)
		id := o.text("id")
		switch {
		case o.has("$rewindTo"):
			k, ok := index[o.text("$rewindTo")]
			if !ok {
				k = 0
			}
			for _, r := range all[k:] {
				delete(index, r.id)
			}
			all = all[:k]
		case o.has("$set"):
			if set := o.object("$set"); set.has("messages") {
				replace(i, set.list("messages"))
			}
		case id == "" && o.has("messages"):
			replace(i, o.list("messages"))
		case id == "" || !o.has("type"):
		default:
			k, ok := index[id]
			if !ok {
				k = len(all)
				index[id] = k
				all = append(all, record{})
			}
			all[k] = record{id, i, u.span}
		}
	}
	return all
}

func (g geminiCLI) thread(l *Log, records []record) {
	k, n, model := newTalk(), 0, ""
	b := l.newBody(wire.Gemini, "")
	for _, r := range records {
		m := objectAt(l.raw, r.at)
		if len(m.members) == 0 {
			continue
		}
		n++
		if name := m.text("model"); name != "" {
			model = name
		}
		switch m.text("type") {
		case "user":
			if parts, at := geminiParts(m); parts != nil {
				b.put(r.unit, write("role", "user", "parts", array(parts...)), at)
			}
		case "gemini":
			if g.turn(l, b, r.unit, m, k) {
				n++
			}
		}
	}
	if n == 0 {
		return
	}
	l.count(k, n)
	if len(b.parts) == 0 {
		return
	}
	if t := l.thread("main", Main, wire.Gemini, model, b, nil); t != nil {
		t.pairs, t.talk = true, k
	}
}

// geminiParts writes the content of a message, a string or parts, as texts.
func geminiParts(m object) (parts [][]byte, at []jsonspan.Span) {
	v, ok := m.get("content")
	if !ok {
		return nil, nil
	}
	switch m.raw[v.Start] {
	case '"':
		if v.Len() > 2 {
			return [][]byte{write("text", m.raw[v.Start:v.End])}, []jsonspan.Span{v}
		}
	case '[':
		for _, e := range jsonspan.Elements(m.raw, v) {
			if t := objectAt(m.raw, e).value("text"); len(t) > 2 && t[0] == '"' {
				parts, at = append(parts, write("text", t)), append(at, e)
			}
		}
	}
	return parts, at
}

// turn adds a message of the model, and its results as the message behind it; true
// if there are any.
func (geminiCLI) turn(l *Log, b *bodyBuilder, i int, m object, k *talk) bool {
	parts, at := geminiParts(m)
	var answers [][]byte
	var from []jsonspan.Span
	for _, c := range m.list("toolCalls") {
		call := objectAt(l.raw, c)
		id, name := call.text("id"), call.text("name")
		args := call.value("args")
		if len(args) == 0 || args[0] != '{' {
			args = []byte("{}")
		}
		parts = append(parts, write("functionCall", write("id", id, "name", name, "args", args)))
		at = append(at, c)
		k.calls[id]++
		for _, r := range geminiResults(call) {
			answers, from = append(answers, write("functionResponse", r)), append(from, c)
			k.results[objectAt(r, jsonspan.Span{Start: 0, End: len(r)}).text("id")]++
		}
	}
	if len(parts) > 0 {
		b.put(i, write("role", "model", "parts", array(parts...)), at)
	}
	if len(answers) > 0 {
		b.put(i, write("role", "user", "parts", array(answers...)), from)
	}
	return len(answers) > 0
}

// geminiResults returns the function responses that a call holds.
func geminiResults(call object) [][]byte {
	v, ok := call.get("result")
	if !ok {
		return nil
	}
	all := []jsonspan.Span{v}
	if call.raw[v.Start] == '[' {
		all = jsonspan.Elements(call.raw, v)
	}
	var out [][]byte
	for _, e := range all {
		if r := objectAt(call.raw, e).value("functionResponse"); len(r) > 0 && r[0] == '{' {
			out = append(out, r)
		}
	}
	return out
}

// mend writes a result into calls that have none. A result under a wrong id gets
// that of the call it is in. In a chat of lines the message can be written once more
// behind the others.
func (g geminiCLI) mend(e *edits, t *Thread, o Options) error {
	done := make(map[int]bool)  // calls, by place
	again := make(map[int]bool) // units to be written once more
	var order []int
	tr := t.Request.Transcript()
	for _, f := range e.l.checkThread(t, o.Check) {
		if f.Block == transcript.NoBlock || done[f.Offset] || f.Open && o.Repair.Open {
			continue
		}
		p := t.parts[f.Index]
		at := p.blocks[f.Block-tr.Messages()[f.Index].First]
		call := objectAt(e.l.raw, at)
		if !call.has("name") {
			continue
		}
		if o.AppendOnly && (e.l.lists != nil || !e.l.object(p.unit).has("id")) {
			return ErrAppendOnly
		}
		done[f.Offset] = true
		if !again[p.unit] {
			again[p.unit] = true
			order = append(order, p.unit)
		}
		text := stubText(o.Repair, tr, f.Block)
		raw, action, why := g.answer(call, text)
		e.replaceIn(p.unit, at.Start, at.Len(), raw)
		e.log(Change{Thread: t.Name, Line: f.Line}, action, f.Rule, f.IDs, len(raw)-at.Len(), "%s", why)
	}
	if o.AppendOnly {
		for _, u := range order {
			e.end = append(e.end, e.body(u))
			delete(e.units, u)
		}
	}
	return nil
}

// answer writes a call with a result that carries its id: a stub if it has none.
func (geminiCLI) answer(call object, text string) (raw []byte, action, why string) {
	id, name := call.text("id"), call.text("name")
	if results := geminiResults(call); len(results) > 0 {
		r := setMembers(results[0], jsonspan.Span{Start: 0, End: len(results[0])}, "id", id, "name", name)
		return setMembers(call.raw, call.span, "result", array(write("functionResponse", r))), "edit", "the result of a call carries its id"
	}
	r := write("id", id, "name", name, "response", write("error", text))
	raw = setMembers(call.raw, call.span, "result", array(write("functionResponse", r)), "status", "error")
	return raw, "insert", "a stub: " + text
}
