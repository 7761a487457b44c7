package agentlog

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A geminiEdit holds the changes of a message of a chat.
type geminiEdit struct {
	chatRecord
	calls      map[int][]byte // changed toolCalls by offset
	addedCalls [][]byte       // new toolCalls
	parts      map[int][]byte // changed parts of the content by offset; nil removes the part
}

// A geminiRepairer repairs the pairs of a chat. It writes results to the same place as Gemini CLI:
// into the toolCalls of the message with the call.
type geminiRepairer struct {
	edits        *edits
	thread       *Thread
	options      Options
	transcript   *transcript.Transcript
	messageEdits map[int]*geminiEdit // by offset of the message
	order        []int
	changed      map[int]bool // offsets that were changed in this round

	sorted map[int]bool // offsets of messages whose results were assigned to their calls

	records []chatRecord                    // in file order
	results map[string][]transcript.BlockID // by call id
}

func (g geminiCLI) repair(e *edits, t *Thread, o Options) error {
	m := &geminiRepairer{edits: e, thread: t, options: o, transcript: t.Request.Transcript(), messageEdits: make(map[int]*geminiEdit), changed: make(map[int]bool), sorted: make(map[int]bool)}
	found := e.file.checkThread(t, o.Check)
	if len(found) == 0 || e.file.snapshotGap != nil { // repair the repeated messages in the next round
		return nil
	}
	m.records = slices.SortedFunc(slices.Values(e.file.chatRecords), func(a, b chatRecord) int { return cmp.Compare(a.at.Start, b.at.Start) })
	m.results = make(map[string][]transcript.BlockID)
	for b, blk := range m.transcript.Blocks() {
		if blk.Kind == transcript.Result {
			m.results[blk.CallID] = append(m.results[blk.CallID], transcript.BlockID(b))
		}
	}
	for i := range found {
		f := &found[i]
		if f.Block == transcript.NoBlock || f.Open && o.Repair.Open {
			continue
		}
		if o.AppendOnly && e.file.lists != nil {
			return ErrAppendOnly
		}
		m.repair(f)
	}
	return m.write()
}

// spanOf returns the span that a block was built from.
func (r *geminiRepairer) spanOf(b transcript.BlockID) jsonspan.Span {
	message := r.transcript.Block(b).Message
	return r.thread.sources[message].blockSpans[b-r.transcript.Messages()[message].First]
}

// editAt returns the edit of the message at an offset.
func (r *geminiRepairer) editAt(at int) *geminiEdit {
	i, ok := slices.BinarySearchFunc(r.records, at, func(record chatRecord, at int) int { return cmp.Compare(record.at.Start, at) })
	if !ok {
		i-- // the message that begins before the offset
	}
	record := r.records[i]
	x := r.messageEdits[record.at.Start]
	if x == nil {
		x = &geminiEdit{chatRecord: record, calls: make(map[int][]byte), parts: make(map[int][]byte)}
		r.messageEdits[record.at.Start] = x
		r.order = append(r.order, record.at.Start)
	}
	return x
}

func (r *geminiRepairer) repair(f *Finding) {
	at := r.spanOf(f.Block)
	if r.changed[at.Start] {
		return
	}
	held := objectAt(r.edits.file.raw, at)
	inCall := held.Has("name") // a toolCall; a part has functionCall or functionResponse
	blk := r.transcript.Block(f.Block)
	switch {
	case blk.Kind == transcript.Call && inCall:
		r.answerCall(f, at, held)
	case blk.Kind == transcript.Call:
		r.answerPart(f, at, held.Object("functionCall"))
	case blk.Kind == transcript.Result && inCall:
		r.answerCall(f, at, held)
	case blk.Kind == transcript.Result:
		r.repairResponse(f, at, held)
	}
}

// answerCall gives a toolCall a result with its id: the existing one or a stub.
func (r *geminiRepairer) answerCall(f *Finding, at jsonspan.Span, call object) {
	id, name := call.Text("id"), call.Text("name")
	x := r.editAt(at.Start)
	if r.sortResults(f, x) && r.changed[at.Start] {
		return
	}
	r.changed[at.Start] = true
	parts := geminiResults(call)
	result, pairs := r.responseAmong(f, call, parts), []any{}
	if result == nil {
		if raw := r.takeDisplaced(id, name); raw != nil {
			result = append([][]byte{raw}, parts...)
		}
	}
	if result == nil {
		text := stubText(r.options.Repair, r.transcript, f.Block)
		// Other parts of the call, such as an image, stay.
		result, pairs = append([][]byte{stubPart(id, name, text)}, parts...), []any{"status", "error"}
		r.edits.addChange(Change{Thread: r.thread.Name, Line: f.Line, Change: wire.Change{Action: wire.ActionInsert, Rule: f.Rule, IDs: f.IDs, Bytes: len(result[0])}}, "a stub: %s", text)
	}
	x.calls[at.Start] = call.With(append(pairs, "result", array(result...))...)
}

