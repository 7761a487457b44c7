package agentlog

import (
	"bytes"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/wording"
)

// shorten appends the record with which Codex itself notes a compaction: it holds the items
// that it goes on with.
func (codex) shorten(e *edits, t *Thread, plan *pare.Plan) error {
	last, some := -1, false
	for i := range e.l.units {
		if o := e.l.object(i); o.Has("payload") {
			some = true
			if o.Text("timestamp") != "" {
				last = i
			}
		}
	}
	if !some { // the oldest layout has no such record
		return ErrShorten
	}
	r := plan.Result()
	tr := r.Transcript()
	var items [][]byte
	for i, m := range tr.Messages() {
		if t.prompt && i == len(tr.Messages())-1 && bytes.Contains(tr.Bytes(m.Span), []byte(promptText)) {
			break
		}
		item := tr.Bytes(m.Span)
		if o := objectOf(item); o.Has("role") && !o.Has("type") {
			item = codexMessage(o)
		}
		items = append(items, item)
	}
	summary := summaryOf(plan)
	if summary == "" {
		summary = wording.LeftOut
	}
	stamp := ""
	if last >= 0 {
		stamp = later(e.l.object(last).Text("timestamp"))
	}
	e.end = append(e.end, write("timestamp", stamp, "type", "compacted", "payload", write("message", summary, "replacement_history", array(items...))))
	renumber(e)
	return nil
}

// codexMessage writes a message in the way of a rollout: with its type, and a list as its content.
func codexMessage(o object) []byte {
	content, ok := o.Get("content")
	if !ok || o.Raw[content.Start] != '"' {
		return o.With("type", "message")
	}
	kind := "input_text"
	if o.Text("role") == "assistant" {
		kind = "output_text"
	}
	return write("type", "message", "role", o.Text("role"), "content", array(write("type", kind, "text", o.Raw[content.Start:content.End])))
}
