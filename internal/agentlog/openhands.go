package agentlog

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// openHands reads event lists of OpenHands: a trajectory, or the lines of an evaluation with a
// history in each. An action and its observation share tool_call_metadata.tool_call_id. A finish
// action is the last message of the agent. It is sent as text and has no result.
type openHands struct{}

var openHandsRow = formatSpec{format: OpenHands, name: "openhands", maker: "OpenHands", dialect: wire.Anthropic, form: openHands{}, lineEvidence: openHandsLine, isDocument: func(o object) bool { return isEventList(o.Raw, o.Span) }}

// openHandsEventRow is a file with a single event. OpenHands keeps a conversation as a folder of
// such files. A single one is not a session.
var openHandsEventRow = formatSpec{format: OpenHandsEvent, name: "openhands-event", maker: "OpenHands, one event of a folder", dialect: wire.Anthropic, isDocument: isLoneEvent}

// isLoneEvent accepts events with an action or observation, and events of the SDK, which have a
// kind.
func isLoneEvent(o object) bool {
	kind := o.Text("kind")
	return isEvent(o) || o.Has("id") && o.Has("source") && o.Has("timestamp") && (strings.HasSuffix(kind, "Event") || strings.HasSuffix(kind, "Observation"))
}

func openHandsLine(o object) evidence {
	history, _ := o.Get("history")
	if isEventList(o.Raw, history) || isEvent(o) {
		return strongEvidence
	}
	return noEvidence
}

func isEvent(o object) bool {
	return (o.Has("action") || o.Has("observation")) && o.Has("source") && o.Has("timestamp")
}

func isEventList(raw []byte, at jsonspan.Span) bool {
	if at.Len() == 0 || raw[at.Start] != '[' {
		return false
	}
	for _, e := range jsonspan.Elements(raw, at) {
		if isEvent(objectAt(raw, e)) {
			return true
		}
	}
	return false
}

func (h openHands) read(l *Log) {
	if at, ok := soleValue(l.raw); ok && l.raw[at.Start] == '[' {
		h.addThread(l, "main", l.readList(at))
		return
	}
	l.readLines()
	lines := l.units
	l.units = nil
	var lists []list
	for _, u := range lines {
		o := objectAt(l.raw, u.span)
		if v, ok := o.Get("history"); ok && isEventList(l.raw, v) {
			lists = append(lists, l.readList(v))
		}
	}
	if lists == nil { // one line per event
		l.units = lines
		h.addThread(l, "main", list{first: 0, end: len(lines)})
		return
	}
	for i, all := range lists {
		name := "main"
		if len(lists) > 1 {
			name = fmt.Sprintf("conversation %d", i+1)
		}
		h.addThread(l, name, all)
	}
}

func (h openHands) addThread(l *Log, name string, all list) {
	pairs, n := newPairCounts(), 0
	b := l.newBodyBuilder(wire.Anthropic, "")
	for i := all.first; i < all.end; i++ {
		o := l.object(i)
		if number, err := strconv.Atoi(string(o.Value("id"))); err == nil && number < 1<<40 {
			l.lastEventID = max(l.lastEventID, number)
		}
		if isEvent(o) {
			n++
			h.appendEvent(l, b, i, o, pairs)
		}
	}
	if n > 0 {
		l.addToTally(pairs, n)
		l.addPairsThread(name, Main, "", b, pairs)
	}
}

func (openHands) appendEvent(l *Log, b *bodyBuilder, i int, o object, pairs *pairCounts) {
	meta := o.Object("tool_call_metadata")
	id, role, t := meta.Text("tool_call_id"), "assistant", messageBuilder{counts: pairs}
	switch action, observation := o.Text("action"), o.Text("observation"); {
	case id != "" && action == "finish":
		pairs.calls[id]++
		t.addText(o.Value("message"), o.Span)
	case id != "" && action != "":
		t.addCall(id, meta.Text("function_name"), o.Value("args"), o.Span)
	case id != "" && observation != "":
		v, _ := o.Get("content")
		t.addResult(id, textBlocks(l.raw, v), observation == "error", o.Span)
		role = "user"
	case action == "message":
		t.addText(o.Value("message"), o.Span)
		if o.Text("source") == "user" {
			role = "user"
		}
	}
	t.appendTo(b, i, role)
}

func (openHands) stub(l *Log, t *Thread, call transcript.BlockID, text string) []byte {
	blk := t.Request.Transcript().Block(call)
	u := t.sources[blk.Message].unit
	o := l.object(u)
	return write("id", l.nextID(u), "timestamp", l.timestampOf(o), "source", "environment", "message", text, "cause", o.Mark("id"),
		"observation", "error", "content", text, "extras", write("error_id", ""), "tool_call_metadata", o.Value("tool_call_metadata"))
}

// nextID returns an unused event id. It depends on the unit, so that each unit gets a different
// one.
func (l *Log) nextID(u int) []byte {
	return strconv.AppendInt(nil, int64(l.lastEventID+1+u), 10)
}

func (openHands) quoteUnit(l *Log, t *Thread, result transcript.BlockID, text string) []byte {
	u := t.unitOf(result)
	o := l.object(u)
	return write("id", o.Mark("id"), "timestamp", l.timestampOf(o), "source", "user", "message", text,
		"action", "message", "args", write("content", text, "wait_for_response", []byte("false")))
}

// skipped returns an empty event, which OpenHands keeps and does not send.
func (openHands) skipped(record []byte) []byte {
	o := objectOf(record)
	return write("id", o.Mark("id"), "timestamp", timestampOr(o, epoch), "source", o.Mark("source"), "message", "", "cause", o.Mark("cause"),
		"observation", "null", "content", "", "extras", write())
}

func (openHands) withoutBlock(*Log, *Thread, transcript.BlockID) []byte { return nil }
