package agentlog

import (
	"bytes"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/wording"
)

// shorten appends the record that Codex itself writes for a compaction, with the items from which
// the session continues.
func (codex) shorten(e *edits, t *Thread, plan *pare.Plan) error {
	last, hasEnvelopes := -1, false
	for i := range e.file.units {
		if o := e.file.object(i); o.Has("payload") {
			hasEnvelopes = true
			if o.Text("timestamp") != "" {
				last = i
			}
		}
	}
	if !hasEnvelopes { // the oldest layout has no such record
		return ErrShorten
	}
	r := plan.Result()
	tr := r.Transcript()
	var items [][]byte
	for i, m := range tr.Messages() {
		if t.hasPrompt && i == len(tr.Messages())-1 && bytes.Contains(tr.Bytes(m.Span), []byte(promptText)) {
			break
		}
		item := tr.Bytes(m.Span)
		if o := objectOf(item); o.Has("role") && !o.Has("type") {
			item = codexMessage(o)
		}
		items = append(items, item)
	}
	summary := findSummary(plan)
	if summary == "" {
		summary = wording.LeftOut
	}
	stamp := ""
	if last >= 0 {
		stamp = nextMillisecond(e.file.object(last).Text("timestamp"))
	}
	e.appended = append(e.appended, write("timestamp", stamp, "type", "compacted", "payload", write("message", summary, "replacement_history", array(items...))))
	renumberOrdinals(e)
	return nil
}

// codexMessage returns a message in the form of a rollout: with a type and a list as its content.
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
