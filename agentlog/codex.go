package agentlog

import (
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// codex reads the rollouts of Codex: items of the Responses API, one in each line,
// bare in the old layout and as the payload of an envelope in the new one. After a
// compaction only what follows is sent; what is in front of it lies dormant. Codex
// writes its requests anew from these items and leaves their ids out, so only
// pairs are checked.
type codex struct{}

var codexRow = row{format: Codex, name: "codex", maker: "Codex", dialect: wire.OpenAIResponses, form: codex{}, line: codexLine}

func codexLine(o object) evidence {
	kind := o.text("type")
	switch {
	case o.has("payload") && codexEnvelopes[kind], o.text("record_type") == "state",
		o.has("instructions") && o.has("timestamp") && o.has("id") && o.has("git"):
		return proof
	case codexItems[kind] && !o.has("message") && o.has("call_id"):
		return hint
	}
	return silent
}

var codexEnvelopes = map[string]bool{
	"session_meta": true, "response_item": true, "event_msg": true, "turn_context": true, "compacted": true, "world_state": true,
}

// codexItems are the items of a request.
var codexItems = map[string]bool{
	"message": true, "reasoning": true, "function_call": true, "function_call_output": true, "custom_tool_call": true,
	"custom_tool_call_output": true, "local_shell_call": true, "local_shell_call_output": true, "tool_search_call": true, "tool_search_output": true,
	"web_search_call": true, "image_generation_call": true, "agent_message": true, "compaction": true, "compaction_summary": true,
	"mcp_tool_call_output": true,
}

var codexCalls = map[string]bool{"function_call": true, "custom_tool_call": true, "local_shell_call": true}
var codexResults = map[string]bool{
	"function_call_output": true, "custom_tool_call_output": true, "local_shell_call_output": true, "mcp_tool_call_output": true,
}

func (codex) read(l *Log) {
	l.readLines()
	type item struct {
		unit int
		at   jsonspan.Span
	}
	var items []item
	all, counted, model, live := newTalk(), newTalk(), "", 0
	for i, u := range l.units {
		o := objectAt(l.raw, u.span)
		kind, payload := o.text("type"), o
		switch {
		case o.has("payload") && kind == "compacted":
			live = len(items)
			continue
		case o.has("payload") && kind == "turn_context":
			if m := o.object("payload").text("model"); m != "" {
				model = m
			}
			continue
		case o.has("payload") && kind != "response_item":
			continue
		case o.has("payload"):
			payload = o.object("payload")
			kind = payload.text("type")
		}
		if !codexItems[kind] {
			continue
		}
		items = append(items, item{i, payload.span})
		switch id := payload.text("call_id"); {
		case codexCalls[kind]:
			counted.calls[id]++
			all.calls[id]++
		case codexResults[kind]:
			counted.results[id]++
			all.results[id]++
		case strings.HasSuffix(kind, "_call"):
			all.calls[id]++
		case strings.HasSuffix(kind, "_output"):
			all.results[id]++
		}
	}
	if len(items) > 0 {
		l.count(counted, len(items))
	}
	part := func(name string, kind Kind, from, to int) {
		if from == to {
			return
		}
		b := l.newBody(wire.OpenAIResponses, model)
		n := 0
		for _, it := range items[from:to] {
			n += it.at.Len() + 1
		}
		b.reserve(n)
		for _, it := range items[from:to] {
			b.copy(it.unit, l.raw, it.at)
		}
		if t := l.thread(name, kind, wire.OpenAIResponses, model, b, nil); t != nil {
			t.pairs, t.talk = true, all // tool searches have partners too, but are not counted
		}
	}
	part("dormant", Dormant, 0, live)
	part("main", Main, live, len(items))
}

func (c codex) mend(e *edits, t *Thread, o Options) error { return mendFlat(c, e, t, o) }

// wrap writes an item as the unit of another one is written.
func (codex) wrap(l *Log, like int, item []byte) []byte {
	o := objectAt(l.raw, l.units[like].span)
	if !o.has("payload") {
		return item
	}
	return write("timestamp", o.value("timestamp"), "type", "response_item", "payload", item)
}

func (c codex) stub(l *Log, t *Thread, call transcript.BlockID, text string) []byte {
	tr := t.Request.Transcript()
	blk := tr.Block(call)
	m := tr.Messages()[blk.Message]
	o := objectAt(tr.Raw(), jsonspan.Span(m.Span))
	kind := o.text("type") + "_output"
	if kind == "tool_search_call_output" {
		return nil
	}
	if kind == "local_shell_call_output" { // Codex answers it like a function
		kind = "function_call_output"
	}
	return c.wrap(l, t.parts[blk.Message].unit, write("type", kind, "call_id", blk.CallID, "output", text))
}

func (c codex) quote(l *Log, t *Thread, result transcript.BlockID, text string) []byte {
	item := write("type", "message", "role", "user", "content", array(write("type", "input_text", "text", text)))
	return c.wrap(l, t.parts[t.Request.Transcript().Block(result).Message].unit, item)
}

func (codex) without(*Log, *Thread, transcript.BlockID) []byte { return nil }
