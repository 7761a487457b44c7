package agentlog

import (
	"bytes"
	"cmp"
	"iter"
	"strconv"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// codex reads the rollouts of Codex: items of the Responses API, one in each line,
// bare in the old layout and as the payload of an envelope in the new one. After a
// compaction what it holds and what follows is sent; what is in front of it lies dormant,
// and so do turns that were rolled back. Codex writes its requests anew from these items
// and leaves their ids out, so only pairs are checked.
type codex struct{}

var codexRow = row{format: Codex, name: "codex", maker: "Codex", dialect: wire.OpenAIResponses, form: codex{}, line: codexLine, counts: codexUsage, clips: 48_000}

func codexLine(o object) evidence {
	kind := o.Kind()
	switch {
	case o.Has("payload") && codexEnvelopes[kind], o.Text("record_type") == "state",
		o.Has("instructions") && o.Has("timestamp") && o.Has("id") && o.Has("git"):
		return proof
	case codexItems[kind] && !o.Has("message") && o.Has("call_id"):
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

// A codexItem is where an item stands.
type codexItem struct {
	unit   int
	at     jsonspan.Span
	person bool   // a turn of the user begins with it
	raw    []byte // an item that is made of what stands there; nil: it is the item
}

// A codexFold goes through the records as Codex does when it resumes.
type codexFold struct {
	l            *Log
	sent, rest   []codexItem
	all, counted *talk
	model        string
	items        int
	envelopes    bool            // the layout of today
	paged        bool            // by its head the rollout is read from its end, up to a head
	seen         map[string]int  // units by what they have in common with their copies
	said         map[string]int  // the same of items, since the last compaction
	taken        map[string]bool // calls that were rolled back
	events       []codexWords    // what the user said, since the last compaction
	prompts      []codexWords    // the same in items
	since        int             // where that begins
	own          *codexFirst     // what was there in front of the head of another session; nil: there is none
}

func (codex) read(l *Log) {
	l.readLines()
	f := codexFold{l: l, all: newTalk(), counted: newTalk(), seen: make(map[string]int), said: make(map[string]int), taken: make(map[string]bool)}
	for i := range l.units {
		f.record(i)
	}
	if f.envelopes && !(l.begins(0) && l.object(0).Text("type") == "session_meta") {
		l.noteHead()
	}
	f.findPrompts()
	if f.items > 0 {
		l.count(f.counted, f.items)
	}
	f.thread("dormant", Dormant, f.rest)
	f.thread("main", Main, f.sent)
}

// copied notes a record that stands in the rollout twice. Codex sends the ids of items, and the
// provider refuses one that comes again; what stands in front of a second head is forgotten.
func (f *codexFold) copied(i int, o object) bool {
	payload := o.Object("payload")
	again := false
	for key, part := range codexKeys(o, payload) {
		seen := f.seen
		if o.Text("type") == "response_item" && !strings.HasPrefix(key, ordinalKey) {
			seen = f.said // a model may use an id again when the first one is not sent any more
		}
		first, known := seen[key]
		if !known {
			seen[key] = i
			continue
		}
		was := f.l.object(first)
		if part.Span == payload.Span {
			was = was.Object("payload")
		}
		again = again || bytes.Equal(was.Bytes(), part.Bytes())
	}
	if !again {
		return false
	}
	at := f.l.units[i]
	f.l.copies = append(f.l.copies, i)
	f.l.damageAt(at.span.Start, at.line, "duplicate-line")
	if o.Text("type") == "session_meta" {
		f.goOn(payload.Text("id"))
	}
	switch kind := o.Text("type"); {
	case kind == "response_item":
		f.l.worsen("the agent sends both, which the provider refuses")
	case kind == "session_meta" && f.paged, kind == "compacted", payload.Text("type") == rolledBack:
		f.l.worsen("the agent goes by both, and forgets what comes before the second one")
	}
	return true
}

// ordinalKey begins what records of one number have in common.
const ordinalKey = "ordinal "

// codexKeys are what a record has in common with its copies, and the part of it that says the
// same then. One that has no number and no id may say what another one says.
func codexKeys(o, payload object) iter.Seq2[string, object] {
	return func(yield func(string, object) bool) {
		kind, item := o.Text("type"), payload.Text("type")
		if n := o.Value("ordinal"); n != nil && !yield(ordinalKey+string(n), o) {
			return
		}
		if id := payload.Text("id"); id != "" && (kind == "session_meta" || kind == "response_item") && !yield("id "+item+" "+id, payload) {
			return
		}
		if id := payload.Text("call_id"); id != "" && kind == "response_item" {
			yield("call "+item+" "+id, o)
		}
	}
}

// record takes the next line.
func (f *codexFold) record(i int) {
	o := f.l.object(i)
	payload := o
	if o.Has("payload") {
		f.envelopes = true
		if f.copied(i, o) {
			return
		}
		payload = o.Object("payload")
		f.hear(i, o.Text("type"), payload)
		switch o.Text("type") {
		case "session_meta":
			f.head(i, payload)
			return
		case "compacted":
			f.compacted(i, payload)
			return
		case "turn_context":
			f.model = cmp.Or(payload.Text("model"), f.model)
			return
		case "event_msg":
			if payload.Text("type") == rolledBack {
				n, _ := strconv.Atoi(string(payload.Value("num_turns")))
				f.rollBack(n)
			}
			return
		case "response_item":
		default:
			return
		}
	}
	if !codexItems[payload.Text("type")] {
		return
	}
	f.items++
	it := f.item(i, payload)
	if codexResults[payload.Text("type")] && f.taken[payload.Text("call_id")] { // late, and of a turn that is not sent
		f.rest = append(f.rest, it)
		return
	}
	f.sent = append(f.sent, it)
}

// item notes an item, and what it is to the pairs.
func (f *codexFold) item(unit int, o object) codexItem {
	kind, id := o.Text("type"), o.Text("call_id")
	switch {
	case codexCalls[kind]:
		f.counted.calls[id]++
		f.all.calls[id]++
		delete(f.taken, id)
	case codexResults[kind]:
		f.counted.results[id]++
		f.all.results[id]++
	case strings.HasSuffix(kind, "_call"): // tool searches have partners too, but are not counted
		f.all.calls[id]++
	case strings.HasSuffix(kind, "_output"):
		f.all.results[id]++
	}
	return codexItem{unit: unit, at: o.Span, person: kind == "message" && o.Text("role") == "user" && !codexAside(o)}
}

// codexAside reports whether a message of the role user was put there by the program.
func codexAside(o object) bool {
	for _, c := range o.List("content") {
		text := strings.TrimSpace(objectAt(o.Raw, c).Text("text"))
		return strings.HasPrefix(text, "<") || strings.HasPrefix(text, "# AGENTS.md instructions")
	}
	return false
}

// compacted takes the place of everything in front of it: with the items it holds or, as
// older versions write it, with what the user said and its summary.
func (f *codexFold) compacted(unit int, o object) {
	was := f.sent
	f.sent = nil
	clear(f.said)
	if history, ok := o.Get("replacement_history"); ok && o.Raw[history.Start] == '[' {
		f.rest = append(f.rest, was...)
		f.events, f.prompts, f.since = nil, nil, f.l.units[unit].span.End
		for _, at := range jsonspan.Elements(o.Raw, history) {
			if it := objectAt(f.l.raw, at); codexItems[it.Text("type")] {
				f.sent = append(f.sent, f.item(unit, it))
				f.l.seal(unit)
			}
		}
		return
	}
	for _, it := range was {
		if it.person {
			f.sent = append(f.sent, it)
		} else {
			f.rest = append(f.rest, it)
		}
	}
	if at, ok := o.Get("message"); ok && at.Len() > 2 && o.Raw[at.Start] == '"' {
		said := write("type", "message", "role", "user", "content", array(write("type", "input_text", "text", o.Raw[at.Start:at.End])))
		f.sent = append(f.sent, codexItem{unit: unit, at: at, raw: said})
	}
}

// rollBack takes the last turns of the user back.
func (f *codexFold) rollBack(turns int) {
	for k := len(f.sent) - 1; k >= 0 && turns > 0; k-- {
		if !f.sent[k].person {
			continue
		}
		if turns--; turns == 0 {
			for _, it := range f.sent[k:] {
				if o := objectAt(f.l.raw, it.at); codexCalls[o.Text("type")] {
					f.taken[o.Text("call_id")] = true
				}
			}
			f.rest = append(f.rest, f.sent[k:]...)
			f.sent = f.sent[:k:k]
		}
	}
}

func (f *codexFold) thread(name string, kind Kind, items []codexItem) {
	if len(items) == 0 {
		return
	}
	b := f.l.newBody(wire.OpenAIResponses, f.model)
	n := 0
	for _, it := range items {
		n += it.at.Len() + 1
	}
	b.reserve(n)
	for _, it := range items {
		if it.raw != nil {
			b.put(it.unit, it.raw, []jsonspan.Span{it.at})
		} else {
			b.copy(it.unit, f.l.raw, it.at)
		}
	}
	f.l.written(name, kind, f.model, b, f.all)
}

// wrap writes an item as the unit of another one is written, with every member that it
// has.
func (codex) wrap(l *Log, like int, item []byte) []byte {
	o := l.object(like)
	if !o.Has("payload") {
		return item
	}
	return o.With("type", "response_item", "payload", item)
}

func (c codex) finish(e *edits) {
	c.restore(e)
	if !e.appendOnly {
		if e.l.headless() {
			e.crown(c.head(e.l))
		}
		c.behead(e)
		c.settleNested(e)
	}
	fillGaps(e)
	codexReferences(e, renumber(e))
}

// codexReferences lets the head of a rollout name the records that it named.
func codexReferences(e *edits, moved map[int]int) {
	const name = "subagent_history_start_ordinal"
	for i := range e.l.units {
		o := e.l.object(i)
		if len(moved) == 0 || o.Text("type") != "session_meta" {
			continue
		}
		p := o.Object("payload")
		n, err := strconv.Atoi(string(p.Value(name)))
		if to, ok := moved[n]; err == nil && ok {
			e.set(i, "payload", p.With(name, to))
			e.log(Change{Line: e.l.units[i].line}, wire.ActionEdit, "relink", nil, 0, "the record that it names has another number")
		}
	}
}

func (c codex) stub(l *Log, t *Thread, call transcript.BlockID, text string) []byte {
	tr := t.Request.Transcript()
	blk := tr.Block(call)
	m := tr.Messages()[blk.Message]
	o := objectAt(tr.Raw(), jsonspan.Span(m.Span))
	kind := codexAnswer(o.Text("type"))
	if kind == "tool_search_output" { // what was found cannot be made up
		return nil
	}
	return c.wrap(l, t.parts[blk.Message].unit, write("type", kind, "call_id", blk.CallID, "output", text))
}

func (c codex) quote(l *Log, t *Thread, result transcript.BlockID, text string) []byte {
	return c.wrap(l, t.unitOf(result), c.quoted(l, t, result, text))
}

// quoted is the item that a result becomes.
func (c codex) quoted(l *Log, t *Thread, result transcript.BlockID, text string) []byte {
	content := append([][]byte{write("type", "input_text", "text", text)}, c.shows(l, t, result)...)
	return write("type", "message", "role", "user", "content", array(content...))
}

// mates reports whether an output is of the kind that answers a call.
func (codex) mates(t *Thread, call, result transcript.BlockID) bool {
	tr := t.Request.Transcript()
	kind := func(b transcript.BlockID) string {
		return objectAt(tr.Raw(), jsonspan.Span(tr.Messages()[tr.Block(b).Message].Span)).Text("type")
	}
	return codexAnswer(kind(call)) == kind(result)
}

// codexAnswer is the type of the item that answers one of a type.
func codexAnswer(call string) string {
	switch call {
	case "local_shell_call": // Codex answers it like a function
		return "function_call_output"
	case "tool_search_call":
		return "tool_search_output"
	}
	return call + "_output"
}

// shows returns the pictures and files of an output, which a message of the user holds alike.
func (codex) shows(_ *Log, t *Thread, result transcript.BlockID) (all [][]byte) {
	tr := t.Request.Transcript()
	o := objectAt(tr.Raw(), jsonspan.Span(tr.Messages()[tr.Block(result).Message].Span))
	for _, at := range o.List("output") {
		switch objectAt(o.Raw, at).Text("type") {
		case "input_image", "input_file", "input_audio":
			all = append(all, o.Raw[at.Start:at.End])
		}
	}
	return all
}

func (codex) without(*Log, *Thread, transcript.BlockID) []byte { return nil }
