package dialect

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
)

// contentRepairs repair what blocks and messages hold.
var contentRepairs = map[fault]repairFunc{
	emptyText:           (*repairer).dropFound,
	emptyTextInside:     (*repairer).dropEmptyParts,
	blankTextBlock:      (*repairer).dropFound,
	emptySystemText:     (*repairer).dropSystemText,
	blankSystemText:     (*repairer).dropSystemText,
	emptyPart:           (*repairer).emptyPart,
	typeMissing:         (*repairer).giveType,
	fieldMissing:        (*repairer).dropFound,
	compactionEmpty:     (*repairer).dropFound,
	compactionNotFirst:  (*repairer).dropCompacted,
	compactionTwice:     (*repairer).dropCompacted,
	foreignPart:         (*repairer).dropForeign,
	chatPart:            (*repairer).retagChat,
	chatBlock:           (*repairer).asBlock,
	listContent:         (*repairer).joinTexts,
	outputMissing:       (*repairer).emptyOutput,
	emptyMessage:        (*repairer).dropEmpty,
	emptyAssistant:      (*repairer).dropEmpty,
	emptyAssistantNull:  (*repairer).dropEmpty,
	emptyUser:           (*repairer).dropEmpty,
	nullContentFault:    (*repairer).fillNull,
	nullContentOther:    (*repairer).fillNull,
	emptySystem:         (*repairer).dropEmpty,
	foreignMember:       (*repairer).stripForeign,
	foreignBlockMember:  (*repairer).stripNamed,
	unknownBlockMember:  (*repairer).stripNamed,
	duplicateKey:        (*repairer).dropCopy,
	noContentElement:    (*repairer).fillContent,
	emptyParts:          (*repairer).nullContent,
	emptyCalls:          func(m *repairer, f *Finding) { m.strip(f, "tool_calls") },
	reasoningField:      func(m *repairer, f *Finding) { m.strip(f, "reasoning_content") },
	reasoningFieldPlain: func(m *repairer, f *Finding) { m.strip(f, "reasoning") },
	prefixNotLast:       func(m *repairer, f *Finding) { m.strip(f, "prefix") },
	nullFiller:          (*repairer).stripNamed,
	statusField:         (*repairer).stripNamed,
	emptyErrorResult:    (*repairer).wordError,
	nonTextErrorResult:  (*repairer).partError,
	emptyResult:         (*repairer).wordEmpty,
	argsNotObject:       (*repairer).wrapArgs,
	argsNotJSON:         (*repairer).wrapArgs,
	argsNotString:       (*repairer).wrapArgs,
	resultNotObject:     func(m *repairer, f *Finding) { m.pen.wrapResult(m, f) },
	partType:            (*repairer).retagPart,
	partOfModel:         (*repairer).asInput,
	resultPartType:      (*repairer).textItem,
	encryptedMissing:    (*repairer).dropExchange,
	referenceUnknown:    (*repairer).dropReference,
	toolChangeUnknown:   (*repairer).dropFound,
	betaHeaderMissing:   (*repairer).allowBeta,
	imageInTool:         (*repairer).moveImage,
	imageUnsupported:    (*repairer).nameImage,
	hollowMedia:         (*repairer).nameHollow,
	trailingSpace:       (*repairer).trimEnd,
	loneSurrogate:       (*repairer).replaceHalf,
	mixedResultTurn:     (*repairer).parted,
	mixedResultTail:     (*repairer).parted,
	splitResults:        (*repairer).gather,
	cacheMarkEmpty:      (*repairer).stripMark,
	cacheMarkThinking:   (*repairer).stripMark,
	cacheMarkNested:     (*repairer).stripMark,
	cacheMarkAfterMedia: (*repairer).dropFound,
	cacheMarkAlone:      (*repairer).dropFound,
	cacheMarkAtThought:  (*repairer).dropFound,
	cacheTTLOrder:       (*repairer).shortenMark,
	tooManyCacheMarks:   (*repairer).dropMarks,
	toolsetMismatch:     (*repairer).giveToolset,
	programMixed:        (*repairer).parted,
	pendingServerMixed:  (*repairer).dropPending,
	toolUndefined:       (*repairer).dropFound,
}

