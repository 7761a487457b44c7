package dialect

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// A ForeignError is the error for a body that holds a history in a format that only looks
// like a dialect. It is not read, so that it cannot be damaged; a dialect that is named
// overrides it. It wraps ErrNotRequest. Many goroutines may read it.
type ForeignError struct {
	Looks string // what it looks like
	Why   string // what tells

	asked Dialect // that was named for what another dialect says; Auto: it is nobody's
}

func (e *ForeignError) Error() string {
	if e.asked != Auto {
		return fmt.Sprintf("this looks like %s (%s), and %s was expected", e.Looks, e.Why, e.asked)
	}
	var names []string
	for _, d := range Dialects() {
		names = append(names, d.String())
	}
	formats := "the formats are " + strings.Join(names, ", ")
	if e.Looks == unknownFormat {
		return fmt.Sprintf("not understood: %s; %s", e.Why, formats)
	}
	return fmt.Sprintf("not understood: %s; it looks like %s, which is not read; %s", e.Why, e.Looks, formats)
}

func (e *ForeignError) Unwrap() error { return ErrNotRequest }

// foreign tells whether the request, whose dialect was detected, is a history of another
// format. One word that is known to be another's is enough, or one call that is not
// understood; of what nobody knows it takes most.
func (r *Request) foreign() *ForeignError {
	for _, kind := range []string{"moderation", "embedding"} {
		if strings.Contains(r.head.model, kind) {
			return &ForeignError{Looks: "a request for " + kind, Why: "the name of its model"}
		}
	}
	if err := r.foreignBlocks(); err != nil {
		return err
	}
	return r.foreignElements()
}

func (r *Request) foreignBlocks() *ForeignError {
	unknown, sample := 0, []byte(nil)
	blocks := r.t.Blocks()
	for i := range blocks { // they are large, and of this kind hardly ever
		if blocks[i].Kind != transcript.Other {
			if !r.g.nested && blocks[i].Kind == transcript.Result && blocks[i].CallID == "" {
				w := wordsOf(r.raw, jsonspan.Span(blocks[i].Span), jsonspan.Span{})
				if looks, by := w.maker(); looks != "" {
					return &ForeignError{Looks: looks, Why: "elements with " + by}
				}
			}
			continue
		}
		typ := r.typeOf(blocks[i].Span)
		if whose := r.whose(typ); whose != "" {
			return &ForeignError{Looks: whose, Why: fmt.Sprintf("blocks of type %q", typ)}
		}
		if len(typ) == 0 && r.g.nested {
			w := wordsOf(r.raw, jsonspan.Span(blocks[i].Span), jsonspan.Span{})
			if looks, by := w.maker(); looks != "" {
				return &ForeignError{Looks: looks, Why: "blocks with " + by}
			}
			if w.known || len(w.keys) == 0 {
				continue
			}
			typ = []byte(w.keys[0])
		}
		if len(typ) == 0 || r.isKnown(string(typ)) {
			continue
		}
		if unknown, sample = unknown+1, typ; looksLikeCall(string(typ)) && !r.minds(i, foreignPart) {
			return &ForeignError{Looks: unknownFormat, Why: fmt.Sprintf("a call or a result of a kind that is not understood, %q", typ)}
		}
	}
	if unknown > 1 && 2*unknown > len(blocks) {
		return &ForeignError{Looks: unknownFormat, Why: fmt.Sprintf("%d of %d blocks are of types such as %q", unknown, len(blocks), sample)}
	}
	return nil
}

// minds reports whether the check finds something about a block that was noted.
func (r *Request) minds(block int, what fault) bool {
	c := checker{Request: r}
	return c.wants(what) && slices.ContainsFunc(r.notes, func(n note) bool { return n.fault == what && int(n.block) == block })
}

// whose says whose a type is, if it is another's.
func (r *Request) whose(typ []byte) string {
	if whose := r.g.foreign[string(typ)]; whose != "" {
		return whose
	}
	return findMaker(typesOf, string(typ))
}

