package agentlog

import (
	"bytes"
	"cmp"
	"iter"
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/wire"
)

// No repair of a file may lose words. A repair knows what a record says where its format says it;
// an extension, another version or another program may say something elsewhere in it. So
// whatever the repairs of a round take out of a record is looked through once more, before it is
// written. Words that would be nowhere any more are kept in the record or, if it goes, in one that
// the agent passes over. Where a format has neither, the record is held: the round begins anew
// without it, and its finding stays.

// keptMember is the member of a record that holds what a repair took out of it and nobody has
// read.
const keptMember = "pare_kept"

// keptRule is what a receipt says about it.
const keptRule = "kept-words"

// heldBack is what to do about a finding whose repair would lose words.
const heldBackAdvice = "the repair would lose words that stand beside what is wrong: move them elsewhere, or delete them, and fix again"

// maxHolds bounds how often a round begins anew. Nearly always the second one loses nothing.
const maxHolds = 4

// A passer is a form whose agent can be made to pass a record over.
type skipper interface {
	// passOver writes a record so that the agent does not send it.
	skipped(record []byte) []byte
}

// An attacher is a form whose agent does not open records with members that it does not know.
type attacher interface {
	// attach adds words to a record, where the agent leaves them alone.
	attach(record, words []byte) []byte
}

// let says that a receipt names what is lost in a span of a unit.
func (e *edits) allowLoss(u int, at jsonspan.Span) {
	e.allowedLoss[u] = append(e.allowedLoss[u], at)
}

// holds reports whether a unit of a thread is held.
func (e *edits) hasHeldUnit(t *Thread) bool {
	return len(e.heldUnits) > 0 && slices.ContainsFunc(t.sources, func(p messageSource) bool { return e.heldUnits[p.unit] })
}

// repaired collects what is to be done to the file as it is, and carries it out, apart from what
// would lose words.
func (l *Log) planRepairs(o Options) (*edits, []byte, error) {
	held := make(map[int]bool)
	for range maxHolds {
		e := newEdits(l, o.AppendOnly, held)
		if err := e.collect(o); err != nil {
			return nil, nil, err
		}
		losing := e.keepWords()
		if len(losing) == 0 {
			raw, err := e.render()
			return e, raw, err
		}
		for _, u := range losing {
			held[u] = true
		}
	}
	return &edits{file: l, heldUnits: held}, l.raw, nil
}

// conserve sees to it that the words of all units that change or go stay in the file, and
// returns the units whose words would be lost.
func (e *edits) keepWords() (held []int) {
	for u := range e.file.units {
		e.applyInnerEdits(u)
	}
	c := lossCheck{edits: e, missing: make(map[string]bool)}
	c.findCopies()
	for u := range e.file.units {
		c.noteRemoved(u)
	}
	if c.findMissing(); len(c.missing) == 0 {
		return nil
	}
	for i := 0; i < len(c.removed); {
		u, k := c.removed[i].unit, i
		lost := make(map[int]bool) // by where they begin
		for ; i < len(c.removed) && c.removed[i].unit == u; i++ {
			if c.missing[c.removed[i].text] {
				lost[c.removed[i].at.Start] = true
			}
		}
		if len(lost) > 0 && !e.keepUnitWords(u, c.removed[k:i], lost) {
			held = append(held, u)
		}
	}
	return held
}

// rescue keeps words of a unit in the file; false: it cannot.
func (e *edits) keepUnitWords(u int, taken []removedString, lost map[int]bool) bool {
	x, old := e.unit(u), e.file.units[u].span
	if x.drop {
		p, ok := e.file.reader.(skipper)
		if !ok {
			return false
		}
		x.drop, x.body = false, p.skipped(e.file.raw[old.Start:old.End])
		there := make(map[string]bool)
		eachWord(x.body, jsonspan.Span{End: len(x.body)}, func(s jsonspan.Span) { there[decodeString(x.body, s)] = true })
		for _, w := range taken {
			if there[w.text] {
				delete(lost, w.at.Start)
			}
		}
	}
	if len(lost) > 0 {
		words := keepOnly(e.file.raw, old, lost)
		if a, ok := e.file.reader.(attacher); ok {
			x.body = a.attach(x.body, words)
		} else {
			x.body = appendKept(x.body, words)
		}
	}
	c := Change{Line: e.file.units[u].line}
	if e.file.files != nil {
		c.File = e.file.fileAt(old.Start).path
	}
	e.addChange(c, wire.ActionEdit, keptRule, nil, 0, "what else the record says stays in the file, where the agent passes it over")
	return true
}