// plainText returns the text of a part with a text and nothing else. A part with more members may
// belong to another speaker.
func plainText(part []byte) string {
	o := objectOf(part)
	if len(o.Members) != 1 {
		return ""
	}
	return o.Text("text")
}

// responseAmong returns the parts of a call's result with exactly one response that has the call's
// id: the matching one, or else the first one, or else one built from the texts. Other responses
// become quotations. It returns nil if there is no response and no text.
func (r *geminiRepairer) responseAmong(finding *Finding, call object, parts [][]byte) [][]byte {
	id, name := call.Text("id"), call.Text("name")
	own, exact, texts := -1, false, ""
	for k, p := range parts {
		switch response := responseOf(p); {
		case len(response.Members) == 0:
			texts += plainText(p)
		case !exact && response.Text("id") == id && response.Text("name") == name:
			own, exact = k, true
		case own < 0:
			own = k
		}
	}
	change := Change{Thread: r.thread.Name, Line: finding.Line}
	var out [][]byte
	if own < 0 {
		if strings.TrimSpace(texts) == "" {
			return nil
		}
		out = append(out, write("functionResponse", write("id", id, "name", name, "response", write("output", texts))))
		r.edits.addChange(change.with(wire.Change{Action: wire.ActionEdit, Rule: finding.Rule, IDs: finding.IDs}), "what a call holds as text is its result")
	}
	for k, p := range parts {
		response := responseOf(p)
		switch {
		case own < 0 && len(response.Members) == 0 && plainText(p) != "":
		case len(response.Members) == 0, k == own && exact:
			out = append(out, p)
		case k != own && holdsSpeaker(p): // a quotation would attribute the speaker's words to the tool
			out = append(out, p)
		case k == own:
			out = append(out, write("functionResponse", response.With("id", id, "name", name)))
			r.edits.addChange(change.with(wire.Change{Action: wire.ActionEdit, Rule: finding.Rule, IDs: finding.IDs}), "the result of a call carries its id")
		default:
			out = append(out, quotedResponse(response, string(response.Value("response")))...)
			r.edits.addChange(change.with(wire.Change{Action: wire.ActionEdit, Rule: finding.Rule, IDs: finding.IDs}), "a result that answers no call here, kept as quoted text")
		}
	}
	return out
}

// holdsSpeaker reports whether a part contains a nested message of a speaker.
func holdsSpeaker(part []byte) bool {
	for at := range dialect.QuotedIn(part, transcript.Span{End: len(part)}) {
		if part[at] != '{' && part[at] != '[' {
			return true
		}
	}
	return false
}

// quotedResponse returns the parts that replace a response: a quotation of its text and its media.
func quotedResponse(r object, says string) [][]byte {
	out := [][]byte{write("text", quotation+says)}
	for _, p := range r.List("parts") {
		out = append(out, r.Raw[p.Start:p.End])
	}
	return out
}

func stubPart(id, name, text string) []byte {
	var mark []byte
	if id != "" {
		mark = quote(id)
	}
	return write("functionResponse", write("id", mark, "name", name, "response", write("error", text)))
}

// answerPart answers a call in the content by adding a toolCall with a result, because Gemini CLI
// reads results from there.
func (r *geminiRepairer) answerPart(f *Finding, at jsonspan.Span, call object) {
	id, name := call.Text("id"), call.Text("name")
	x := r.editAt(at.Start)
	r.changed[at.Start] = true
	result, status := r.takeDisplaced(id, name), "success"
	if result == nil {
		text := stubText(r.options.Repair, r.transcript, f.Block)
		result, status = stubPart(id, name, text), "error"
		r.edits.addChange(Change{Thread: r.thread.Name, Line: f.Line, Change: wire.Change{Action: wire.ActionInsert, Rule: f.Rule, IDs: f.IDs, Bytes: len(result)}}, "a stub: %s", text)
	}
	args := call.Value("args")
	if args == nil {
		args = []byte("{}")
	}
	x.addedCalls = append(x.addedCalls, write("id", id, "name", name, "args", args, "result", array(result), "status", status,
		"timestamp", objectAt(r.edits.file.raw, x.at).Mark("timestamp")))
}

// takeDisplaced removes a response that follows its call too late and returns it, or nil if there
// is none.
func (r *geminiRepairer) takeDisplaced(id, name string) []byte {
	if id == "" {
		return nil
	}
	for _, b := range r.results[id] {
		if r.isFirstResult(b) {
			continue
		}
		at := r.spanOf(b)
		part := objectAt(r.edits.file.raw, at)
		if response := part.Object("functionResponse"); r.changed[at.Start] || response.Text("name") != name {
			continue
		}
		x := r.editAt(at.Start)
		r.changed[at.Start] = true
		x.parts[at.Start] = nil
		r.edits.addChange(Change{Thread: r.thread.Name, Line: r.edits.file.units[x.unit].line, Change: wire.Change{Action: wire.ActionMove, Rule: "displaced-result", IDs: []string{id}}}, "moved to the place behind its call")
		return r.edits.file.raw[at.Start:at.End]
	}
	return nil
}