// maxBeside is how long the role of a message, and the marks around it, are at most.
const maxBeside = 48

// foreignElements is foreign for what stands around the blocks.
func (r *Request) foreignElements() *ForeignError {
	ms := r.t.Messages()
	lacking, strange := 0, 0 // have nothing where they should, but somewhere else; are no objects
	for i := range ms {
		m, f := &ms[i], &r.frame[i]
		if m.First < m.End && (r.extra[i]&holdsOnly != 0 || i >= 3 && m.Span.Len() <= f.content.Len()+f.calls.Len()+maxBeside) {
			continue
		}
		at := jsonspan.Span(m.Span)
		if at.Len() > 0 && r.raw[at.Start] != '{' {
			strange++
			continue
		}
		one := r.g.flat && m.First < m.End && r.where[m.First].in == inMessage // all of it is a block, and was looked at
		if one && r.t.Blocks()[m.First].Kind != transcript.Other {
			continue
		}
		w := wordsOf(r.raw, at, jsonspan.Span(f.content))
		if looks, by := w.maker(); looks != "" {
			return r.foreignMessage(looks, by)
		}
		if what := r.callBeside(&w); what != "" && !one {
			return &ForeignError{Looks: unknownFormat, Why: fmt.Sprintf("a call or a result that is not understood, in the member %q of %s", what, r.MessagePath(i))}
		}
		if m.First == m.End && (f.content.Len() == 0 || r.raw[f.content.Start] == 'n') && r.saysElsewhere(i) {
			lacking++
		}
	}
	if err := r.foreignParts(); err != nil {
		return err
	}
	switch n := len(ms); {
	case r.head.listKind != jsonspan.Array && !r.bare: // it stands in the place of the list
	case strange > 0 && 2*strange > n:
		return &ForeignError{Looks: unknownFormat, Why: fmt.Sprintf("%d of %d elements of the list are no objects", strange, n)}
	case lacking > 0 && 2*lacking > n:
		return &ForeignError{Looks: unknownFormat, Why: fmt.Sprintf("no %q in %d of %d messages, which say something elsewhere", r.g.blocks.member(), lacking, n)}
	}
	if err := r.foreignRoles(); err != nil {
		return err
	}
	return r.foreignSpeakers()
}

// foreignSpeakers tells whether nobody who is known speaks in a list of elements that have something
// which no message has.
func (r *Request) foreignSpeakers() *ForeignError {
	if r.g.flat {
		return nil
	}
	by := ""
	for i, m := range r.t.Messages() {
		if m.Span.Len() == 0 || r.raw[m.Span.Start] != '{' {
			continue
		}
		if role, ok := jsonspan.Find(r.raw, jsonspan.Span(m.Span), "role"); ok && len(r.text(role.Value)) > 0 {
			if r.g.role(r.g.roleMeant(string(r.text(role.Value)))) != transcript.Unknown {
				return nil
			}
			by = cmp.Or(by, "a role that no API knows") // which is not named: errors are logged
		}
		if by != "" {
			continue
		}
		if k := r.unknownMember(i); k != "" {
			by = fmt.Sprintf("the member %q", k)
		}
	}
	if by == "" {
		return nil
	}
	return &ForeignError{Looks: unknownFormat, Why: "nobody who is known speaks, and there is " + by}
}

// unknownMember is a member of a message that no API has there, "" if there is none.
func (r *Request) unknownMember(i int) string {
	w := wordsOf(r.raw, jsonspan.Span(r.t.Messages()[i].Span), jsonspan.Span(r.frame[i].content))
	for _, k := range w.keys {
		if !elementKeys[k] && !wordlessMembers[k] && !reasoningMembers[k] && !besideKeys[k] {
			return k
		}
	}
	return ""
}

// besideKeys are members that messages of some API have beside what they say.
var besideKeys = map[string]bool{"name": true, "audio": true, "annotations": true, "cache_control": true, "prefix": true, "metadata": true, "timestamp": true, "created_at": true, "created": true, "usage": true}

