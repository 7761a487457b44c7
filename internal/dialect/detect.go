package dialect

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// tells are what only one dialect has: the table of evidence by which detection goes. A dialect
// has its own in its file.
type tells struct {
	body    []string     // members of the body
	behind  []string     // members of the body that tell when messages went before
	google  []string     // members of the body that several of Google's APIs have
	tools   []string     // members of a declared tool
	roles   []string     // of a message
	element []memberTell // members of an element of the list
	untyped []memberTell // the same, on an element that has no type
	steps   []string     // types of an element of the list
	items   []typeTell   // the same, where it is a list of items
	blocks  []string     // members of a block
	types   []string     // types of a block
	kinds   []typeTell   // the same, told by a part of the name or by a member
}

// A memberTell is a member of an element, and what it must hold to tell by itself. Holding
// something else, it is a hint: a table has its columns in every row, empty ones too, and any API
// may be given what a model thought or refused.
type memberTell struct {
	name  string
	needs need
}

// A need is what a member must hold.
type need uint8

const (
	anything need = iota
	textOrList
	filledList
	anObject
	hintOnly // it never tells by itself
)

// A typeTell is a type, with a star for anything in front of it or behind it, and a member that
// must be there, too.
type typeTell struct{ typ, with string }

// is reports whether a type is meant.
func (t typeTell) is(typ string) bool {
	if rest, ok := strings.CutPrefix(t.typ, "*"); ok {
		return strings.HasSuffix(typ, rest)
	}
	if rest, ok := strings.CutSuffix(t.typ, "*"); ok {
		return strings.HasPrefix(typ, rest)
	}
	return typ == t.typ
}

var (
	bodyTells    = telling(func(t *tells) []string { return t.body })
	behindTells  = telling(func(t *tells) []string { return t.behind })
	sharedTells  = telling(func(t *tells) []string { return t.google })
	toolTells    = telling(func(t *tells) []string { return t.tools })
	roleTells    = telling(func(t *tells) []string { return t.roles })
	elementTells = telling(func(t *tells) []string { return namesOf(t.element) })
	untypedTells = telling(func(t *tells) []string { return namesOf(t.untyped) })
	stepTells    = telling(func(t *tells) []string { return t.steps })
	blockTells   = telling(func(t *tells) []string { return t.blocks })
	typeTells    = telling(func(t *tells) []string { return t.types })

	itemTells = tellingTypes(func(t *tells) []typeTell { return t.items })
	kindTells = tellingTypes(func(t *tells) []typeTell { return t.kinds })

	memberNeeds = func() map[string]need {
		all := make(map[string]need)
		for _, g := range grammars {
			for _, t := range append(slices.Clone(g.tells.element), g.tells.untyped...) {
				all[t.name] = t.needs
			}
		}
		return all
	}()
)

// telling says whose each word of a place is.
func telling(of func(*tells) []string) map[string]Dialect {
	all := make(map[string]Dialect)
	for d, g := range grammars {
		for _, word := range of(&g.tells) {
			all[word] = Dialect(d)
		}
	}
	return all
}

// A typeOwner is a type that tells, and whose it is.
type typeOwner struct {
	typeTell
	dialect Dialect
}

// tellingTypes says whose each type of a place is.
func tellingTypes(of func(*tells) []typeTell) (all []typeOwner) {
	for d, g := range grammars {
		for _, t := range of(&g.tells) {
			all = append(all, typeOwner{t, Dialect(d)})
		}
	}
	return all
}

// whose is the dialect that a type tells of, with these members beside it; Auto: of none.
func whose(all []typeOwner, typ string, with uint8) Dialect {
	for _, t := range all {
		if t.is(typ) && (t.with == "" || with&withBits[t.with] != 0) {
			return t.dialect
		}
	}
	return Auto
}

func namesOf(all []memberTell) (names []string) {
	for _, t := range all {
		names = append(names, t.name)
	}
	return names
}

// A Detection is what the shape of a body says about its dialect. Many goroutines may read
// it.
type Detection struct {
	Dialect Dialect
	// Sure is set if something in it belongs to this dialect alone; otherwise several fit, and
	// this is the likeliest.
	Sure bool
	// Why names what tells, such as `the member "contents"`, or what the guess goes by.
	Why string
}

// Detect tells the dialect of a request body or bare list from its shape. It
// reads only as far as it must; where the shape of all messages fits several
// dialects, the model's name and then the commonest dialect decide, which is a guess.
func Detect(raw []byte) (Detection, error) {
	p := new(parser)
	d, err := p.detect(raw, false)
	if err != nil {
		return Detection{}, err
	}
	return Detection{d, !p.clue.guess, p.clue.String()}, nil
}

// A clue is what a detection goes by.
type clue struct {
	what  string
	word  []byte // nil: what says it all
	guess bool
}

func (c clue) String() string {
	if c.word == nil {
		return c.what
	}
	return fmt.Sprintf("%s %q", c.what, c.word)
}

// word is a string as it is written, or nil.
func (p *parser) word(f field) []byte {
	if f.kind != jsonspan.String {
		return nil
	}
	return p.bytes(f.span)
}

// What clues are about.
const (
	aMember   = "the member"
	aTool     = "a tool with the member"
	aRole     = "the role"
	anItem    = "an item of type"
	aBlock    = "a block of type"
	aPart     = "a block with the member"
	noType    = "blocks without a type"
	theModel  = "the name of the model: what is said fits several dialects"
	thePlain  = "nothing but plain text, which fits several dialects: this is the commonest"
	theServer = "a history that the server has"
	theFirst  = "what the system says among the messages, as the chat APIs have it"
)

