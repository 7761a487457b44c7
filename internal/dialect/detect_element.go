package dialect

import (
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// An elementScan is what the members of a message, or another element of a list, have told so far.
type elementScan struct {
	dialect   Dialect // that a member, a role or a block tells
	step      Dialect // that its type tells
	hint      told    // whose member or block is there, and says too little
	typed     bool
	role      bool
	system    bool // who speaks
	call      bool // it is a function_call,
	object    bool // and its arguments are an object
	message   bool // its type says so, as of items of Responses and replies of Anthropic's,
	reply     bool // which stop for a reason
	untyped   bool // it has blocks without a type
	compacted bool // it is a compaction, which two APIs have
}

// chat reports whether it looks like a message of the chat API, whose members Responses share.
func (e *elementScan) chat() bool { return e.dialect == OpenAIChat }

// elementRows say what an element is, and whether that is certain: the first that applies.
var elementRows = []struct {
	when func(e *elementScan) bool
	is   func(p *parser, e *elementScan) (d Dialect, sure bool)
}{
	{
		when: func(e *elementScan) bool { return e.step != Auto },
		is:   func(_ *parser, e *elementScan) (Dialect, bool) { return e.step, true },
	},
	{ // of a call, Responses have the arguments in a string
		when: func(e *elementScan) bool { return e.call && e.object },
		is:   func(*parser, *elementScan) (Dialect, bool) { return GeminiInteractions, true },
	},
	{
		when: func(e *elementScan) bool { return e.message && e.reply && e.dialect == Auto },
		is: func(p *parser, _ *elementScan) (Dialect, bool) {
			p.clue = clue{what: aMember, word: []byte("stop_reason")}
			return Anthropic, true
		},
	},
	{
		when: func(e *elementScan) bool {
			return e.message && (e.dialect == Auto || e.chat() || e.untyped)
		},
		is: func(p *parser, _ *elementScan) (Dialect, bool) {
			p.faint, p.clue = p.texts, clue{anItem, []byte("message"), p.texts}
			return OpenAIResponses, !p.texts
		},
	},
	{
		when: func(e *elementScan) bool { return e.chat() && e.typed && !e.role },
		is:   func(*parser, *elementScan) (Dialect, bool) { return OpenAIResponses, true },
	},
	{
		when: func(e *elementScan) bool { return e.compacted && e.dialect.List() == "input" },
		is: func(p *parser, e *elementScan) (Dialect, bool) {
			p.faint, p.clue.guess = true, true
			return e.dialect, false
		},
	},
	{ // a system message may stand in an Anthropic history, too
		when: func(e *elementScan) bool { return e.dialect == Auto && e.system },
		is:   func(*parser, *elementScan) (Dialect, bool) { return OpenAIChat, false },
	},
	{
		when: func(e *elementScan) bool { return e.dialect == Auto && e.hint.dialect != Auto },
		is: func(p *parser, e *elementScan) (Dialect, bool) {
			p.faint, p.clue = true, e.hint.by
			return e.hint.dialect, false
		},
	},
	{
		when: func(*elementScan) bool { return true },
		is:   func(_ *parser, e *elementScan) (Dialect, bool) { return e.dialect, e.dialect != Auto },
	},
}

// DetectElement tells what one message looks like, and whether that is certain.
func (p *parser) detectElement() (d Dialect, sure bool) {
	p.Enter()
	e := &p.scan.element
	*e = elementScan{}
	p.faint, p.texts = false, false
	for k, ok := p.key(); ok; k, ok = p.key() {
		switch string(k) {
		case "type":
			p.detectType(e)
		case "stop_reason":
			e.reply = p.Peek() == jsonspan.String
			p.Skip()
		case "arguments":
			e.object = p.Peek() == jsonspan.Object
			p.Skip()
		case "role":
			p.detectRole(e)
		case "content":
			p.detectSaid(e)
		default:
			p.detectOther(e, k)
		}
	}
	for i := range elementRows {
		if row := &elementRows[i]; row.when(e) {
			return row.is(p, e)
		}
	}
	return Auto, false
}

// detectType looks at the type of an element.
func (p *parser) detectType(e *elementScan) {
	e.typed = true
	f := p.value()
	if e.step = stepTells[p.text(f)]; !p.items {
		e.step = Auto
	} else if e.message = p.is(f, "message"); !e.message && e.step == Auto {
		if d := whose(itemTells, p.text(f), 0); d != Auto {
			e.dialect = d
		}
	}
	e.call, e.compacted = p.items && p.is(f, "function_call"), p.is(f, "compaction")
	p.clue = clue{what: anItem, word: p.word(f)}
	if loose := findType(interactionsTypes, p.text(f)).kind; p.input && (loose == transcript.Text || loose == transcript.Media) {
		e.step = GeminiInteractions
	}
}

// detectRole looks at the role of an element.
func (p *parser) detectRole(e *elementScan) {
	e.role, p.plain = true, true
	f := p.value()
	if e.dialect == Auto && !e.typed {
		p.clue = clue{what: aRole, word: p.word(f)}
	}
	if p.is(f, "system") {
		e.system = true
		return
	}
	switch d := roleTells[p.symbol(f)]; {
	case d == Auto:
	case d.List() == "contents" && p.input: // which a request with contents does not have
		e.step = GeminiInteractions
	case d.List() != "messages" || e.dialect == Auto: // what a message holds says more than its role
		e.dialect = d
	}
}

// detectSaid looks at the content of an element.
func (p *parser) detectSaid(e *elementScan) {
	if p.Peek() != jsonspan.Array {
		p.Skip()
		return
	}
	switch d := p.detectContent(); {
	case d == Auto:
	case p.clue.guess:
		e.hint = told{d, p.clue}
	default:
		e.dialect, e.untyped = d, p.clue.what == noType
	}
}

// detectOther looks at any other member of an element.
func (p *parser) detectOther(e *elementScan, k []byte) {
	d := elementTells[string(k)]
	if d.List() == "input" && !p.items {
		d = Auto // somebody's own: messages have no such members
	}
	if d == Auto && !e.typed {
		d = untypedTells[string(k)]
	}
	switch {
	case d == Auto:
	case !p.meets(memberNeeds[string(k)]):
		e.hint = told{d, clue{aMember, k, true}}
	default:
		e.dialect, p.clue = d, clue{what: aMember, word: k}
	}
	p.Skip()
}

// meets reports whether the value that comes next is what a member needs to tell by itself.
func (p *parser) meets(n need) bool {
	switch n {
	case textOrList:
		return p.Peek() == jsonspan.String || p.Peek() == jsonspan.Array
	case filledList:
		return p.Peek() == jsonspan.Array && !p.hollow()
	case anObject:
		return p.Peek() == jsonspan.Object
	}
	return n == anything
}

// detectContent looks at the blocks of one message. It guesses by those that have no type, as
// Bedrock's have none, in an input, which Bedrock does not have; and by a refusal where that may
// be one of either of OpenAI's APIs.
//
// A block with a type contradicts that, and one without anything says nothing.
func (p *parser) detectContent() Dialect {
	d := Auto
	typed, untyped := false, false
	p.Enter()
	for p.Element() {
		if p.Peek() != jsonspan.Object {
			p.Skip()
			continue
		}
		b := p.scanBlock()
		t := p.text(b.typ)
		p.texts = p.texts || t == "text"
		typed, untyped = typed || b.typ.given(), untyped || b.some && !b.typ.given()
		switch {
		case b.member != Auto:
			d = b.member
		case !b.typ.given():
		case t == "refusal" && p.items:
			if d == Auto {
				d, p.clue = OpenAIChat, clue{aBlock, p.word(b.typ), true}
			}
		case typeTells[t] != Auto && (p.items || typeTells[t].List() != "input"):
			d, p.clue = typeTells[t], clue{what: aBlock, word: p.word(b.typ)}
		default:
			if k := whose(kindTells, t, b.with); k != Auto {
				d, p.clue = k, clue{what: aBlock, word: p.word(b.typ)}
			}
		}
	}
	if d == Auto && untyped && !typed {
		d, p.clue = Bedrock, clue{what: noType, guess: p.input}
	}
	return d
}

// A blockScan is what the members of a block tell.
type blockScan struct {
	typ    field
	member Dialect // that a member tells
	with   uint8   // the members that a type may need: see withBits
	some   bool    // there are members
}

// scanBlock looks at the members of the block that comes next.
func (p *parser) scanBlock() (b blockScan) {
	p.Enter()
	for k, ok := p.key(); ok; k, ok = p.key() {
		b.some = true
		if string(k) == "type" {
			b.typ = p.value()
			continue
		}
		b.with |= withBits[string(k)]
		if d := blockTells[string(k)]; d != Auto {
			b.member, p.clue = d, clue{what: aPart, word: k}
		}
		p.Skip()
	}
	return b
}

// withBits has a bit for each member that a type may need to tell.
var withBits = func() map[string]uint8 {
	all := make(map[string]uint8)
	for _, t := range slices.Concat(itemTells, kindTells) {
		if t.with != "" && all[t.with] == 0 {
			all[t.with] = 1 << len(all)
		}
	}
	return all
}()