// foreignMessage is the error for messages of a maker that is known: it says how many of them
// have nothing where they should.
func (r *Request) foreignMessage(looks, by string) *ForeignError {
	ms, lacking := r.t.Messages(), 0
	for i := range ms {
		if ms[i].First == ms[i].End {
			lacking++
		}
	}
	why := "elements with " + by
	if lacking > 0 {
		why = fmt.Sprintf("no %q in %d of %d messages, and %s", r.g.blocks.member(), lacking, len(ms), why)
	}
	return &ForeignError{Looks: looks, Why: why}
}

// callBeside is a member of an element that looks like a call or a result, where the dialect
// has none; "": there is none. Those of the chat API are found by the check, in others of its
// kind.
func (r *Request) callBeside(w *objectWords) string {
	for _, k := range w.keys {
		switch k {
		case "tool_calls", "function_call", "tool_call_id":
			if r.g.list == "contents" || r.g == grammars[Bedrock] {
				return k
			}
			continue
		}
		if looksLikeCall(k) {
			return k
		}
	}
	return ""
}

// foreignDocument tells whether JSON that holds no history of a dialect holds one of a maker
// that is known: as a list, or in a member of an object.
func foreignDocument(raw []byte) *ForeignError {
	whole := jsonspan.Span{Start: len(raw) - len(bytes.TrimLeft(raw, " \t\r\n")), End: len(bytes.TrimRight(raw, " \t\r\n"))}
	lists := []jsonspan.Span{whole}
	if whole.Len() > 0 && raw[whole.Start] == '{' {
		lists = lists[:0]
		for _, m := range jsonspan.Members(raw, whole) {
			lists = append(lists, m.Value)
		}
	}
	for _, at := range lists {
		if at.Len() == 0 || raw[at.Start] != '[' {
			continue
		}
		for _, e := range firstElements(raw, at, 3) {
			w := wordsOf(raw, e, jsonspan.Span{})
			if looks, by := w.maker(); looks != "" {
				return &ForeignError{Looks: looks, Why: "elements with " + by}
			}
		}
	}
	return nil
}

// firstElements are the first elements of a list.
func firstElements(raw []byte, at jsonspan.Span, most int) (all []jsonspan.Span) {
	s := jsonspan.Borrow(raw[at.Start:at.End], jsonspan.Structural)
	defer s.Return()
	for s.Enter(); len(all) < most && s.Element(); {
		e := s.Skip()
		all = append(all, jsonspan.Span{Start: at.Start + e.Start, End: at.Start + e.End})
	}
	return all
}

// saysElsewhere reports whether a message without blocks holds words.
func (r *Request) saysElsewhere(i int) bool {
	for s := newStrings(r.raw, r.t.Messages()[i].Span); s.next(); {
		if !s.wordless(false) {
			return true
		}
	}
	return false
}

// foreignParts looks at the first parts of messages that have parts, which have no type.
func (r *Request) foreignParts() *ForeignError {
	if r.g.blocks != inParts {
		return nil
	}
	blocks := r.t.Blocks()
	for i := range blocks[:min(len(blocks), 3)] {
		w := wordsOf(r.raw, jsonspan.Span(blocks[i].Span), jsonspan.Span{})
		for _, k := range w.keys {
			if looks := findMaker(partsOf, k); looks != "" {
				return &ForeignError{Looks: looks, Why: fmt.Sprintf("parts with the member %q", k)}
			}
		}
	}
	return nil
}

// foreignRoles looks at roles that the dialect does not know.
func (r *Request) foreignRoles() *ForeignError {
	for _, n := range r.notes {
		if n.fault != unknownRole || n.arg == "tool_result" { // which is mapped
			continue
		}
		if looks := findMaker(rolesOf, n.arg); looks != "" {
			return &ForeignError{Looks: looks, Why: fmt.Sprintf("the role %q", n.arg)}
		}
		if looksLikeCall(n.arg) {
			return &ForeignError{Looks: unknownFormat, Why: fmt.Sprintf("the role %q, of a call or a result that is not understood", n.arg)}
		}
	}
	return nil
}