// giveType gives a block without type the one that its members show.
func (m *repairer) giveType(f *Finding) {
	at := m.t.Block(f.Block).Span
	t := m.typeShown(at)
	if t == "tool_use" && m.t.Messages()[f.Index].Role != transcript.Assistant && m.hasMember(f.Index, "role") {
		return // nobody else calls tools: what it is, nobody knows
	}
	if t == "" {
		m.dropFound(f)
	} else if m.setMember(at, "type", quote(t)) {
		m.log(f, ActionEdit, f.Block, f.Index, 0, "a block without type; its members show that it is %s", t)
	}
}

// typeShown is the type that the members of a block show, media by what they are made of; ""
// if they do not tell.
func (m *repairer) typeShown(at transcript.Span) string {
	if _, ok := m.member(at, "role"); ok {
		return "" // a message, and no block
	}
	shown := ""
	for _, c := range m.g.shows {
		if v, ok := m.member(at, c[0]); ok && (c[0] != "input" && c[0] != "arguments" || m.raw[v.Start] == '{' && m.text(at, "name") != "") { // arguments of nothing are no call
			if shown == "thinking" && c[1] == "text" {
				return "" // which of the two it is, nobody knows
			}
			shown = cmp.Or(shown, c[1])
		}
	}
	if shown != "" {
		return shown
	}
	if source, ok := m.member(at, "source"); ok && m.raw[source.Start] == '{' {
		at = source
	}
	for _, name := range []string{"media_type", "mime_type"} {
		made := m.text(at, name)
		for _, c := range m.g.showsMedia {
			if strings.HasPrefix(made, c[0]) {
				return c[1]
			}
		}
	}
	return ""
}

// dropEmpty drops a message that says nothing.
func (m *repairer) dropEmpty(f *Finding) {
	if !m.untouched(f.Index) {
		return
	}
	m.dropMessage(f.Index)
	m.isEmpty(f.Index)
	at := m.t.Messages()[f.Index].Span
	m.log(f, ActionDrop, transcript.NoBlock, f.Index, -at.Len(), "a message without content%s", m.idsIn(at))
}

// idsIn lists the ids in a value, for a receipt of what goes with it; "" if there are none.
func (m *repairer) idsIn(at transcript.Span) string {
	var all []string
	for s := newStrings(m.raw, at); s.next(); {
		text := s.raw[s.at.Start+1 : s.at.End-1]
		if key := s.top(); len(text) > 0 && (!wordlessMembers[key] || pairNames[key] && key != "id") && !isTime(text) && bytes.IndexByte(text, ' ') < 0 {
			all = append(all, fmt.Sprintf("%s %s", key, m.raw[s.at.Start:s.at.End]))
		}
	}
	if all == nil {
		return ""
	}
	return ": " + strings.Join(all, ", ")
}

// fillNull gives a result an empty string for null, and drops any other message
// that has no content.
func (m *repairer) fillNull(f *Finding) {
	if f.Block != transcript.NoBlock || m.t.Messages()[f.Index].Role == transcript.Tool || m.extra[f.Index]&saysBeside != 0 {
		if m.setMember(m.t.Messages()[f.Index].Span, "content", quote("")) {
			m.log(f, ActionEdit, f.Block, f.Index, 0, "null content becomes an empty string")
		}
		return
	}
	if !m.besideReasoning(f) {
		m.dropEmpty(f)
	}
}

// besideReasoning lets a message of which there is nothing but what was thought say a blank, so that
// it stays; false if nothing was thought. What is left of one that said more goes.
func (m *repairer) besideReasoning(f *Finding) bool {
	if m.extra[f.Index]&hasReasoning == 0 || m.saidMore(f.Index) {
		return false
	}
	if m.setMember(m.t.Messages()[f.Index].Span, "content", quote(" ")) {
		if !m.hasMember(f.Index, "content") {
			m.written(f.Index, []origin{m.fresh()}) // there is no such place in the input
		}
		m.log(f, ActionEdit, transcript.NoBlock, f.Index, 1, "a blank stands beside the reasoning: the message says nothing else")
	}
	return true
}

