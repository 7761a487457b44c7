package agentlog

import (
	"bytes"
	"cmp"
	"iter"
	"slices"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/wire"
)

// No repair may lose words of a file. A repair reads the members that it knows; an extension or
// another version may store text in other members. So keepWords compares everything that a round
// removes with the result. Words that would be lost are kept in a member of the record or, if the
// record is removed, in a record that the agent ignores. If the format supports neither, the unit
// is held: the round starts again without changing it, and its finding remains.

// keptMember is the member with strings that a repair removed from a record.
const keptMember = "pare_kept"

// keptRule is the rule of its receipt.
const keptRule = "kept-words"

// heldBackAdvice is the advice for a finding whose repair would lose words.
const heldBackAdvice = "the repair would lose words that stand beside what is wrong: move them elsewhere, or delete them, and fix again"

// maxHolds bounds the attempts of a round. The second one rarely loses anything.
const maxHolds = 4

// A skipper is a format with records that its agent ignores.
type skipper interface {
	// skipped returns a record in a form that the agent does not send.
	skipped(record []byte) []byte
}

// An attacher is a format whose agent rejects records with unknown members.
type attacher interface {
	// attach stores words in a record where the agent allows it.
	attach(record, words []byte) []byte
}

// allowLoss marks a span of a unit as named in a receipt.
func (e *edits) allowLoss(u int, at jsonspan.Span) {
	e.allowedLoss[u] = append(e.allowedLoss[u], at)
}

// hasHeldUnit reports whether a unit of a thread is held.
func (e *edits) hasHeldUnit(t *Thread) bool {
	return len(e.heldUnits) > 0 && slices.ContainsFunc(t.sources, func(p messageSource) bool { return e.heldUnits[p.unit] })
}

// planRepairs collects the repairs of one round that lose no words. It returns them and the
// resulting file.
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

// keepWords makes sure that the strings of changed and removed units stay in the file. It returns
// the units for which it cannot.
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
		lost := make(map[int]bool) // by offset
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

// keepUnitWords keeps lost strings of a unit in the file. It returns false if the format cannot
// hold them.
func (e *edits) keepUnitWords(unit int, taken []removedString, lost map[int]bool) bool {
	x, old := e.unit(unit), e.file.units[unit].span
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
	c := Change{Line: e.file.units[unit].line}
	if e.file.files != nil {
		c.File = e.file.fileAt(old.Start).path
	}
	e.addChange(c.with(wire.Change{Action: wire.ActionEdit, Rule: keptRule}), "what else the record says stays in the file, where the agent passes it over")
	return true
}

// appendKept appends words to the kept strings of an object.
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

// A removedString is a string that a round removes from a unit.
type removedString struct {
	unit int
	at   jsonspan.Span // in the file
	text string
}

// A lossCheck finds the strings that a round would lose.
type lossCheck struct {
	edits   *edits
	removed []removedString // in file order
	missing map[string]bool // those that were not found elsewhere
	copies  map[string]bool // by bytes of a removed unit: an equal unit stays
}

// findCopies finds removed units with an equal unit that stays.
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

// changes reports whether a unit is removed or rewritten.
func (u *unitEdit) changes(old []byte) bool {
	return u != nil && (u.drop || u.body != nil && !bytes.Equal(u.body, old))
}

// noteRemoved notes the strings in the changed part of a unit, except those named in a receipt.
func (c *lossCheck) noteRemoved(unit int) {
	at := c.edits.file.units[unit].span
	old, x := c.edits.file.raw[at.Start:at.End], c.edits.units[unit]
	if !x.changes(old) || x.drop && c.copies[string(old)] {
		return
	}
	from, to := 0, len(old) // the differing range
	if !x.drop {
		for from < min(to, len(x.body)) && old[from] == x.body[from] {
			from++
		}
		for n := len(x.body); to > from && n > from && old[to-1] == x.body[n-1]; n-- {
			to--
		}
	}
	from, to = from+at.Start, to+at.Start
	named := c.edits.allowedLoss[unit]
	slices.SortFunc(named, func(a, b jsonspan.Span) int { return cmp.Compare(a.Start, b.Start) })
	eachWord(c.edits.file.raw, at, func(s jsonspan.Span) {
		for len(named) > 0 && named[0].End <= s.Start {
			named = named[1:]
		}
		if s.End < from || s.Start > to || len(named) > 0 && named[0].Start <= s.Start {
			return
		}
		text := decodeString(c.edits.file.raw, s)
		c.removed = append(c.removed, removedString{unit, s, text})
		c.missing[text] = true
	})
}

// findMissing searches for the removed strings: in new and changed units, and then in unchanged
// ones.
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

// insertions yields the values that an edit inserts.
func (u *unitEdit) insertions(yield func([]byte) bool) {
	if u == nil {
		return
	}
	all := slices.Concat(u.before, u.after)
	if !u.drop && u.body != nil {
		all = append(all, u.body)
	}
	for _, raw := range all {
		if !yield(raw) {
			return
		}
	}
}

// findQuoted searches for the strings of each unit in inserted texts, first in those at its place,
// then in all. A quotation contains them as a part of a longer string, unchanged or as escaped
// JSON.
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

// findQuotedIn searches for strings in inserted texts.
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

