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

// codex reads the rollouts of Codex: one item of the Responses API per line, bare in the old layout
// and as the payload of an envelope in the new one. After a compaction, Codex sends the items of
// the compaction and all later ones. Earlier items and turns that were rolled back are dormant.
// Codex rebuilds its requests from these items without their ids, so only pairs are checked.
type codex struct{}

var codexRow = formatSpec{format: Codex, name: "codex", maker: "Codex", dialect: wire.OpenAIResponses, form: codex{}, lineEvidence: codexLine, readCounted: lastCodexUsage, resultLimit: 48_000}

func codexLine(o object) evidence {
	kind := o.Kind()
	switch {
	case o.Has("payload") && codexEnvelopes[kind], o.Text("record_type") == "state",
		o.Has("instructions") && o.Has("timestamp") && o.Has("id") && o.Has("git"):
		return strongEvidence
	case codexItems[kind] && !o.Has("message") && o.Has("call_id"):
		return weakEvidence
	}
	return noEvidence
}

var codexEnvelopes = map[string]bool{
	"session_meta": true, "response_item": true, "event_msg": true, "turn_context": true, "compacted": true, "world_state": true,
}

// codexItems are the types of items that Codex sends.
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

// A codexItem is an item and its place in the file.
type codexItem struct {
	unit   int
	at     jsonspan.Span
	byUser bool   // begins a turn of the user
	raw    []byte // replaces the bytes at the span; nil if the item is stored as it is sent
}

// A codexReplay processes the records of a rollout in order, as Codex does when it resumes.
type codexReplay struct {
	file                   *Log
	sent, notSent          []codexItem
	allPairs, talliedPairs *pairCounts
	model                  string
	items                  int
	hasEnvelopes           bool            // the new layout
	isPaged                bool            // Codex reads the rollout backwards from its end to a head
	seen                   map[string]int  // by key of codexKeys: the unit
	itemsSeen              map[string]int  // the same for items since the last compaction
	rolledBack             map[string]bool // calls in rolled-back turns
	// The items before the head of another session; nil if there is none.
	ownSession *savedSession
	userInput
}

// A userInput holds the texts of the user since the last compaction.
type userInput struct {
	userEvents  []userText // in events
	userItems   []userText // in items
	sinceOffset int        // offset after the compaction
}

func (codex) read(l *Log) {
	l.readLines()
	f := codexReplay{file: l, allPairs: newPairCounts(), talliedPairs: newPairCounts(), seen: make(map[string]int), itemsSeen: make(map[string]int), rolledBack: make(map[string]bool)}
	for i := range l.units {
		f.addRecord(i)
	}
	if f.hasEnvelopes && !(l.startsFile(0) && l.object(0).Text("type") == "session_meta") {
		l.reportLostHead()
	}
	f.findPrompts()
	if f.items > 0 {
		l.addToTally(f.talliedPairs, f.items)
	}
	f.addThread("dormant", Dormant, f.notSent)
	f.addThread("main", Main, f.sent)
}

// isCopy reports whether a record repeats an earlier one, and notes the damage. Codex sends the ids
// of items, and the provider rejects a repeated id. Codex forgets everything before a second head.
func (r *codexReplay) isCopy(i int, o object) bool {
	payload := o.Object("payload")
	repeated := false
	for key, part := range codexKeys(o, payload) {
		seen := r.seen
		if o.Text("type") == "response_item" && !strings.HasPrefix(key, ordinalKey) {
			seen = r.itemsSeen // a model may reuse an id that is no longer sent
		}
		first, known := seen[key]
		if !known {
			seen[key] = i
			continue
		}
		old := r.file.object(first)
		if part.Span == payload.Span {
			old = old.Object("payload")
		}
		repeated = repeated || bytes.Equal(old.Bytes(), part.Bytes())
	}
	if !repeated {
		return false
	}
	at := r.file.units[i]
	r.file.duplicates = append(r.file.duplicates, i)
	r.file.damageAt(at.span.Start, at.line, "duplicate-line")
	if o.Text("type") == "session_meta" {
		r.resumeOwnSession(payload.Text("id"))
	}
	switch kind := o.Text("type"); {
	case kind == "response_item":
		r.file.markHarmful("the agent sends both, which the provider refuses")
	case kind == "session_meta" && r.isPaged, kind == "compacted", payload.Text("type") == rolledBackEvent:
		r.file.markHarmful("the agent goes by both, and forgets what comes before the second one")
	}
	return true
}