// isFirstResult reports whether a result is the first one of a call and in the right place.
func (r *geminiRepairer) isFirstResult(b transcript.BlockID) bool {
	x := r.transcript.Exchanges()[r.transcript.ExchangeOf(b)]
	return x.State == transcript.Whole && len(x.Results) > 0 && x.Results[0] == b
}

// repairResponse removes or quotes a response in a user message that answers no call or is a second
// one.
func (r *geminiRepairer) repairResponse(f *Finding, at jsonspan.Span, part object) {
	response := part.Object("functionResponse")
	x := r.editAt(at.Start)
	r.changed[at.Start] = true
	c := Change{Thread: r.thread.Name, Line: f.Line}
	for _, id := range r.results[response.Text("id")] { // the first one stays
		if id == f.Block {
			break
		}
		if r.sameResponse(id, f.Block) {
			x.parts[at.Start] = nil
			r.edits.addChange(c.with(wire.Change{Action: wire.ActionDrop, Rule: f.Rule, IDs: f.IDs, Bytes: -at.Len()}), "a copy of the result that its call holds")
			return
		}
	}
	if holdsSpeaker(r.edits.file.raw[at.Start:at.End]) {
		return
	}
	text := r.thread.Request.Text(f.Block)
	x.parts[at.Start] = bytes.Join(quotedResponse(response, text), []byte{','})
	r.edits.addChange(c.with(wire.Change{Action: wire.ActionEdit, Rule: f.Rule, IDs: f.IDs}), "a result that answers no call here, kept as quoted text")
}

// sameResponse reports whether two results have the same text and media.
func (r *geminiRepairer) sameResponse(a, b transcript.BlockID) bool {
	shows := func(b transcript.BlockID) []byte {
		return responseOf(r.transcript.Bytes(r.transcript.Block(b).Span)).Value("parts")
	}
	return r.thread.Request.Text(a) == r.thread.Request.Text(b) && bytes.Equal(shows(a), shows(b))
}

// write replaces the changed messages, or appends them to the file.
func (r *geminiRepairer) write() error {
	for _, start := range r.order {
		x := r.messageEdits[start]
		raw := x.render(r.edits.file.raw)
		if bytes.Equal(raw, r.edits.file.raw[x.at.Start:x.at.End]) {
			continue
		}
		if r.options.AppendOnly {
			r.edits.appended = append(r.edits.appended, raw)
			continue
		}
		r.edits.replaceSpan(x.unit, x.at.Start, x.at.Len(), raw)
	}
	return nil
}

// render returns the changed message. Unchanged parts keep their bytes.
func (e *geminiEdit) render(file []byte) []byte {
	o := objectAt(file, e.at)
	var all []jsonspan.Edit
	put := func(at jsonspan.Span, raw []byte) {
		all = append(all, jsonspan.Edit{Span: jsonspan.Span{Start: at.Start - e.at.Start, End: at.End - e.at.Start}, New: raw})
	}
	if content, ok := o.Get("content"); ok && len(e.parts) > 0 {
		e.content(file, content, put)
	}
	calls := o.List("toolCalls")
	for _, c := range calls {
		if now := e.calls[c.Start]; now != nil {
			put(c, now)
		}
	}
	if n := len(calls); n > 0 && len(e.addedCalls) > 0 {
		end := calls[n-1].End
		put(jsonspan.Span{Start: end, End: end}, append([]byte{','}, bytes.Join(e.addedCalls, []byte{','})...))
	}
	out, err := jsonspan.Splice(file[e.at.Start:e.at.End], all)
	if err != nil {
		return file[e.at.Start:e.at.End]
	}
	if len(calls) == 0 && len(e.addedCalls) > 0 {
		out = setMembers(out, "toolCalls", array(e.addedCalls...))
	}
	return out
}

// content replaces changed parts of the content, or rewrites the list if parts are removed.
func (e *geminiEdit) content(file []byte, content jsonspan.Span, put func(jsonspan.Span, []byte)) {
	if file[content.Start] != '[' {
		if now := e.parts[content.Start]; now != nil {
			put(content, array(now))
		} else {
			put(content, []byte("[]"))
		}
		return
	}
	var kept [][]byte
	going := false
	for _, element := range jsonspan.Elements(file, content) {
		now, changed := e.parts[element.Start]
		switch {
		case changed && now == nil:
			going = true
			continue
		case !changed:
			now = file[element.Start:element.End]
		}
		kept = append(kept, now)
	}
	if going {
		put(content, array(kept...))
		return
	}
	for _, element := range jsonspan.Elements(file, content) {
		if now, changed := e.parts[element.Start]; changed {
			put(element, now)
		}
	}
}
