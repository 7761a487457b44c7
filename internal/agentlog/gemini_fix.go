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

// A geminiEdit is what happens to a message of a chat.
type geminiEdit struct {
	chatRecord
	calls      map[int][]byte // toolCalls by where they begin; nil: they stay
	addedCalls [][]byte       // toolCalls that are added
	parts      map[int][]byte // what is written for parts of the content, by where they begin; nil: they go
}

// A geminiRepairer fixes the pairs of a chat. Results are written where the program writes
// them itself: into the toolCalls of the message that calls.
type geminiRepairer struct {
	edits        *edits
	thread       *Thread
	options      Options
	transcript   *transcript.Transcript
	messageEdits map[int]*geminiEdit // by where the message begins
	order        []int
	changed      map[int]bool // places that have been changed in this round

	sorted map[int]bool // messages whose results have been sorted among their calls, by where they begin

	records []chatRecord                    // in the order of the file
	results map[string][]transcript.BlockID // by call id
}

func (g geminiCLI) repair(e *edits, t *Thread, o Options) error {
	m := &geminiRepairer{edits: e, thread: t, options: o, transcript: t.Request.Transcript(), messageEdits: make(map[int]*geminiEdit), changed: make(map[int]bool), sorted: make(map[int]bool)}
	found := e.file.checkThread(t, o.Check)
	if len(found) == 0 || e.file.snapshotGap != nil { // what is said again is repaired where it is said last
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

// spanOf is where a block comes from.
func (m *geminiRepairer) spanOf(b transcript.BlockID) jsonspan.Span {
	message := m.transcript.Block(b).Message
	return m.thread.sources[message].blockSpans[b-m.transcript.Messages()[message].First]
}

// edit returns what happens to the message that a place is in.
func (m *geminiRepairer) editAt(at int) *geminiEdit {
	i, ok := slices.BinarySearchFunc(m.records, at, func(r chatRecord, at int) int { return cmp.Compare(r.at.Start, at) })
	if !ok {
		i-- // the one that begins in front of it
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

// answerCall writes a toolCall with a result that carries its id: the one it has, or a
// stub.
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
		// What the call holds beside a response, such as a picture, is said all the same.
		result, pairs = append([][]byte{stubPart(id, name, text)}, parts...), []any{"status", "error"}
		m.edits.addChange(Change{Thread: m.thread.Name, Line: f.Line}, wire.ActionInsert, f.Rule, f.IDs, len(result[0]), "a stub: %s", text)
	}
	x.calls[at.Start] = call.With(append(pairs, "result", array(result...))...)
}

// plainText is what a part says that is a text and nothing else; one with more members may be
// somebody else's words.
func plainText(part []byte) string {
	o := objectOf(part)
	if len(o.Members) != 1 {
		return ""
	}
	return o.Text("text")
}

// responseAmong returns what a call holds as its result with one response that carries its
// id: the one that does, the first that is there, or one made of the texts. Other responses
// become quotations. nil: there is nothing to make one of.
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
		case k != own && holdsSpeaker(p): // whom a quotation would make the tool
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

// somebodySpeaks reports whether a message stands in a part, as such and not as a text.
func holdsSpeaker(part []byte) bool {
	for at := range wirex.QuotedIn(part, transcript.Span{End: len(part)}) {
		if part[at] != '{' && part[at] != '[' {
			return true
		}
	}
	return false
}

// quotedResponse are the parts that take the place of a response: what it says as a
// quotation, and the media that it holds.
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

// answerPart answers a call that is a part of the content: with a toolCall that holds the
// result, since that is where the program takes it from.
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

// strayFor takes the response to a call from where it stands too late; nil if there is
// none.
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

// answers reports whether a result is the first of a call and stands where it must.
func (m *geminiRepairer) isFirstResult(b transcript.BlockID) bool {
	x := m.transcript.Exchanges()[m.transcript.ExchangeOf(b)]
	return x.State == transcript.Whole && len(x.Results) > 0 && x.Results[0] == b
}

// response deals with a part of a message of the user that is no answer, or one too many.
func (m *geminiRepairer) repairResponse(f *Finding, at jsonspan.Span, part object) {
	r := part.Object("functionResponse")
	x := m.editAt(at.Start)
	m.changed[at.Start] = true
	c := Change{Thread: m.thread.Name, Line: f.Line}
	for _, id := range m.results[r.Text("id")] { // the first of them is the one that stays
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

// sameResponse reports whether two results say and show the same.
func (m *geminiRepairer) sameResponse(a, b transcript.BlockID) bool {
	shows := func(b transcript.BlockID) []byte {
		return responseOf(m.transcript.Bytes(m.transcript.Block(b).Span)).Value("parts")
	}
	return m.thread.Request.Text(a) == m.thread.Request.Text(b) && bytes.Equal(shows(a), shows(b))
}

// write puts the changed messages into the file, or behind it.
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

// render writes the message, and nothing anew that stays.
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

// content replaces parts of the content, or writes the list without those that go.
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