// detect tells the dialect. In a hurry it does not read on behind a message of the system
// that is the first one: p.led says so then, and a caller asks contradicted.
func (p *parser) detect(raw []byte, hurry bool) (Dialect, error) {
	p.reset(raw, Auto, jsonspan.Structural)
	p.led, p.hurry = false, hurry
	p.items = true
	var d Dialect
	switch p.Peek() {
	case jsonspan.Object:
		d = p.detectBody()
	case jsonspan.Array:
		if d = p.detectList(false); d == Auto && p.plain {
			d, p.clue = OpenAIChat, clue{what: thePlain, guess: true}
		}
	default:
		p.Skip()
		p.End()
	}
	if d != Auto {
		return d, nil
	}
	// An error of the syntax says more than that the shape is unknown.
	if err := p.Err(); err != nil {
		return Auto, err
	}
	if err := foreignDocument(raw); err != nil {
		return Auto, err
	}
	return Auto, ErrNotRequest
}

// DetectElement returns the dialect that one message, or another element of a list, shows by
// itself; Auto: it fits several, as plain text does, or none.
func DetectElement(element []byte) Dialect {
	element = bytes.TrimSpace(element)
	p := new(parser)
	p.reset(element, Auto, jsonspan.Structural)
	p.items = true
	if p.Peek() != jsonspan.Object {
		return Auto
	}
	d, sure := p.detectElement()
	if !sure || p.Failed() {
		return Auto
	}
	// Plain words of the developer are taken by both of OpenAI's APIs.
	whole := jsonspan.Span{End: len(element)}
	role, _ := jsonspan.Find(element, whole, "role")
	content, _ := jsonspan.Find(element, whole, "content")
	if _, typed := jsonspan.Find(element, whole, "type"); !typed && string(element[role.Value.Start:role.Value.End]) == `"developer"` && element[content.Value.Start] == '"' {
		return Auto
	}
	return d
}

// detectBeside tells what one member of the body says that holds no history, and why.
func (p *parser) detectBeside(k []byte, messages bool) (Dialect, clue) {
	is := clue{what: aMember, word: k}
	switch d := bodyTells[string(k)]; {
	case p.Peek() == jsonspan.Null: // a column of a table that this row leaves empty
	case string(k) == "system":
		return p.detectSystem(), is
	case string(k) == "tools":
		return p.detectTools()
	case d != Auto:
		p.Skip()
		return d, is
	case messages && behindTells[string(k)] != Auto:
		p.Skip()
		return behindTells[string(k)], is
	}
	p.Skip()
	return Auto, clue{}
}

// contradicted reports whether a member behind the messages has a say about a dialect that was
// detected in a hurry.
func (p *parser) contradicted() bool {
	q := p.second(p.list.End)
	for {
		k, ok := q.key()
		if !ok {
			return false
		}
		if string(k) == "input" || string(k) == "contents" {
			return true
		}
		if d, _ := q.detectBeside(k, true); d != Auto {
			return true
		}
	}
}

// second returns a second reader of the body at an offset among its members.
func (p *parser) second(offset int) *parser {
	q := new(parser)
	q.reset(p.raw, Auto, jsonspan.Structural)
	q.items = false
	q.Enter()
	q.Seek(offset, q.Depth())
	return q
}

// hollow reports whether the list that comes next is empty.
func (p *parser) hollow() bool {
	rest := bytes.TrimLeft(p.raw[p.Offset()+1:], " \t\r\n")
	return len(rest) > 0 && rest[0] == ']'
}

// detectRemote reports whether a member names a history that OpenAI has: then a request
// needs no input. Others have members of these names for what was said.
func (p *parser) detectRemote(name string) bool {
	if p.Peek() == jsonspan.Object {
		return p.member("id").kind == jsonspan.String && name != "previous_response_id"
	}
	f := p.value()
	return name == "previous_response_id" && f.kind == jsonspan.String || name == "conversation" && strings.HasPrefix(p.text(f), "conv_")
}

// detectSystem: Anthropic has a string or typed blocks, Bedrock untyped ones.
func (p *parser) detectSystem() Dialect {
	if p.Peek() != jsonspan.Array {
		p.Skip()
		return Anthropic
	}
	d := Auto
	for range p.objects {
		typed := false
		for k := range p.members {
			typed = typed || string(k) == "type"
			p.Skip()
		}
		if d = Bedrock; typed {
			d = Anthropic
		}
	}
	return d
}

// detectTools looks for the member that holds a tool's schema.
func (p *parser) detectTools() (d Dialect, why clue) {
	for range p.objects {
		for k := range p.members {
			if t := toolTells[string(k)]; t != Auto {
				d, why = t, clue{what: aTool, word: k}
			}
			p.Skip()
		}
	}
	return d, why
}

// detectList looks at the elements of a list until one is telling. It leaves the
// list in the middle then. An element that tells by itself makes that firm; with doubt,
// nothing less will do while there are more.
func (p *parser) detectList(doubt bool) Dialect {
	p.Enter()
	weak, why := Auto, clue{what: theFirst, guess: true}
	p.plain, p.firm, p.led = true, false, false
	for i := 0; p.Element(); i++ {
		if p.Peek() != jsonspan.Object {
			p.plain = p.plain && i > 0
			p.Skip()
			continue
		}
		p.plain = false
		d, sure := p.detectElement()
		p.plain, p.firm = p.plain || weak != Auto, sure
		p.led = p.led || d != Auto && i == 0 && !p.faint && !sure
		sure = sure || p.led && !doubt // only the chat APIs begin with the system
		if weak == Auto && p.faint {
			why = p.clue
		}
		if d != Auto && (sure || weak == Auto) {
			weak = d
		}
		if sure {
			return d
		}
	}
	if weak != Auto {
		p.clue = why
	}
	return weak
}