// isKnown reports whether a block that is of no kind is of a type that the dialect has. A call or
// a result is of a kind, unless it is malformed.
func (r *Request) isKnown(typ string) bool {
	row := findType(r.g.types, typ)
	return row.name != "" && (row.kind == transcript.Other || !looksLikeCall(typ))
}

// typeOf is the type that an object says it has, or "".
func (r *Request) typeOf(at transcript.Span) []byte {
	if at.Len() == 0 || r.raw[at.Start] != '{' {
		return nil
	}
	m, ok := jsonspan.Find(r.raw, jsonspan.Span(at), "type")
	if !ok {
		return nil
	}
	return r.text(m.Value)
}

// text is what the value at span says if it is a string, or nothing.
func (r *Request) text(at jsonspan.Span) []byte {
	if r.raw[at.Start] != '"' {
		return nil
	}
	text := r.raw[at.Start+1 : at.End-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		text = jsonspan.Decode(nil, text)
	}
	return text
}

// Understood returns the error for a request that should not be changed, because it may hold a
// history in another format; nil if there is enough evidence that it does not. [Parse] asks for
// less, and for nothing where the dialect is named: a report about something else does no
// harm. To overwrite what it was read from takes more: somebody who is known must have said
// something, in most messages.
func (r *Request) Understood(overwrite bool) error {
	if err := r.foreign(); err != nil {
		return err
	}
	if err := r.unseen(); err != nil {
		return err
	}
	if overwrite {
		return r.evident()
	}
	return nil
}

// evident is the evidence that a file is a request, and no other program's.
func (r *Request) evident() error {
	said, ms := 0, r.t.Messages()
	for i := range ms {
		if ms[i].First < ms[i].End && (r.extra[i]&badRole == 0 || r.g.flat) {
			said++
		}
	}
	switch {
	case len(ms) == 0:
		return &ForeignError{Looks: unknownFormat, Why: "there are no messages"}
	case 2*said < len(ms):
		return &ForeignError{Looks: unknownFormat, Why: fmt.Sprintf("only %d of %d messages say something in a role that is known", said, len(ms))}
	}
	return nil
}

// unseen tells whether a message is one of another dialect, with calls or results that the
// request, read as the dialect that was named, has not seen: whatever is done to it would
// part them or leave them out.
func (r *Request) unseen() *ForeignError {
	pair := func(b transcript.Block) bool { return b.Kind == transcript.Call || b.Kind == transcript.Result }
	ms, blocks := r.t.Messages(), r.t.Blocks()
	for i := range ms {
		m := &ms[i]
		if slices.ContainsFunc(blocks[m.First:m.End], pair) {
			continue
		}
		raw := r.raw[m.Span.Start:m.Span.End]
		d := DetectElement(raw)
		if d == Auto || d == r.Dialect {
			continue
		}
		own, err := Parse(slices.Concat([]byte{'['}, raw, []byte{']'}), Options{Dialect: d})
		if err == nil && slices.ContainsFunc(own.t.Blocks(), pair) {
			return &ForeignError{Looks: "a history of " + d.String(), Why: fmt.Sprintf("the calls and results of %s.%d", r.g.list, i), asked: r.Dialect}
		}
	}
	return nil
}

// roleMeant is the role that a word of another format, or another spelling, stands for; the word itself
// if it is not known.
func (g *grammar) roleMeant(said string) string {
	word := strings.ToLower(strings.TrimFunc(said, func(r rune) bool { return !unicode.IsLetter(r) }))
	switch word {
	case "assistant", "bot", "ai", "model":
		return g.assistant
	case "human", "person":
		return "user"
	case "tool_result":
		return "tool"
	case "developer":
		if g.role(word) == transcript.Unknown {
			return "system" // which an API without it may know by that name
		}
	}
	return word
}