// fillContent gives a message that has nothing but calls a blank to say, for the
// vendor that wants every message to say something.
func (m *repairer) fillContent(f *Finding) {
	if m.extra[f.Index]&hasCalls == 0 {
		m.dropEmpty(f)
		return
	}
	if m.setMember(m.t.Messages()[f.Index].Span, "content", quote(" ")) {
		fresh := !m.hasMember(f.Index, "content")
		if fresh {
			m.written(f.Index, []origin{m.fresh()}) // there is no such place in the input
		}
		m.log(f, ActionEdit, transcript.NoBlock, f.Index, 0, "a message must say something; a blank stands for nothing")
		if fresh {
			m.changes[len(m.changes)-1].born = birth{len(m.steps), m.made}
		}
	}
}

// nullContent makes an empty list of parts null beside calls, or a refusal, and a blank beside
// what was thought.
func (m *repairer) nullContent(f *Finding) {
	if facts := m.extra[f.Index]; facts&(hasCalls|saysBeside) == 0 {
		if m.besideReasoning(f) {
			return
		}
		m.dropEmpty(f)
		return
	}
	if m.setMember(m.t.Messages()[f.Index].Span, "content", []byte("null")) {
		m.log(f, ActionEdit, transcript.NoBlock, f.Index, 2, "an empty list becomes null")
	}
}

// emptyPart gives a part that has nothing but a signature an empty text to carry it, as the API itself writes
// it. A part that has nothing at all goes.
func (m *repairer) emptyPart(f *Finding) {
	at := m.t.Block(f.Block).Span
	for _, name := range []string{"thoughtSignature", "thought_signature"} {
		if v, ok := m.member(at, name); ok && m.raw[v.Start] == '"' && v.Len() > 2 {
			if m.setMember(at, "text", quote("")) {
				m.log(f, ActionEdit, f.Block, f.Index, len(`,"text":""`), "a signature stands beside a text; an empty one carries it")
			}
			return
		}
	}
	m.dropFound(f)
}

const (
	emptyErrorText  = "The tool reported an error without a message."
	emptyResultText = "The tool returned nothing."
)

// retagPart gives a part the type that its role may use.
func (m *repairer) retagPart(f *Finding) {
	if f.arg != "input_text" {
		m.pen.retagPart(m, f)
		return
	}
	if m.setMember(m.t.Block(f.Block).Span, "type", quote("output_text")) {
		m.log(f, ActionEdit, f.Block, f.Index, 1, "what the assistant says is output_text")
	}
}

// nameImage replaces an image by a text that says that there was one.
func (m *repairer) nameImage(f *Finding) {
	blk := m.t.Block(f.Block)
	text := m.g.text(transcript.User, "[An image was here; this model takes none.]")
	if m.edit(jsonspan.Edit{Span: jsonspan.Span(blk.Span), New: text}) {
		m.log(f, ActionDrop, f.Block, f.Index, len(text)-blk.Span.Len(), "the model takes no images; a text says that there was one")
	}
}

// nameHollow replaces an image or a document that has no data by a text that says so, also
// inside of a result.
func (m *repairer) nameHollow(f *Finding) {
	at := jsonspan.Span(m.t.Block(f.Block).Span)
	if _, field, ok := cutPath(f.Path, m.Path(f.Block)); ok && field != "" {
		i, err := strconv.Atoi(field[strings.LastIndex(field, ".")+1:])
		elems := jsonspan.Elements(m.raw, jsonspan.Span(m.t.Block(f.Block).Body))
		if err != nil || i >= len(elems) {
			return
		}
		at = elems[i]
	}
	text := m.g.text(transcript.User, "[An image or a document without any data was here.]")
	if m.edit(jsonspan.Edit{Span: at, New: text}) {
		m.saysNothing(f.Block)
		m.log(f, ActionEdit, f.Block, f.Index, len(text)-at.Len(), "media without data; a text says that there was something")
	}
}

// trimEnd trims the white space at the end of the last text. It works on the raw
// bytes, so that the escapes in front stay as they are.
func (m *repairer) trimEnd(f *Finding) {
	raw := m.t.Bytes(m.t.Block(f.Block).Body)
	n := len(raw)
	for n > 0 {
		cut := trailingSpaceLen(raw[:n])
		if cut == 0 {
			break
		}
		n -= cut
	}
	body := m.t.Block(f.Block).Body
	if m.edit(jsonspan.Edit{Span: jsonspan.Span{Start: body.Start + n, End: body.End}}) {
		m.log(f, ActionEdit, f.Block, f.Index, n-len(raw), "white space at the end of the last text removed")
	}
}

