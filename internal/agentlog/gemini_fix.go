package agentlog

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

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
func (m *geminiRepairer) spanOf(b transcript.BlockID) jsonspan.Span {
	message := m.transcript.Block(b).Message
	return m.thread.sources[message].blockSpans[b-m.transcript.Messages()[message].First]
}

// editAt returns the edit of the message at an offset.
func (m *geminiRepairer) editAt(at int) *geminiEdit {
	i, ok := slices.BinarySearchFunc(m.records, at, func(r chatRecord, at int) int { return cmp.Compare(r.at.Start, at) })
	if !ok {
		i-- // the message that begins before the offset
	}
	r := m.records[i]
	x := m.messageEdits[r.at.Start]
	if x == nil {
		x = &geminiEdit{chatRecord: r, calls: make(map[int][]byte), parts: make(map[int][]byte)}
		m.messageEdits[r.at.Start] = x
		m.order = append(m.order, r.at.Start)
	}
	return x
}

func (m *geminiRepairer) repair(f *Finding) {
	at := m.spanOf(f.Block)
	if m.changed[at.Start] {
		return
	}
	held := objectAt(m.edits.file.raw, at)
	inCall := held.Has("name") // a toolCall; a part has functionCall or functionResponse
	blk := m.transcript.Block(f.Block)
	switch {
	case blk.Kind == transcript.Call && inCall:
		m.answerCall(f, at, held)
	case blk.Kind == transcript.Call:
		m.answerPart(f, at, held.Object("functionCall"))
	case blk.Kind == transcript.Result && inCall:
		m.answerCall(f, at, held)
	case blk.Kind == transcript.Result:
		m.repairResponse(f, at, held)
	}
}

