package agentlog

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// OverWindow is the rule for a session that exceeds the window of its model. The provider rejects
// it, and the agent's own compaction fails for the same reason.
const OverWindow = "over-window"

// A Size is the part of its model's window that a resumed thread takes.
type Size = fullness.Size

// Rescue returns a plan that removes the oldest parts of a full thread until it takes half of the
// available room. It leaves other threads alone.
func Rescue(t *Thread, s Size) (*pare.Plan, error) { return RescueWith(t, s, pare.Policy{}, 0) }

// RescueWith is like Rescue with a policy and a target in tokens, or in percent if it is below 100.
// A target of zero means 50 %, or less if the agent compacts earlier.
func RescueWith(t *Thread, s Size, p pare.Policy, target int) (*pare.Plan, error) {
	limit, over := s.Limits()
	window := p.Window
	if p.Window = nil; !over {
		return p.Plan(context.Background(), t.Request)
	}
	var w pare.Window
	if window != nil {
		w = *window
	}
	w.Tokens, w.ModelTokens, w.Low, w.LowPercent = targetTokens(t, limit, target), false, 0, 0
	p.Window = &w
	plan, err := p.Plan(context.Background(), t.Request)
	var small *pare.WindowTooSmall
	// As small as possible.
	if errors.As(err, &small) && small.Unit == "tokens" && small.Minimum <= limit {
		w.Tokens = small.Minimum
		plan, err = p.Plan(context.Background(), t.Request)
	}
	return plan, err
}

// targetTokens returns the size of a full thread after shortening. target is in tokens or, below
// 100, in percent of the limit. Zero means half of the limit, or less if the agent compacts
// earlier.
func targetTokens(t *Thread, limit, target int) int {
	if target == 0 {
		target = t.targetPercent
	}
	if target < 100 {
		target = limit * target / 100
	}
	target = min(target, limit)
	// The API counted more than the file holds.
	if n := t.Request.Tokens(tokens.For(t.Request.Model())); n <= target {
		return n / 2
	}
	return target
}

// IsShortEnough reports whether the rest of a thread is at most as long as Rescue would make it, so
// that it does not fill up immediately.
func IsShortEnough(t *Thread, s Size, left *wire.Request) bool {
	limit, _ := s.Limits()
	return left.Tokens(tokens.For(left.Model())) <= targetTokens(t, limit, 0)
}

// Size returns the size of a thread.
func (l *Log) Size(t *Thread) Size {
	return fullness.Of(fullness.Question{Request: t.Request, Messages: t.Messages(), Counted: l.Counted(t)})
}

// Counted returns the token counts that the API reported for the last reply of a thread, and the
// window that the agent noted.
func (l *Log) Counted(t *Thread) fullness.Counted {
	k := l.lastUsage(t)
	k.Refused = l.isRefusedAsTooLong(t)
	return k
}

// lastUsage returns the last reported token counts. A reply that precedes a sent message in the
// request but follows it in the file was kept by a compaction. Its counts belong to other messages
// and are ignored.
func (l *Log) lastUsage(t *Thread) fullness.Counted {
	row, _ := l.Format.spec()
	switch {
	case row.readCounted != nil:
		return row.readCounted(l, t)
	case row.unitUsage == nil:
		return fullness.Counted{}
	}
	first := make([]int, len(t.sources)+1) // by message: the highest unit of the preceding messages
	for i, p := range t.sources {
		first[i+1] = max(first[i], p.unit)
	}
	ms := t.Request.Transcript().Messages()
	for i := len(t.sources) - 1; i >= 0; i-- {
		if ms[i].Role != transcript.Assistant {
			continue
		}
		u := t.sources[i].unit
		if l.owners != nil {
			u = l.owners[u]
		}
		in, out := row.unitUsage(l.object(u))
		if in == 0 {
			continue
		}
		if first[i] > t.sources[i].unit {
			return fullness.Counted{}
		}
		return fullness.Counted{Input: in, Output: out, Messages: i + 1}
	}
	return fullness.Counted{}
}

// usageAt returns a function that reads token counts from an object of a unit, such as
// "message.usage". It sums the named members.
func usageAt(path string, input, output []string) func(object) (in, out int) {
	return func(o object) (in, out int) {
		for name := range strings.SplitSeq(path, ".") {
			o = o.Object(name)
		}
		for _, name := range input {
			in += o.Number(name)
		}
		for _, name := range output {
			out += o.Number(name)
		}
		return in, out
	}
}