// trailingSpaceLen returns how many raw bytes the white space at the end takes, or
// 0 if there is none.
func trailingSpaceLen(raw []byte) int {
	for _, size := range []int{2, 6} {
		if len(raw) < size || raw[len(raw)-size] != '\\' || escapedAt(raw, len(raw)-size) {
			continue
		}
		text := jsonspan.Decode(nil, raw[len(raw)-size:])
		if r, n := utf8.DecodeRune(text); n == len(text) && unicode.IsSpace(r) {
			return size
		}
	}
	if r, n := utf8.DecodeLastRune(raw); unicode.IsSpace(r) {
		return n
	}
	return 0
}

// replaceHalf replaces the halves of surrogate pairs by U+FFFD: of the whole message, for a
// finding names the first one of a text.
func (m *repairer) replaceHalf(f *Finding) {
	offset, ok := flawOffset(f)
	if !ok {
		return
	}
	in := transcript.Span{Start: offset, End: offset + 1}
	if f.Index >= 0 {
		in = m.t.Messages()[f.Index].Span
	}
	for _, at := range m.halvesIn(in) {
		if m.edit(jsonspan.Edit{Span: jsonspan.Span{Start: at, End: at + 6}, New: []byte(`\ufffd`)}) {
			m.log(f, ActionEdit, f.Block, f.Index, 0, "half of a surrogate pair becomes U+FFFD")
		}
	}
}

// parted moves what may not share a turn with results into a turn of its own
// behind them.
func (m *repairer) parted(f *Finding) {
	ms := m.t.Messages()
	from := m.t.Block(f.Block).Message
	end := from + 1
	if !m.g.partsMessages {
		turn := ms[from].Turn
		from, end = m.turns[turn], m.endOfTurn(turn)
	}
	if m.again(f, from) {
		return
	}
	for i := from; i < end; i++ {
		if !m.untouched(i) || m.holdsStray(i) { // a stray becomes a text first, which may stay beside the others
			return
		}
	}
	var moved [][]byte
	var origins []origin
	for b := ms[from].First; b < ms[end-1].End; b++ {
		blk := m.t.Block(b)
		if blk.Kind == transcript.Result {
			continue
		}
		raw := m.t.Bytes(blk.Span)
		if m.where[b].in == inString {
			raw = m.g.textBlock(transcript.User, raw)
		}
		moved, origins = append(moved, raw), append(origins, m.at(b))
		m.dropBlock(b)
	}
	for i := from; i < end; i++ {
		m.taken[i] = true
	}
	if !m.g.partsMessages {
		// Neighbours of one role are merged, so somebody must speak in between.
		raw := m.g.textMessage(transcript.Assistant, wording.Pause)
		m.insertMessage(end, raw, m.fresh())
		m.logPause(f, end-1, raw)
	}
	m.insertMessage(end, m.g.turn(moved), m.fresh(), origins...)
	m.log(f, ActionMove, f.Block, from, 0, "what is no result stands in a turn of its own now")
}

// logPause records the short turn of the assistant beside message i that was made last.
func (m *repairer) logPause(f *Finding, i int, raw []byte) {
	m.log(f, ActionInsert, transcript.NoBlock, i, len(raw), "results may not share a turn with what the user says: a short turn of the assistant parts them")
}

// holdsStray reports whether a message holds a result that answers no call.
func (m *repairer) holdsStray(i int) bool {
	msg := m.t.Messages()[i]
	for b := msg.First; b < msg.End; b++ {
		if x := m.t.ExchangeOf(b); x != transcript.NoExchange && m.t.Block(b).Kind == transcript.Result && m.t.Exchanges()[x].Call == transcript.NoBlock {
			return true
		}
	}
	return false
}

// dropPending drops the server calls that keep a turn from being answered.
func (m *repairer) dropPending(f *Finding) {
	if m.again(f, 0) {
		return
	}
	for _, x := range m.t.Exchanges() {
		if x.Server && x.Call != transcript.NoBlock && len(x.Results) == 0 && m.free(x.Call) {
			m.dropBlock(x.Call)
			m.log(f, ActionDrop, x.Call, 0, -m.t.Block(x.Call).Span.Len(), "a server call that is still pending while the user speaks")
		}
	}
}