// quotedTexts are the decoded texts that are inserted at one place.
type quotedTexts struct {
	texts []byte
	at    int // place of the last match; the next one usually follows it
	// Bytes that may still be searched; without budget, a text counts as missing and is kept.
	budget int
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

// decodeString returns the decoded string at a span without quotes.
func decodeString(raw []byte, s jsonspan.Span) string {
	return textAt(raw, jsonspan.Span{Start: s.Start - 1, End: s.End + 1})
}

// speechMembers are the members in which even a single word may be speech.
var speechMembers = map[string]bool{
	"text": true, "content": true, "message": true, "output": true, "result": true, "stdout": true, "stderr": true, "error": true,
	"thinking": true, "thought": true, "reasoning": true, "summary": true, "input": true, "command": true,
}

// opaqueMembers are the members with encoded strings of any length.
var opaqueMembers = map[string]bool{"signature": true, "thinkingSignature": true, "thoughtSignature": true, "thought_signature": true, "encrypted_content": true}

// isWord reports whether a string, or the name of a member, may be text of a speaker. Ids, times,
// marks and synthetic texts are not.
func isWord(member, content []byte) bool {
	if len(bytes.TrimSpace(content)) == 0 {
		return false
	}
	token := (len(content) <= 200 || opaqueMembers[string(member)]) && !bytes.ContainsFunc(content, func(r rune) bool { return r <= ' ' || r >= 0x80 || r == '\\' })
	return (!token || speechMembers[string(member)]) && !dialect.IsSynthetic(string(content))
}

// eachWord calls visit with the strings of a value that may be text, including names of members.
func eachWord(raw []byte, at jsonspan.Span, visit func(content jsonspan.Span)) {
	eachString(raw, at, func(member, s jsonspan.Span, _ bool) {
		if isWord(raw[member.Start:member.End], raw[s.Start:s.End]) {
			visit(s)
		}
	})
}

// eachString calls visit with each string of a value, without quotes, and the name of its member.
// It also visits the names themselves, with an empty member.
func eachString(raw []byte, at jsonspan.Span, visit func(member, content jsonspan.Span, key bool)) {
	scanner := jsonspan.Borrow(raw[at.Start:at.End], jsonspan.Structural)
	defer scanner.Return()
	within := func(x jsonspan.Span) jsonspan.Span {
		return jsonspan.Span{Start: x.Start + at.Start, End: x.End + at.Start}
	}
	var value func(member jsonspan.Span)
	value = func(member jsonspan.Span) {
		switch scanner.Peek() {
		case jsonspan.Object:
			scanner.Enter()
			for key, ok := scanner.Key(); ok; key, ok = scanner.Key() {
				visit(jsonspan.Span{}, within(key), true)
				value(within(key))
			}
		case jsonspan.Array:
			scanner.Enter()
			for scanner.Element() {
				value(member)
			}
		case jsonspan.String:
			visit(member, within(scanner.Str()), false)
		default:
			scanner.Skip()
		}
	}
	value(jsonspan.Span{})
}

// identityMembers are the members that identify a speaker or a type in any format.
var identityMembers = map[string]bool{
	"role": true, "Role": true, "_role": true, "source": true, "author": true, "from": true, "sender": true, "message_type": true, "messageType": true,
	"type": true, "kind": true, "id": true, "name": true,
}

// keepOnly returns a value with only the lost strings and the members that identify their speaker.
func keepOnly(raw []byte, at jsonspan.Span, lost map[int]bool) []byte {
	p := pruner{scanner: jsonspan.Borrow(raw[at.Start:at.End], jsonspan.Structural), raw: raw, offset: at.Start, lost: lost}
	defer p.scanner.Return()
	p.value(false)
	return p.out
}

// A pruner copies the lost strings of a value.
type pruner struct {
	scanner *jsonspan.Scanner
	raw     []byte
	offset  int // of the value in raw
	lost    map[int]bool
	out     []byte
}

// value copies the next value and reports whether it contains a lost string. Without one, it copies
// the value only if it identifies a speaker.
func (p *pruner) value(identifies bool) (hasLost bool) {
	start := len(p.out)
	switch p.scanner.Peek() {
	case jsonspan.Object:
		p.scanner.Enter()
		p.out = append(p.out, '{')
		for key, ok := p.scanner.Key(); ok; key, ok = p.scanner.Key() {
			hasLost = p.member(key, identifies) || hasLost
		}
		p.out = append(bytes.TrimSuffix(p.out, []byte{','}), '}')
	case jsonspan.Array:
		p.scanner.Enter()
		p.out = append(p.out, '[')
		for p.scanner.Element() {
			before := len(p.out)
			hasLost = p.value(identifies) || hasLost
			if len(p.out) > before {
				p.out = append(p.out, ',')
			}
		}
		p.out = append(bytes.TrimSuffix(p.out, []byte{','}), ']')
	case jsonspan.String:
		s := p.scanner.Str()
		hasLost = p.lost[p.offset+s.Start]
		p.appendString(s)
	default:
		p.scanner.Skip()
	}
	if !hasLost && !identifies {
		p.out = p.out[:start]
	}
	return hasLost
}

// member copies the member with the given key and reports whether it contains a lost string.
func (p *pruner) member(key jsonspan.Span, identifies bool) bool {
	start := len(p.out)
	p.appendString(key)
	p.out = append(p.out, ':')
	begin := len(p.out)
	name := string(p.raw[p.offset+key.Start : p.offset+key.End])
	hasLost := p.value(identifies || identityMembers[name]) || p.lost[p.offset+key.Start]
	if hasLost && len(p.out) == begin {
		p.out = append(p.out, "null"...) // only the name is lost
	}
	if len(p.out) == begin {
		p.out = p.out[:start]
		return false
	}
	p.out = append(p.out, ',')
	return hasLost
}

func (p *pruner) appendString(s jsonspan.Span) {
	p.out = append(append(append(p.out, '"'), p.raw[p.offset+s.Start:p.offset+s.End]...), '"')
}
