package agentlog

import (
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// geminiCLI reads the chats of Gemini CLI. A message of the model holds its calls,
// and each call holds its result. On resume a call is sent with or without a
// result, just as it is recorded; a call without one is refused.
type geminiCLI struct{}

func (g geminiCLI) read(l *Log) {
	at, ok := l.document()
	if !ok {
		return
	}
	o := objectAt(l.raw, at)
	v, ok := o.get("messages")
	if !ok || l.raw[v.Start] != '[' {
		return
	}
	all := l.readList(v)
	k, n, model := newTalk(), 0, ""
	b := l.newBody(wire.Gemini, "")
	for i := all.first; i < all.end; i++ {
		m := objectAt(l.raw, l.units[i].span)
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
				b.put(i, write("role", "user", "parts", array(parts...)), at)
			}
		case "gemini":
			if g.turn(l, b, i, m, k) {
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
// that of the call it is in.
func (geminiCLI) mend(e *edits, t *Thread, o Options) error {
	done := make(map[int]bool) // calls, by place
	tr := t.Request.Transcript()
	for _, f := range e.l.checkThread(t, o.Check) {
		if f.Block == transcript.NoBlock || done[f.Offset] || f.Open && o.Repair.Open {
			continue
		}
		if o.AppendOnly {
			return ErrAppendOnly
		}
		p := t.parts[f.Index]
		at := p.blocks[f.Block-tr.Messages()[f.Index].First]
		call := objectAt(e.l.raw, at)
		if !call.has("name") {
			continue
		}
		done[f.Offset] = true
		results := geminiResults(call)
		text := stubText(o.Repair, tr, f.Block)
		action, why := "edit", "the result of a call carries its id"
		if len(results) == 0 {
			action, why = "insert", "a stub: "+text
			results = [][]byte{write("id", call.text("id"), "name", call.text("name"), "response", write("error", text))}
		} else {
			results = results[:1]
			r := results[0]
			results[0] = setMembers(r, jsonspan.Span{Start: 0, End: len(r)}, "id", call.text("id"), "name", call.text("name"))
		}
		pairs := []any{"result", array(write("functionResponse", results[0]))}
		if action == "insert" {
			pairs = append(pairs, "status", "error")
		}
		e.replaceIn(p.unit, at.Start, at.Len(), setMembers(e.l.raw, at, pairs...))
		e.log(Change{Thread: t.Name, Line: f.Line}, action, f.Rule, f.IDs, len(text), "%s", why)
	}
	return nil
}
