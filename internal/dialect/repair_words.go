package dialect

import (
	"bytes"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// No repair may lose words that nobody has read. A repair knows what a block says where its
// dialect says it; somebody else's program may say it elsewhere. So whatever the repairs of a
// round want to drop, empty or replace is looked through once more: words in it that the
// result would not have keep the round from touching that message, and its finding stays.

// losing lists the messages that would lose words in this round; -1 stands for what is beside
// them.
func (m *repairer) losing() []int {
	lost := make(map[int]bool)
	w := wordCheck{repairer: m}
	for i, goes := range m.messages.drop {
		if goes && w.loses(i, m.t.Messages()[i].Span) {
			lost[i] = true
		}
	}
	for _, k := range m.opened {
		if i := k.message; !m.messages.drop[i] && !lost[i] && w.losesBlock(i) {
			lost[i] = true
		}
	}
	system, spoken := m.bodyMember("system") // all else beside the messages are settings
	for _, run := range m.edits.runs {
		for _, e := range run {
			i := m.messageAround(e.Span)
			if e.Len() > 0 && !lost[i] && (i < 0 && spoken && e.Start < system.End && system.Start < e.End || i >= 0 && !m.messages.drop[i]) && w.replaces(i, e) {
				lost[i] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(lost))
}

// wordless is what a round drops because it says nothing anywhere, or nothing of its own.
type wordless struct {
	hollow     map[transcript.BlockID]bool
	empty      map[int]bool                // messages
	copies     map[int][]transcript.Span   // by message: copies of what is kept
	quoted     map[transcript.BlockID]bool // results
	superseded int                         // the provider's compaction stands for so many messages
	beside     bool                        // what stands beside the messages stays as it is
}

// saysNothing notes that a block goes because it says nothing: then it must not say anything
// in any of its members.
func (w *wordless) saysNothing(b transcript.BlockID) {
	if w.hollow == nil {
		w.hollow = make(map[transcript.BlockID]bool)
	}
	w.hollow[b] = true
}

// isEmpty notes that a message goes because it says nothing, nor do its blocks. Of one that
// said more before, what was thought goes with that.
func (m *repairer) isEmpty(i int) {
	more := m.saidMore(i)
	if !more {
		if m.empty == nil {
			m.empty = make(map[int]bool)
		}
		m.empty[i] = true
	}
	for b := m.t.Messages()[i].First; b < m.t.Messages()[i].End; b++ {
		if !more || m.t.Block(b).Kind != transcript.Thinking {
			m.saysNothing(b)
		}
	}
}

// saidMore reports whether a message held more blocks before, beside what was thought.
func (m *repairer) saidMore(i int) bool {
	was := m.messageIn(m.before, i)
	if was < 0 {
		return false
	}
	return m.before.blocksSaid(was) > m.blocksSaid(i)
}

// blocksSaid counts the blocks of a message that are no thoughts.
func (r *Request) blocksSaid(i int) (n int) {
	m := r.t.Messages()[i]
	for b := m.First; b < m.End; b++ {
		if r.t.Block(b).Kind != transcript.Thinking {
			n++
		}
	}
	return n
}

// isCopyAt notes that what goes from a message is a copy of something that stays there.
func (w *wordless) isCopyAt(message int, at transcript.Span) {
	if w.copies == nil {
		w.copies = make(map[int][]transcript.Span)
	}
	w.copies[message] = append(w.copies[message], at)
}

// isQuoted notes that a text says all that a result says.
func (w *wordless) isQuoted(b transcript.BlockID) {
	if w.quoted == nil {
		w.quoted = make(map[transcript.BlockID]bool)
	}
	w.quoted[b] = true
}

// hold keeps a round from touching messages.
func (m *repairer) hold(held map[int]bool) {
	m.beside = held[-1]
	for i := range held {
		if i < 0 {
			continue
		}
		m.taken[i] = true
		msg := m.t.Messages()[i]
		for b := msg.First; b < msg.End; b++ {
			m.settled[b] = true
		}
	}
}

// A wordCheck looks for words that a round would lose.
type wordCheck struct {
	*repairer
	whole map[*byte]int   // what is put somewhere as it is: where it begins, and how long it is
	texts map[string]bool // what is put in says these texts,
	all   []byte          // all of them in one
	at    int             // where the last text was found in all: the next one mostly stands behind it
	spent int             // bytes that were searched

	ordered  map[int]bool // messages whose copies are in order
	replaced bool         // something is put in the place of what is looked at
}

// losesBlock reports whether a block that goes from a message which stays holds words that
// are lost.
func (w *wordCheck) losesBlock(i int) bool {
	msg := w.t.Messages()[i]
	for b := msg.First; b < msg.End; b++ {
		if w.gone[b] && w.loses(i, w.t.Block(b).Span) {
			return true
		}
	}
	return false
}

// replaces reports whether words are lost when an edit puts something else in their place, or nothing.
func (w *wordCheck) replaces(i int, e jsonspan.Edit) bool {
	w.replaced = len(e.New) > 0
	defer func() { w.replaced = false }()
	return w.loses(i, transcript.Span(e.Span))
}

// loses reports whether words in a span of a message are lost if it goes.
func (w *wordCheck) loses(i int, at transcript.Span) bool {
	if w.stays(at) {
		return false
	}
	copies, dropped := w.copiesOf(i), i >= 0 && w.messages.drop[i]
	s := newStrings(w.raw, at)
	b, end := transcript.BlockID(0), transcript.BlockID(0)
	if i >= 0 {
		msg := w.t.Messages()[i]
		b, end = msg.First, msg.End
		b += transcript.BlockID(sort.Search(int(end-b), func(n int) bool { return w.t.Block(b+transcript.BlockID(n)).Span.End > at.Start }))
	}
	for s.next() {
		for b < end && w.t.Block(b).Span.End <= s.at.Start {
			b++
		}
		if n := sort.Search(len(copies), func(n int) bool { return copies[n].Start > s.at.Start }); n > 0 && s.at.End <= copies[n-1].End {
			continue
		}
		var in *transcript.Block
		if b < end && w.t.Block(b).Span.Start <= s.at.Start {
			blk := w.t.Block(b)
			if in = &blk; w.stays(blk.Span) || !w.hollow[b] && w.isRead(b, &s, i) {
				continue
			}
		}
		if !dropped && (in == nil && !s.has("content") || in != nil && in.Kind == transcript.Other && !w.hollow[b]) && w.isReasoning(i, &s) || !w.linksElsewhere(b, in, &s) && s.wordless(!w.empty[i] && !(in != nil && w.hollow[b])) || w.carried(s.at) {
			continue
		}
		return true
	}
	return false
}

// copiesOf are the copies in a message, in order.
func (w *wordCheck) copiesOf(i int) []transcript.Span {
	if len(w.copies[i]) > 1 && !w.ordered[i] {
		if w.ordered == nil {
			w.ordered = make(map[int]bool)
		}
		w.ordered[i] = true
		slices.SortFunc(w.copies[i], func(a, b transcript.Span) int { return a.Start - b.Start })
	}
	return w.copies[i]
}

// isRead reports whether a string of a block is something that its dialect says there: a
// finding about it, and the receipt, say what becomes of it. Of a call or a result that stays,
// only the name and the id can go, which are told apart from what it says.
func (w *wordCheck) isRead(id transcript.BlockID, s *stringsIn, message int) bool {
	b := w.t.Block(id)
	outside := b.Span.Start
	if w.where[id].in == inMember {
		outside-- // what a member holds may be a message itself
	}
	if s.inMessage(outside) || w.goes(id) && s.quotesMessage() {
		return false
	}
	superseded := message < w.superseded
	switch b.Kind {
	case transcript.Call, transcript.ServerCall, transcript.Result, transcript.ServerResult:
		in := b.Body != b.Span && b.Body.Start <= s.at.Start && s.at.Start < b.Body.End
		named := w.names(s, b.Kind) && w.isOwn(id, s)
		if !w.goes(id) {
			return !in && named
		}
		if result := b.Kind == transcript.Result || b.Kind == transcript.ServerResult; result {
			if b.Family == approvalFamily && bytes.IndexByte(s.raw[s.at.Start:s.at.End], ' ') >= 0 {
				return false // a person decides, and may have said it there
			}
			return named || !w.quoted[id] && (in || b.Body.Start == s.at.Start+1 ||
				s.has(w.g.words.result...) && (b.Family != approvalFamily || !s.has("reason")) || s.has("parts") && s.top() != "parts" && s.has("functionResponse", "function_response"))
		}
		return in || b.Body.Start == s.at.Start+1 || named || s.has(w.g.words.call...)
	case transcript.Thinking:
		if _, nested := w.member(b.Span, "reasoningContent"); nested && !s.has("reasoningContent") {
			return false // it stands beside what was thought
		}
		return w.t.Messages()[message].Role == transcript.Assistant && (w.where[id].in == inMember && !w.replaced || s.only(thoughtMembers) && s.top() != "content")
	case transcript.Media:
		return mediaMembers[s.top()] && bytes.IndexByte(s.raw[s.at.Start:s.at.End], ' ') < 0 || s.top() == "filename" || s.top() == "title"
	case transcript.Text:
		return superseded && b.Body.Start == s.at.Start+1
	}
	if superseded && s.top() == "content" {
		return true
	}
	return b.Tool != "" && s.has("definition", "toolSpec") // of a tool
}

// goes reports whether a block goes as a whole, or the message that it stands in.
func (w *wordCheck) goes(id transcript.BlockID) bool {
	return w.gone[id] || w.messages.drop[w.t.Block(id).Message]
}

// isReasoning reports whether a string is what a model thought, by the name of its member.
func (w *wordCheck) isReasoning(message int, s *stringsIn) bool {
	return message >= 0 && w.t.Messages()[message].Role == transcript.Assistant && reasoningMembers[s.top()]
}

// names reports whether the string itself, and nothing around it, says which call it is, and of what.
func (w *wordCheck) names(s *stringsIn, kind transcript.Kind) bool {
	key := s.top()
	if key == "name" && kind != transcript.Call && kind != transcript.ServerCall && !w.g.words.resultName {
		return false
	}
	if slices.ContainsFunc(s.keys[:len(s.keys)-1], func(k []byte) bool { return pairNames[string(k)] }) {
		return false
	}
	return (key == "name" || slices.Contains(w.g.words.ids, key)) && bytes.HasSuffix(bytes.TrimRight(s.raw[:s.at.Start], " \t\r\n"), []byte{':'})
}

// isOwn reports whether a string that is called a name or an id is that of a block, and of nothing
// else in it. Words in the name of a result are one only if its call has the same: then both halves
// are renamed.
func (w *wordCheck) isOwn(id transcript.BlockID, s *stringsIn) bool {
	b := w.t.Block(id)
	var path []string
	switch s.top() {
	case "id":
		if at, ok := w.member(b.Span, "id"); ok && at.Start == s.at.Start {
			return true
		}
		path = w.pen.idPath(w.draft, id, b.Kind == transcript.Call || b.Kind == transcript.ServerCall)
	case "name":
		path = w.namePath(id)
	default:
		path = w.pen.idPath(w.draft, id, b.Kind == transcript.Call || b.Kind == transcript.ServerCall)
	}
	at, ok := b.Span, true
	for _, key := range path {
		if at, ok = w.member(at, key); !ok {
			return false
		}
	}
	if at.Start != s.at.Start {
		return false
	}
	call := w.t.Exchanges()[w.t.ExchangeOf(id)].Call
	return s.top() != "name" || call == transcript.NoBlock || w.t.Block(call).Tool == "" || w.t.Block(call).Tool == b.Tool || !strings.Contains(b.Tool, " ")
}

// thoughtMembers are the members in which a block says what was thought.
var thoughtMembers = []string{
	"", "type", "thinking", "signature", "data", "text", "summary", "content", "encrypted_content", "reasoningContent", "reasoningText", "redactedContent", "thoughtSignature", "thought_signature", "id", "status", "format", "index",
}

// mediaMembers are where media are, and what they are called.
var mediaMembers = map[string]bool{
	"data": true, "url": true, "uri": true, "bytes": true, "image_url": true, "file_url": true, "file_data": true, "file_id": true, "fileUri": true, "file_uri": true,
	"filename": true, "title": true, "name": true, "display_name": true, "displayName": true, "bucketOwner": true,
}

// stays reports whether a value is put somewhere as it is.
func (w *wordCheck) stays(at transcript.Span) bool {
	if w.whole == nil {
		w.whole = make(map[*byte]int)
		for raw := range w.put {
			w.whole[&raw[0]] = len(raw)
		}
	}
	return at.Len() > 0 && w.whole[&w.raw[at.Start]] == at.Len()
}

// put are the values that the round puts in.
func (w *wordCheck) put(yield func([]byte) bool) {
	lists := []*list{&w.messages}
	for _, k := range w.opened {
		lists = append(lists, w.inner[k])
	}
	for _, name := range sortedKeys(w.body.lists) {
		lists = append(lists, w.body.lists[name])
	}
	for _, l := range lists {
		for _, i := range sortedKeys(l.put) {
			for _, it := range l.put[i] {
				if len(it.raw) > 0 && !yield(it.raw) {
					return
				}
			}
		}
	}
	for _, a := range w.answers {
		for _, it := range a.blocks {
			if len(it.raw) > 0 && !yield(it.raw) {
				return
			}
		}
	}
	for _, run := range w.edits.runs {
		for _, e := range run {
			if len(e.New) > 0 && !w.goesAt(e.Span) && !yield(e.New) {
				return
			}
		}
	}
}

// goesAt reports whether a span lies in a message or in a block that goes, and nothing is put in
// there.
func (w *wordCheck) goesAt(at jsonspan.Span) bool {
	i := w.messageAround(at)
	if i < 0 {
		return false
	}
	msg := w.t.Messages()[i]
	b := msg.First + transcript.BlockID(sort.Search(int(msg.End-msg.First), func(n int) bool { return w.t.Block(msg.First+transcript.BlockID(n)).Span.End > at.Start }))
	return w.messages.drop[i] || b < msg.End && w.gone[b] && w.t.Block(b).Span.Start <= at.Start && at.End <= w.t.Block(b).Span.End
}

// carried reports whether something that is put in says what a string says. Of a JSON text,
// all that it says must be there.
func (w *wordCheck) carried(at jsonspan.Span) bool {
	if w.texts == nil {
		w.texts = make(map[string]bool)
		for raw := range w.put {
			s := newStrings(raw, transcript.Span{End: len(raw)})
			for s.next() {
				text := jsonspan.Decode(nil, raw[s.at.Start+1:s.at.End-1])
				w.texts[string(text)] = true
				w.all = append(append(w.all, text...), 0)
			}
		}
	}
	raw := w.raw[at.Start+1 : at.End-1]
	text := jsonspan.Decode(nil, raw)
	if head, data, ok := bytes.Cut(text, []byte(";base64,")); ok && bytes.HasPrefix(head, []byte("data:")) && len(data) > 0 {
		text, raw = data, data // what it is made of may be said elsewhere
	}
	spelled := quote(string(text)) // as a quotation of JSON spells it
	if w.texts[string(text)] || w.contains(text) || w.contains(raw) || w.contains(spelled[1:len(spelled)-1]) {
		return true
	}
	if trimmed := bytes.TrimSpace(text); len(trimmed) == 0 || trimmed[0] != '{' && trimmed[0] != '[' || jsonspan.Valid(trimmed) != nil {
		return false
	}
	for s := newStrings(text, transcript.Span{End: len(text)}); s.next(); {
		if inner := jsonspan.Decode(nil, text[s.at.Start+1:s.at.End-1]); !s.wordless(true) && !w.contains(inner) {
			return false
		}
	}
	return true
}

// mostSearched bounds what is searched in one round. Beyond it a text counts as lost, which loses
// nothing: its message is left alone.
const mostSearched = 1 << 30

// contains reports whether a text is part of what is put in. Texts are mostly asked for in the order
// in which they are put in, so that all of them together cost about one search.
func (w *wordCheck) contains(text []byte) bool {
	if w.spent > mostSearched {
		return false
	}
	if n := bytes.Index(w.all[w.at:], text); n >= 0 {
		w.spent += n
		w.at += n
		return true
	}
	w.spent += len(w.all)
	n := bytes.Index(w.all, text)
	if n < 0 {
		return false
	}
	w.at = n
	return true
}

// linksElsewhere reports whether a string links something that nobody has read.
func (w *wordCheck) linksElsewhere(b transcript.BlockID, in *transcript.Block, s *stringsIn) bool {
	return s.linksDeep() && (in == nil || (in.Kind == transcript.Call || in.Kind == transcript.Result) && !(w.names(s, in.Kind) && w.isOwn(b, s)))
}
