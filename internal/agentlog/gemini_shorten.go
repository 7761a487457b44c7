package agentlog

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/transcript"
)

// shorten repeats all remaining messages in a $set at the end, as Gemini CLI does at each resume.
// In a chat that is one object, it rewrites the list. A changed message is written with only its
// content, which includes the calls.
func (g geminiCLI) shorten(e *edits, t *Thread, plan *pare.Plan) error {
	before, after := t.Request, plan.Result()
	of := make(map[int][]int) // messages by index of their record
	record := g.recordsOf(e.file, t)
	for i, r := range record {
		of[r] = append(of[r], i)
	}
	old, now := before.Transcript(), after.Transcript()
	same := func(i int) int { // returns the index of the equal old message, or -1
		o := dialect.MessageIn(after, before, i)
		if o < 0 || o >= len(t.sources) || !bytes.Equal(old.Bytes(old.Messages()[o].Span), now.Bytes(now.Messages()[i].Span)) {
			return -1
		}
		return o
	}
	var all [][]byte
	stamp := ""
	for i := 0; i < len(now.Messages()); i++ {
		m := now.Messages()[i]
		if o := same(i); o >= 0 {
			group := of[record[o]]
			complete := o == group[0]
			for k := range group {
				complete = complete && i+k < len(now.Messages()) && same(i+k) == group[k]
			}
			if complete {
				r := e.file.chatRecords[record[o]]
				all = append(all, g.withoutUsage(e.file.raw[r.at.Start:r.at.End]))
				i += len(group) - 1
				continue
			}
		}
		if o := dialect.MessageIn(after, before, i); o >= 0 && o < len(record) {
			if s := objectAt(e.file.raw, e.file.chatRecords[record[o]].at).Text("timestamp"); s != "" {
				stamp = s
			}
		}
		all = append(all, geminiMessage(m.Role, now.Bytes(m.Span), stamp, i))
	}
	if e.file.lists != nil {
		e.newElements = all
		return nil
	}
	updated := ""
	for _, r := range e.file.chatRecords {
		if s := objectAt(e.file.raw, r.at).Text("timestamp"); s > updated {
			updated = s
		}
	}
	e.appended = append(e.appended, write("$set", write("messages", array(all...), "lastUpdated", nextMillisecond(updated))))
	return nil
}

// recordsOf returns the index of the record from which each message of the thread was built.
func (g geminiCLI) recordsOf(l *Log, t *Thread) []int {
	var all []int
	for k, r := range l.chatRecords {
		m := objectAt(l.raw, r.at)
		if len(m.Members) == 0 {
			continue
		}
		b := &bodyBuilder{body: []byte("[")}
		switch m.Text("type") {
		case "user":
			if text := geminiContent(m); !isUnsentUserMessage(text) {
				text.appendTo(b, r.unit, "user")
			}
		case "gemini":
			g.appendModelMessage(l, b, r.unit, m, newPairCounts())
		}
		for range b.parts {
			all = append(all, k)
		}
	}
	return all
}

// withoutUsage removes the token counts of the original request from a message.
func (geminiCLI) withoutUsage(message []byte) []byte {
	if objectOf(message).Has("tokens") {
		return objectOf(message).Without("tokens")
	}
	return message
}

// geminiMessage returns a message of a chat with the given content.
func geminiMessage(role transcript.Role, content []byte, stamp string, i int) []byte {
	kind := "user"
	if role == transcript.Assistant {
		kind = "gemini"
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "pare\x00%d\x00%s", i, content))
	id := fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	return write("id", id, "timestamp", stamp, "type", kind, "content", objectOf(content).Value("parts"))
}