// withKept adds words to the list of those that an object keeps.
func appendKept(raw, words []byte) []byte {
	all := []byte{'['}
	o := objectOf(raw)
	if v, ok := o.Get(keptMember); len(o.List(keptMember)) > 0 {
		all = append(bytes.Clone(raw[v.Start:v.End-1]), ',')
	} else if ok {
		all = append(append(all, raw[v.Start:v.End]...), ',')
	}
	return o.With(keptMember, append(append(all, words...), ']'))
}

// A takenWord is a string that a round takes out of a unit.
type removedString struct {
	unit int
	at   jsonspan.Span // in the file
	text string
}

// A wordCheck looks for what a round takes out of a file.
type lossCheck struct {
	edits   *edits
	removed []removedString // in the order of the file
	missing map[string]bool // of these, what has not been found elsewhere
	copies  map[string]bool // the bytes of units that go and that stay elsewhere, whatever becomes of them there
}

// findCopies finds the units that go and are copies of others that do not.
func (c *lossCheck) findCopies() {
	bytesOf := func(u int) []byte { at := c.edits.file.units[u].span; return c.edits.file.raw[at.Start:at.End] }
	for u, x := range c.edits.units {
		if x.drop {
			if c.copies == nil {
				c.copies = make(map[string]bool)
			}
			c.copies[string(bytesOf(u))] = false
		}
	}
	if c.copies == nil {
		return
	}
	for u := range c.edits.file.units {
		if _, goes := c.copies[string(bytesOf(u))]; goes && !c.edits.dropped(u) {
			c.copies[string(bytesOf(u))] = true
		}
	}
}

// changes reports whether a unit goes or is written anew.
func (x *unitEdit) changes(old []byte) bool {
	return x != nil && (x.drop || x.body != nil && !bytes.Equal(x.body, old))
}

// take notes the words of a unit that do not stay as they are, apart from those that a receipt
// names.
func (c *lossCheck) noteRemoved(u int) {
	at := c.edits.file.units[u].span
	old, x := c.edits.file.raw[at.Start:at.End], c.edits.units[u]
	if !x.changes(old) || x.drop && c.copies[string(old)] {
		return
	}
	from, to := 0, len(old) // what differs
	if !x.drop {
		for from < min(to, len(x.body)) && old[from] == x.body[from] {
			from++
		}
		for n := len(x.body); to > from && n > from && old[to-1] == x.body[n-1]; n-- {
			to--
		}
	}
	from, to = from+at.Start, to+at.Start
	named := c.edits.allowedLoss[u]
	slices.SortFunc(named, func(a, b jsonspan.Span) int { return cmp.Compare(a.Start, b.Start) })
	eachWord(c.edits.file.raw, at, func(s jsonspan.Span) {
		for len(named) > 0 && named[0].End <= s.Start {
			named = named[1:]
		}
		if s.End < from || s.Start > to || len(named) > 0 && named[0].Start <= s.Start {
			return
		}
		text := decodeString(c.edits.file.raw, s)
		c.removed = append(c.removed, removedString{u, s, text})
		c.missing[text] = true
	})
}

// findMissing looks for the words that were taken: in what the round puts in and, at last, in the units
// that it leaves alone.
func (c *lossCheck) findMissing() {
	if len(c.missing) == 0 {
		return
	}
	find := func(raw []byte, at jsonspan.Span) {
		eachWord(raw, at, func(s jsonspan.Span) {
			if content := raw[s.Start:s.End]; bytes.IndexByte(content, '\\') < 0 {
				delete(c.missing, string(content))
			} else {
				delete(c.missing, decodeString(raw, s))
			}
		})
	}
	for _, raw := range slices.Concat(c.edits.prepended, c.edits.appended) {
		find(raw, jsonspan.Span{End: len(raw)})
	}
	for u := range c.edits.file.units {
		for raw := range c.edits.units[u].insertions {
			find(raw, jsonspan.Span{End: len(raw)})
		}
	}
	c.findQuoted()
	if len(c.missing) == 0 {
		return
	}
	for u := range c.edits.file.units {
		if at := c.edits.file.units[u].span; !c.edits.units[u].changes(c.edits.file.raw[at.Start:at.End]) {
			find(c.edits.file.raw, at)
		}
	}
}