// lastCodexUsage returns the counts in the last token_count event after the last compaction.
func lastCodexUsage(l *Log, t *Thread) (use fullness.Counted) {
	for u := len(l.units) - 1; u >= 0; u-- {
		o := l.object(u)
		if o.Text("type") == "compacted" {
			break
		}
		p := o.Object("payload")
		if o.Text("type") != "event_msg" || p.Text("type") != "token_count" {
			continue
		}
		info := p.Object("info")
		last := info.Object("last_token_usage")
		if use.Window == 0 {
			use.Window = info.Number("model_context_window")
		}
		if in := last.Number("input_tokens"); in > 0 {
			if n := t.messagesBefore(u); n > 0 {
				use.Input, use.Output, use.Messages = in, last.Number("output_tokens"), n
			}
			break
		}
	}
	return use
}

// messagesBefore returns the number of messages whose units precede a unit.
func (t *Thread) messagesBefore(u int) (n int) {
	for n < len(t.sources) && t.sources[n].unit < u {
		n++
	}
	return n
}

// lastCopilotUsage returns the counts in the last usage record, which precedes its reply, and the
// maximum prompt length. A request that Copilot shortened itself does not tell the size of the
// file.
func lastCopilotUsage(l *Log, t *Thread) (use fullness.Counted) {
	for u := len(l.units) - 1; u >= 0; u-- {
		o := l.object(u)
		data := o.Object("data")
		switch kind := o.Text("type"); {
		case kind == "session.compaction_complete" && data.Is("success"), kind == "session.truncation" && use.Messages > 0:
			return fullness.Counted{Window: use.Window}
		case kind == "user.message" && use.Messages > 0:
			return use
		case kind == "session.usage_record" && use.Messages == 0 && o.Text("agentId") == "":
			usage := data.Object("usage")
			if in := usage.Number("inputTokens"); in > 0 && usage.Text("interactionType") == "conversation-agent" {
				use = fullness.Counted{Input: in, Output: usage.Number("outputTokens"), Messages: min(t.messagesBefore(u)+1, len(t.sources)), Window: usage.Number("maxPromptTokens")}
			}
		}
	}
	return use
}

// isRefusedAsTooLong reports whether a Claude Code session ends with the provider's error that it
// is too long.
func (l *Log) isRefusedAsTooLong(t *Thread) bool {
	if t.claude == nil || t.Kind != Main {
		return false
	}
	for k := len(t.claude.path) - 1; k >= 0; k-- {
		u := t.claude.path[k]
		e := &t.claude.entries[u]
		if !e.isAssistant || !e.hasMessage() {
			continue
		}
		text := bytes.ToLower(l.raw[e.content.Start:e.content.End])
		return e.model == "<synthetic>" && l.object(u).Is("isApiErrorMessage") &&
			(bytes.Contains(text, []byte("prompt is too long")) || bytes.Contains(text, []byte("exceed context limit")))
	}
	return false
}

// findOverWindow reports threads that exceed the window of their model.
func (l *Log) findOverWindow() (all []Finding) {
	for _, t := range l.Threads {
		if !l.isSent(t) || len(t.sources) == 0 {
			continue
		}
		s := l.Size(t)
		message := ""
		switch {
		case s.Refused:
			message = "the provider has refused the session as too long, and the agent has noted that in its last line"
		case s.Over() && !l.fitsWhenClipped(t, s):
			message = l.tooLongMessage(s.String())
		default:
			continue
		}
		f := l.locate(t, wire.Finding{Rule: OverWindow, Message: message, IDs: []string{}, Source: "agentlog/" + OverWindow,
			Index: len(t.sources) - 1, Block: transcript.NoBlock})
		f.Path = t.Request.MessagePath(len(t.sources) - 1)
		f.Instead = shortenAdvice
		all = append(all, f)
	}
	return all
}

// fitsWhenClipped reports whether the thread fits after the agent has clipped long results. Counts
// of the API already include the clipping.
func (l *Log) fitsWhenClipped(t *Thread, s Size) bool {
	row, _ := l.Format.spec()
	if row.resultLimit == 0 {
		return false
	}
	tr, left, counted := t.Request.Transcript(), s.Tokens, 0
	if s.Recorded > 0 {
		counted = l.Counted(t).Messages
	}
	for _, m := range tr.Messages()[min(counted, len(tr.Messages())):] {
		for _, b := range tr.Blocks()[m.First:m.End] {
			if raw := tr.Bytes(b.Span); b.Kind == transcript.Result && len(raw) > row.resultLimit {
				left -= s.Counter().Count(raw[row.resultLimit:])
			}
		}
	}
	return left <= s.Window
}

// tooLongMessage returns the message for a session of the given size.
func (l *Log) tooLongMessage(size string) string {
	if row, _ := l.Format.spec(); row.shortensItself {
		return "when it is resumed it is " + size + ": the agent shortens it itself, and leaves out what does not fit"
	}
	return "when it is resumed it is " + size + ": the provider refuses it, and the agent's own compaction, too"
}

// shortenAdvice is the advice for a session that is too long.
const shortenAdvice = "shorten it: pare trim --in-place FILE keeps the newest part, pare compact --in-place FILE puts a summary before that"