// ordinalKey begins the key of records with the same number.
const ordinalKey = "ordinal "

// codexKeys yields the keys that a record shares with its copies, each with the part of the record
// that must be equal. Records without a number and an id have none, because they may repeat each
// other legitimately.
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

func (r *codexReplay) addRecord(i int) {
	o := r.file.object(i)
	payload := o
	if o.Has("payload") {
		r.hasEnvelopes = true
		if r.isCopy(i, o) {
			return
		}
		payload = o.Object("payload")
		r.noteUserText(i, o.Text("type"), payload)
		switch o.Text("type") {
		case "session_meta":
			r.addHead(i, payload)
			return
		case "compacted":
			r.applyCompaction(i, payload)
			return
		case "turn_context":
			r.model = cmp.Or(payload.Text("model"), r.model)
			return
		case "event_msg":
			if payload.Text("type") == rolledBackEvent {
				n, _ := strconv.Atoi(string(payload.Value("num_turns")))
				r.rollBack(n)
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
	r.items++
	it := r.newItem(i, payload)
	// A late result in a turn that is not sent.
	if codexResults[payload.Text("type")] && r.rolledBack[payload.Text("call_id")] {
		r.notSent = append(r.notSent, it)
		return
	}
	r.sent = append(r.sent, it)
}

// newItem returns an item and counts it if it is a call or a result.
func (r *codexReplay) newItem(unit int, o object) codexItem {
	kind, id := o.Text("type"), o.Text("call_id")
	switch {
	case codexCalls[kind]:
		r.talliedPairs.calls[id]++
		r.allPairs.calls[id]++
		delete(r.rolledBack, id)
	case codexResults[kind]:
		r.talliedPairs.results[id]++
		r.allPairs.results[id]++
	case strings.HasSuffix(kind, "_call"): // tool searches have results too, but are not tallied
		r.allPairs.calls[id]++
	case strings.HasSuffix(kind, "_output"):
		r.allPairs.results[id]++
	}
	return codexItem{unit: unit, at: o.Span, byUser: kind == "message" && o.Text("role") == "user" && !isProgramMessage(o)}
}

// isProgramMessage reports whether a user message was inserted by Codex itself.
func isProgramMessage(o object) bool {
	for _, c := range o.List("content") {
		text := strings.TrimSpace(objectAt(o.Raw, c).Text("text"))
		return strings.HasPrefix(text, "<") || strings.HasPrefix(text, "# AGENTS.md instructions")
	}
	return false
}

// applyCompaction replaces all earlier items: by the items of the compaction or, in older versions,
// by the texts of the user and the summary.
func (r *codexReplay) applyCompaction(unit int, o object) {
	old := r.sent
	r.sent = nil
	clear(r.itemsSeen)
	if history, ok := o.Get("replacement_history"); ok && o.Raw[history.Start] == '[' {
		r.notSent = append(r.notSent, old...)
		r.userEvents, r.userItems, r.sinceOffset = nil, nil, r.file.units[unit].span.End
		for _, at := range jsonspan.Elements(o.Raw, history) {
			if it := objectAt(r.file.raw, at); codexItems[it.Text("type")] {
				r.sent = append(r.sent, r.newItem(unit, it))
				r.file.sealUnit(unit)
			}
		}
		return
	}
	for _, it := range old {
		if it.byUser {
			r.sent = append(r.sent, it)
		} else {
			r.notSent = append(r.notSent, it)
		}
	}
	if at, ok := o.Get("message"); ok && at.Len() > 2 && o.Raw[at.Start] == '"' {
		text := write("type", "message", "role", "user", "content", array(write("type", "input_text", "text", o.Raw[at.Start:at.End])))
		r.sent = append(r.sent, codexItem{unit: unit, at: at, raw: text})
	}
}

// rollBack removes the last turns of the user.
func (r *codexReplay) rollBack(turns int) {
	for k := len(r.sent) - 1; k >= 0 && turns > 0; k-- {
		if !r.sent[k].byUser {
			continue
		}
		if turns--; turns == 0 {
			for _, it := range r.sent[k:] {
				if o := objectAt(r.file.raw, it.at); codexCalls[o.Text("type")] {
					r.rolledBack[o.Text("call_id")] = true
				}
			}
			r.notSent = append(r.notSent, r.sent[k:]...)
			r.sent = r.sent[:k:k]
		}
	}
}

func (r *codexReplay) addThread(name string, kind Kind, items []codexItem) {
	if len(items) == 0 {
		return
	}
	b := r.file.newBodyBuilder(wire.OpenAIResponses, r.model)
	n := 0
	for _, it := range items {
		n += it.at.Len() + 1
	}
	b.reserve(n)
	for _, it := range items {
		if it.raw != nil {
			b.appendBuilt(it.unit, it.raw, []jsonspan.Span{it.at})
		} else {
			b.appendVerbatim(it.unit, r.file.raw, it.at)
		}
	}
	r.file.addPairsThread(name, kind, r.model, b, r.allPairs)
}

// wrap returns an item as a record with the other members of unit template.
func (codex) wrap(l *Log, template int, item []byte) []byte {
	o := l.object(template)
	if !o.Has("payload") {
		return item
	}
	return o.With("type", "response_item", "payload", item)
}

func (c codex) finish(e *edits) {
	c.restorePrompts(e)
	if !e.appendOnly {
		if e.file.lacksHead() {
			e.prependHead(c.newHead(e.file))
		}
		c.dropSecondHeads(e)
		c.writeNestedItems(e)
	}
	fillOrdinalGaps(e)
	updateHeadReferences(e, renumberOrdinals(e))
}

// updateHeadReferences updates the ordinals that the head of a rollout refers to.
func updateHeadReferences(e *edits, moved map[int]int) {
	const name = "subagent_history_start_ordinal"
	for i := range e.file.units {
		o := e.file.object(i)
		if len(moved) == 0 || o.Text("type") != "session_meta" {
			continue
		}
		p := o.Object("payload")
		n, err := strconv.Atoi(string(p.Value(name)))
		if to, ok := moved[n]; err == nil && ok {
			e.setMembers(i, "payload", p.With(name, to))
			e.addChange(Change{Line: e.file.units[i].line, Change: wire.Change{Action: wire.ActionEdit, Rule: "relink"}}, "the record that it names has another number")
		}
	}
}

func (c codex) stub(l *Log, t *Thread, call transcript.BlockID, text string) []byte {
	tr := t.Request.Transcript()
	blk := tr.Block(call)
	m := tr.Messages()[blk.Message]
	o := objectAt(tr.Raw(), jsonspan.Span(m.Span))
	kind := outputTypeOf(o.Text("type"))
	if kind == "tool_search_output" { // a search result cannot be invented
		return nil
	}
	return c.wrap(l, t.sources[blk.Message].unit, write("type", kind, "call_id", blk.CallID, "output", text))
}

func (c codex) quoteUnit(l *Log, t *Thread, result transcript.BlockID, text string) []byte {
	return c.wrap(l, t.unitOf(result), c.quotedItem(l, t, result, text))
}

// quotedItem returns the user message that replaces a result.
func (c codex) quotedItem(l *Log, t *Thread, result transcript.BlockID, text string) []byte {
	content := append([][]byte{write("type", "input_text", "text", text)}, c.media(l, t, result)...)
	return write("type", "message", "role", "user", "content", array(content...))
}

// isPair reports whether the type of a result matches the type of its call.
func (codex) isPair(t *Thread, call, result transcript.BlockID) bool {
	tr := t.Request.Transcript()
	kind := func(b transcript.BlockID) string {
		return objectAt(tr.Raw(), jsonspan.Span(tr.Messages()[tr.Block(b).Message].Span)).Text("type")
	}
	return outputTypeOf(kind(call)) == kind(result)
}

// outputTypeOf returns the type of the item that answers a call of a type.
func outputTypeOf(call string) string {
	switch call {
	case "local_shell_call": // Codex answers it like a function call
		return "function_call_output"
	case "tool_search_call":
		return "tool_search_output"
	}
	return call + "_output"
}

// media returns the images and files of a result. A user message can hold them unchanged.
func (codex) media(_ *Log, t *Thread, result transcript.BlockID) (all [][]byte) {
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

func (codex) withoutBlock(*Log, *Thread, transcript.BlockID) []byte { return nil }