// puts are the values that an edit puts in.
func (x *unitEdit) insertions(yield func([]byte) bool) {
	if x == nil {
		return
	}
	all := slices.Concat(x.before, x.after)
	if !x.drop && x.body != nil {
		all = append(all, x.body)
	}
	for _, raw := range all {
		if !yield(raw) {
			return
		}
	}
}

// quoted looks for the words of each unit in the texts that are put in: first in its place, then
// anywhere. A quotation holds them as a part of something longer, spelled as they were or as JSON
// in a text.
func (c *lossCheck) findQuoted() {
	for i := 0; i < len(c.removed); {
		u, from := c.removed[i].unit, i
		for i < len(c.removed) && c.removed[i].unit == u {
			i++
		}
		c.findQuotedIn(c.removed[from:i], c.edits.units[u].insertions)
	}
	c.findQuotedIn(c.removed, func(yield func([]byte) bool) {
		for _, raw := range slices.Concat(c.edits.prepended, c.edits.appended) {
			if !yield(raw) {
				return
			}
		}
		for u := range c.edits.file.units {
			for raw := range c.edits.units[u].insertions {
				if !yield(raw) {
					return
				}
			}
		}
	})
}

// quotedIn looks for words in texts.
func (c *lossCheck) findQuotedIn(words []removedString, puts iter.Seq[[]byte]) {
	if !slices.ContainsFunc(words, func(w removedString) bool { return c.missing[w.text] }) {
		return
	}
	var texts []byte
	for raw := range puts {
		eachWord(raw, jsonspan.Span{End: len(raw)}, func(s jsonspan.Span) {
			texts = append(jsonspan.Decode(texts, raw[s.Start:s.End]), 0)
		})
	}
	q := quotedTexts{texts: texts, budget: 64*len(texts) + 1<<16}
	for _, w := range words {
		if c.missing[w.text] && q.contains(w.text) {
			delete(c.missing, w.text)
		}
	}
}

// quotations are the texts that stand in the place of a unit.
type quotedTexts struct {
	texts  []byte
	at     int // where the last one was found: the next mostly stands behind it
	budget int // bytes that may still be searched; beyond them a text counts as missing, and is kept
}

func (q *quotedTexts) contains(text string) bool {
	spelled := quote(text)
	return q.containsBytes([]byte(text)) || q.containsBytes(spelled[1:len(spelled)-1])
}

func (q *quotedTexts) containsBytes(text []byte) bool {
	for _, start := range []int{q.at, 0} {
		if q.budget < 0 {
			return false
		}
		if n := bytes.Index(q.texts[start:], text); n >= 0 {
			q.budget -= n
			q.at = start + n
			return true
		}
		q.budget -= len(q.texts) - start
	}
	return false
}

// contentText is what the string at a span says.
func decodeString(raw []byte, s jsonspan.Span) string {
	return textAt(raw, jsonspan.Span{Start: s.Start - 1, End: s.End + 1})
}

// speaking are the members in which a single word is something that somebody said.
var speechMembers = map[string]bool{
	"text": true, "content": true, "message": true, "output": true, "result": true, "stdout": true, "stderr": true, "error": true,
	"thinking": true, "thought": true, "reasoning": true, "summary": true, "input": true, "command": true,
}

// sealing are the members whose strings no one can read, however long they are.
var opaqueMembers = map[string]bool{"signature": true, "thinkingSignature": true, "thoughtSignature": true, "thought_signature": true, "encrypted_content": true}