// answerCall gives a toolCall a result with its id: the existing one or a stub.
func (m *geminiRepairer) answerCall(f *Finding, at jsonspan.Span, call object) {
	id, name := call.Text("id"), call.Text("name")
	x := m.editAt(at.Start)
	if m.sortResults(f, x) && m.changed[at.Start] {
		return
	}
	m.changed[at.Start] = true
	parts := geminiResults(call)
	result, pairs := m.responseAmong(f, call, parts), []any{}
	if result == nil {
		if raw := m.takeDisplaced(id, name); raw != nil {
			result = append([][]byte{raw}, parts...)
		}
	}
	if result == nil {
		text := stubText(m.options.Repair, m.transcript, f.Block)
		// Other parts of the call, such as an image, stay.
		result, pairs = append([][]byte{stubPart(id, name, text)}, parts...), []any{"status", "error"}
		m.edits.addChange(Change{Thread: m.thread.Name, Line: f.Line}, wire.ActionInsert, f.Rule, f.IDs, len(result[0]), "a stub: %s", text)
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
func (m *geminiRepairer) responseAmong(f *Finding, call object, parts [][]byte) [][]byte {
	id, name := call.Text("id"), call.Text("name")
	own, exact, texts := -1, false, ""
	for k, p := range parts {
		switch r := responseOf(p); {
		case len(r.Members) == 0:
			texts += plainText(p)
		case !exact && r.Text("id") == id && r.Text("name") == name:
			own, exact = k, true
		case own < 0:
			own = k
		}
	}
	c := Change{Thread: m.thread.Name, Line: f.Line}
	var out [][]byte
	if own < 0 {
		if strings.TrimSpace(texts) == "" {
			return nil
		}
		out = append(out, write("functionResponse", write("id", id, "name", name, "response", write("output", texts))))
		m.edits.addChange(c, wire.ActionEdit, f.Rule, f.IDs, 0, "what a call holds as text is its result")
	}
	for k, p := range parts {
		r := responseOf(p)
		switch {
		case own < 0 && len(r.Members) == 0 && plainText(p) != "":
		case len(r.Members) == 0, k == own && exact:
			out = append(out, p)
		case k != own && holdsSpeaker(p): // a quotation would attribute the speaker's words to the tool
			out = append(out, p)
		case k == own:
			out = append(out, write("functionResponse", r.With("id", id, "name", name)))
			m.edits.addChange(c, wire.ActionEdit, f.Rule, f.IDs, 0, "the result of a call carries its id")
		default:
			out = append(out, quotedResponse(r, string(r.Value("response")))...)
			m.edits.addChange(c, wire.ActionEdit, f.Rule, f.IDs, 0, "a result that answers no call here, kept as quoted text")
		}
	}
	return out
}

// holdsSpeaker reports whether a part contains a nested message of a speaker.
func holdsSpeaker(part []byte) bool {
	for at := range wirex.QuotedIn(part, transcript.Span{End: len(part)}) {
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
func (m *geminiRepairer) answerPart(f *Finding, at jsonspan.Span, call object) {
	id, name := call.Text("id"), call.Text("name")
	x := m.editAt(at.Start)
	m.changed[at.Start] = true
	result, status := m.takeDisplaced(id, name), "success"
	if result == nil {
		text := stubText(m.options.Repair, m.transcript, f.Block)
		result, status = stubPart(id, name, text), "error"
		m.edits.addChange(Change{Thread: m.thread.Name, Line: f.Line}, wire.ActionInsert, f.Rule, f.IDs, len(result), "a stub: %s", text)
	}
	args := call.Value("args")
	if args == nil {
		args = []byte("{}")
	}
	x.addedCalls = append(x.addedCalls, write("id", id, "name", name, "args", args, "result", array(result), "status", status,
		"timestamp", objectAt(m.edits.file.raw, x.at).Mark("timestamp")))
}

// takeDisplaced removes a response that follows its call too late and returns it, or nil if there
// is none.
func (m *geminiRepairer) takeDisplaced(id, name string) []byte {
	if id == "" {
		return nil
	}
	for _, b := range m.results[id] {
		if m.isFirstResult(b) {
			continue
		}
		at := m.spanOf(b)
		part := objectAt(m.edits.file.raw, at)
		if r := part.Object("functionResponse"); m.changed[at.Start] || r.Text("name") != name {
			continue
		}
		x := m.editAt(at.Start)
		m.changed[at.Start] = true
		x.parts[at.Start] = nil
		m.edits.addChange(Change{Thread: m.thread.Name, Line: m.edits.file.units[x.unit].line}, wire.ActionMove, "displaced-result", []string{id}, 0, "moved to the place behind its call")
		return m.edits.file.raw[at.Start:at.End]
	}
	return nil
}

// isFirstResult reports whether a result is the first one of a call and in the right place.
func (m *geminiRepairer) isFirstResult(b transcript.BlockID) bool {
	x := m.transcript.Exchanges()[m.transcript.ExchangeOf(b)]
	return x.State == transcript.Whole && len(x.Results) > 0 && x.Results[0] == b
}

// repairResponse removes or quotes a response in a user message that answers no call or is a second
// one.
func (m *geminiRepairer) repairResponse(f *Finding, at jsonspan.Span, part object) {
	r := part.Object("functionResponse")
	x := m.editAt(at.Start)
	m.changed[at.Start] = true
	c := Change{Thread: m.thread.Name, Line: f.Line}
	for _, id := range m.results[r.Text("id")] { // the first one stays
		if id == f.Block {
			break
		}
		if m.sameResponse(id, f.Block) {
			x.parts[at.Start] = nil
			m.edits.addChange(c, wire.ActionDrop, f.Rule, f.IDs, -at.Len(), "a copy of the result that its call holds")
			return
		}
	}
	if holdsSpeaker(m.edits.file.raw[at.Start:at.End]) {
		return
	}
	text := m.thread.Request.Text(f.Block)
	x.parts[at.Start] = bytes.Join(quotedResponse(r, text), []byte{','})
	m.edits.addChange(c, wire.ActionEdit, f.Rule, f.IDs, 0, "a result that answers no call here, kept as quoted text")
}

// sameResponse reports whether two results have the same text and media.
func (m *geminiRepairer) sameResponse(a, b transcript.BlockID) bool {
	shows := func(b transcript.BlockID) []byte {
		return responseOf(m.transcript.Bytes(m.transcript.Block(b).Span)).Value("parts")
	}
	return m.thread.Request.Text(a) == m.thread.Request.Text(b) && bytes.Equal(shows(a), shows(b))
}

// write replaces the changed messages, or appends them to the file.
func (m *geminiRepairer) write() error {
	for _, start := range m.order {
		x := m.messageEdits[start]
		raw := x.render(m.edits.file.raw)
		if bytes.Equal(raw, m.edits.file.raw[x.at.Start:x.at.End]) {
			continue
		}
		if m.options.AppendOnly {
			m.edits.appended = append(m.edits.appended, raw)
			continue
		}
		m.edits.replaceSpan(x.unit, x.at.Start, x.at.Len(), raw)
	}
	return nil
}

// render returns the changed message. Unchanged parts keep their bytes.
func (x *geminiEdit) render(file []byte) []byte {
	o := objectAt(file, x.at)
	var all []jsonspan.Edit
	put := func(at jsonspan.Span, raw []byte) {
		all = append(all, jsonspan.Edit{Span: jsonspan.Span{Start: at.Start - x.at.Start, End: at.End - x.at.Start}, New: raw})
	}
	if content, ok := o.Get("content"); ok && len(x.parts) > 0 {
		x.content(file, content, put)
	}
	calls := o.List("toolCalls")
	for _, c := range calls {
		if now := x.calls[c.Start]; now != nil {
			put(c, now)
		}
	}
	if n := len(calls); n > 0 && len(x.addedCalls) > 0 {
		end := calls[n-1].End
		put(jsonspan.Span{Start: end, End: end}, append([]byte{','}, bytes.Join(x.addedCalls, []byte{','})...))
	}
	out, err := jsonspan.Splice(file[x.at.Start:x.at.End], all)
	if err != nil {
		return file[x.at.Start:x.at.End]
	}
	if len(calls) == 0 && len(x.addedCalls) > 0 {
		out = setMembers(out, "toolCalls", array(x.addedCalls...))
	}
	return out
}

// content replaces changed parts of the content, or rewrites the list if parts are removed.
func (x *geminiEdit) content(file []byte, content jsonspan.Span, put func(jsonspan.Span, []byte)) {
	if file[content.Start] != '[' {
		if now := x.parts[content.Start]; now != nil {
			put(content, array(now))
		} else {
			put(content, []byte("[]"))
		}
		return
	}
	var kept [][]byte
	going := false
	for _, e := range jsonspan.Elements(file, content) {
		now, changed := x.parts[e.Start]
		switch {
		case changed && now == nil:
			going = true
			continue
		case !changed:
			now = file[e.Start:e.End]
		}
		kept = append(kept, now)
	}
	if going {
		put(content, array(kept...))
		return
	}
	for _, e := range jsonspan.Elements(file, content) {
		if now, changed := x.parts[e.Start]; changed {
			put(e, now)
		}
	}
}
