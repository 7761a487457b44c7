package dialect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
)

// strayResult quotes a result that answers no call, or drops it. A result that
// some repair made up says nothing worth keeping.
func (m *repairer) strayResult(f *Finding) {
	if m.isHomeless(f.Block) {
		return // its call is about to fetch it
	}
	if f.fault == orphanResult && m.awaitsRelink(f.Block) {
		return
	}
	text, media := m.quotation(f.Block)
	if m.options.OrphanResult == RemedyDrop || len(media) == 0 && (IsSynthetic(text) || strings.TrimSpace(text) == "") {
		m.dropBlock(f.Block)
		m.log(f, ActionDrop, f.Block, f.Index, -m.t.Block(f.Block).Span.Len(), "a result whose call is not in the history")
		return
	}
	m.quote(f, f.Block, text, media, "a result whose call is not in the history, kept as quoted text")
}

// quote lets the user quote a result that cannot stay one: its words as text, its media as
// they are.
func (m *repairer) quote(f *Finding, b transcript.BlockID, text string, media [][]byte, why string) {
	blk := m.t.Block(b)
	quoted := m.quoteResult(b, text, len(media))
	m.dropBlock(b)
	m.isQuoted(b)
	var raw []byte
	if m.g.nested && m.t.Messages()[blk.Message].Role == transcript.User {
		raw = m.g.text(transcript.User, quoted)
		to := m.lastAnswers(blk.Message)
		l := m.listOf(to, m.g.blocks)
		for _, one := range append([][]byte{raw}, media...) {
			l.insert(m.behindResults(to), item{raw: one, from: m.at(b)})
		}
		m.messages.drop[to] = false
	} else {
		raw = m.textMessage(quoted, media)
		m.insertMessage(m.behindTool(blk.Message), raw, m.fresh(), repeat(m.at(b), 1+len(media))...)
	}
	m.log(f, ActionEdit, b, blk.Message, len(raw)-blk.Span.Len(), "%s", why)
	m.noteRemoved(b)
}

// quotation returns all that a result holds: its texts, anything that is no text as JSON,
// and what it shows.
func (m *repairer) quotation(b transcript.BlockID) (string, [][]byte) {
	blk := m.t.Block(b)
	if blk.Body == blk.Span {
		return allText(m.raw, blk.Span, 0), nil
	}
	if m.doubled(b) {
		return string(Canonical(m.t.Bytes(blk.Span))), nil
	}
	var texts []string
	var media [][]byte
	take := func(s transcript.Span) {
		if shows := m.shows(s); shows != nil {
			media = append(media, shows)
		} else if text := allText(m.raw, s, 1); text != "" {
			texts = append(texts, text)
		}
	}
	if !m.inString(blk.Body) && m.raw[blk.Body.Start] == '[' {
		for _, e := range jsonspan.Elements(m.raw, jsonspan.Span(blk.Body)) {
			take(tspan(e))
		}
	} else {
		take(blk.Body)
	}
	if parts, ok := m.pen.beside(m.draft, b); ok {
		for _, e := range jsonspan.Elements(m.raw, jsonspan.Span(parts)) {
			take(tspan(e))
		}
	}
	if rest := m.otherMembers(b); rest != nil {
		texts = append(texts, string(Canonical(rest)))
	}
	return strings.Join(texts, "\n"), media
}

// doubled reports whether a key stands twice in a block and says different things: then only
// the whole of it leaves nothing out.
func (m *repairer) doubled(b transcript.BlockID) bool {
	return len(m.flaws) > 0 && len(m.flawsIn(m.t.Block(b).Span, jsonspan.DuplicateKey)) > 0
}

// shows is what an item of a result shows, if it is an object.
func (m *repairer) shows(s transcript.Span) []byte {
	if s.Len() == 0 || m.raw[s.Start] != '{' {
		return nil
	}
	return m.pen.shown(m.draft, s)
}

// plumbing are the members of a result that say nothing of what a tool did.
var plumbing = []string{
	"type", "role", "id", "name", "tool_use_id", "toolUseId", "tool_call_id", "call_id", "content", "output", "response", "parts",
	"is_error", "status", "cache_control", "willContinue", "will_continue", "scheduling", "host_digest",
}

// sayingMembers are those of them in which some API has what a tool said.
var sayingMembers = []string{"content", "output", "response", "parts"}

// textlessMembers are those of them that no API has as a text.
var textlessMembers = []string{"is_error", "cache_control", "willContinue", "will_continue"}

// saidIn is the member of a result that holds what it says.
func (m *repairer) saidIn(b transcript.BlockID) string {
	path := m.pen.contentPath(m.draft, b)
	return path[len(path)-1]
}

// otherMembers writes the members of a result beside what it says, or nil.
func (m *repairer) otherMembers(b transcript.BlockID) []byte {
	at, _ := m.pen.resultObject(m.draft, b)
	body := m.t.Block(b).Body
	var rest []any
	for _, e := range jsonspan.Members(m.raw, jsonspan.Span(at)) {
		name := string(jsonspan.Decode(nil, m.raw[e.Key.Start:e.Key.End]))
		value := m.raw[e.Value.Start:e.Value.End]
		said := name == m.saidIn(b) || name == "parts" && value[0] == '[' || e.Value.Start <= body.Start && body.End <= e.Value.End
		if said || saysNothing(value) || slices.Contains(plumbing, name) && !slices.Contains(sayingMembers, name) && !(value[0] == '"' && slices.Contains(textlessMembers, name)) && !m.holdsWords(tspan(e.Value)) {
			continue
		}
		rest = append(rest, name, value)
	}
	if rest == nil {
		return nil
	}
	return object(rest...)
}

// holdsWords reports whether there are words in a value.
func (m *repairer) holdsWords(at transcript.Span) bool {
	for s := newStrings(m.raw, at); s.next(); {
		if !s.wordless(true) {
			return true
		}
	}
	return false
}

// quotesAround is a span with its quotes, if it lies in a string.
func (m *repairer) quotesAround(at transcript.Span) transcript.Span {
	if m.inString(at) {
		return transcript.Span{Start: at.Start - 1, End: at.End + 1}
	}
	return at
}

// textMessage writes a message of the user that says text and shows media.
func (m *repairer) textMessage(text string, media [][]byte) []byte {
	if len(media) == 0 {
		return m.g.textMessage(transcript.User, text)
	}
	return m.g.turn(append([][]byte{m.g.text(transcript.User, text)}, media...))
}

// quoteResult words a result as a quotation, so that nobody takes it for the
// user's own words. So many parts behind it belong to it.
func (m *repairer) quoteResult(b transcript.BlockID, text string, attached int) string {
	name, tool := "A tool result without its call", m.t.Block(b).Tool
	if tool != "" {
		name = "A result of " + tool + " without its call"
	}
	if x := m.t.Exchanges()[m.t.ExchangeOf(b)]; x.Call != transcript.NoBlock && b != x.Results[0] {
		if name = "A further result of its call"; tool != "" {
			name = "A further result of " + tool
		}
	}
	if attached > 0 {
		name += wording.QuotedWith + itoa(attached)
	}
	return fmt.Sprintf("[%s%s\n%s", name, wording.Quoted, text)
}