// isWord reports whether a string, or the name of a member, may be something that somebody said:
// not an id, a time or a mark, nor what a repair made up.
func isWord(member, content []byte) bool {
	if len(bytes.TrimSpace(content)) == 0 {
		return false
	}
	token := (len(content) <= 200 || opaqueMembers[string(member)]) && !bytes.ContainsFunc(content, func(r rune) bool { return r <= ' ' || r >= 0x80 || r == '\\' })
	return (!token || speechMembers[string(member)]) && !wirex.IsSynthetic(string(content))
}

// eachWord visits the strings of a value that may be words, names of members included.
func eachWord(raw []byte, at jsonspan.Span, visit func(content jsonspan.Span)) {
	eachString(raw, at, func(member, s jsonspan.Span, _ bool) {
		if isWord(raw[member.Start:member.End], raw[s.Start:s.End]) {
			visit(s)
		}
	})
}

// eachString visits the strings of a value without their quotes, names of members included, and
// says which member each is in: of a name, none.
func eachString(raw []byte, at jsonspan.Span, visit func(member, content jsonspan.Span, key bool)) {
	s := jsonspan.Borrow(raw[at.Start:at.End], jsonspan.Structural)
	defer s.Return()
	within := func(x jsonspan.Span) jsonspan.Span {
		return jsonspan.Span{Start: x.Start + at.Start, End: x.End + at.Start}
	}
	var value func(member jsonspan.Span)
	value = func(member jsonspan.Span) {
		switch s.Peek() {
		case jsonspan.Object:
			s.Enter()
			for key, ok := s.Key(); ok; key, ok = s.Key() {
				visit(jsonspan.Span{}, within(key), true)
				value(within(key))
			}
		case jsonspan.Array:
			s.Enter()
			for s.Element() {
				value(member)
			}
		case jsonspan.String:
			visit(member, within(s.Str()), false)
		default:
			s.Skip()
		}
	}
	value(jsonspan.Span{})
}

// telling are the members that say who speaks, and what it is, in any format.
var identityMembers = map[string]bool{
	"role": true, "Role": true, "_role": true, "source": true, "author": true, "from": true, "sender": true, "message_type": true, "messageType": true,
	"type": true, "kind": true, "id": true, "name": true,
}

// pruned writes a value with nothing in it but the words that are lost, and who says them.
func keepOnly(raw []byte, at jsonspan.Span, lost map[int]bool) []byte {
	s := jsonspan.Borrow(raw[at.Start:at.End], jsonspan.Structural)
	defer s.Return()
	var out []byte
	var value func(tells bool) bool // reports whether there is something in it that is lost
	list := func(open, end byte, tells bool, each func() (goOn, some bool)) bool {
		start, any := len(out), false
		out = append(out, open)
		for goOn, some := each(); goOn; goOn, some = each() {
			any = any || some
		}
		if out = append(bytes.TrimSuffix(out, []byte{','}), end); !any && !tells {
			out = out[:start]
		}
		return any
	}
	value = func(tells bool) bool {
		switch s.Peek() {
		case jsonspan.Object:
			s.Enter()
			return list('{', '}', tells, func() (bool, bool) {
				key, ok := s.Key()
				if !ok {
					return false, false
				}
				start, some := len(out), lost[at.Start+key.Start]
				name := raw[at.Start+key.Start : at.Start+key.End]
				out = append(append(append(out, '"'), name...), '"', ':')
				begin := len(out)
				if some = value(tells || identityMembers[string(name)]) || some; some && len(out) == begin {
					out = append(out, "null"...) // only the name says something
				}
				if len(out) == begin {
					out = out[:start]
				} else {
					out = append(out, ',')
				}
				return true, some
			})
		case jsonspan.Array:
			s.Enter()
			return list('[', ']', tells, func() (bool, bool) {
				if !s.Element() {
					return false, false
				}
				start := len(out)
				some := value(tells)
				if len(out) > start {
					out = append(out, ',')
				}
				return true, some
			})
		case jsonspan.String:
			x := s.Str()
			some := lost[at.Start+x.Start]
			if some || tells {
				out = append(append(append(out, '"'), raw[at.Start+x.Start:at.Start+x.End]...), '"')
			}
			return some
		}
		s.Skip()
		return false
	}
	value(false)
	return out
}
