package dialect

import (
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// A bodyScan is what the members of a body have told so far.
type bodyScan struct {
	model    string
	limited  bool // the reply is, in the way of Anthropic and OpenAI
	remote   bool // the server has the history
	messages bool // there is such a member,
	listed   bool // it is a list, or null,
	spoken   bool // and there is something in it
	input    bool // there is one, which tells nothing by itself,
	object   bool // and it is one object: without a model the arguments of a tool, say
	contents bool // the same
	shared   Dialect
	beside   told // by a member beside the messages
	said     told // by the messages, if nothing beside them tells
	led      int  // where the messages begin if the system's comes first; 0: it does not
}

// told is a dialect, and what tells it.
type told struct {
	dialect Dialect
	by      clue // zero: what the parser has noted
}

// claude reports whether the model is one of Anthropic's.
func (s *bodyScan) claude() bool { return strings.HasPrefix(s.model, "claude") }

// bodyRows say what a body is whose messages do not tell by themselves: the first that applies.
var bodyRows = []struct {
	when func(p *parser, s *bodyScan) bool
	is   func(s *bodyScan) told
}{
	{ // two against one
		when: func(_ *parser, s *bodyScan) bool { return s.untyped() && s.claude() && s.limited },
		is:   guessed(Anthropic, theModel),
	},
	{
		when: func(_ *parser, s *bodyScan) bool { return s.untyped() },
		is:   func(s *bodyScan) told { return s.said },
	},
	{
		when: func(_ *parser, s *bodyScan) bool { return s.beside.dialect != Auto && s.holds(s.beside.dialect.List()) },
		is:   func(s *bodyScan) told { return s.beside },
	},
	{
		when: func(_ *parser, s *bodyScan) bool { return s.said.dialect != Auto },
		is:   func(s *bodyScan) told { return s.said },
	},
	{
		when: func(_ *parser, s *bodyScan) bool { return s.contents && !s.spoken },
		is:   func(*bodyScan) told { return told{dialect: Gemini} },
	},
	{
		when: func(_ *parser, s *bodyScan) bool { return s.input && s.shared != Auto },
		is:   func(*bodyScan) told { return told{dialect: GeminiInteractions} },
	},
	{
		when: func(_ *parser, s *bodyScan) bool {
			return s.input && strings.HasPrefix(strings.TrimPrefix(s.model, "models/"), "gemini")
		},
		is: guessed(GeminiInteractions, theModel),
	},
	{
		when: func(_ *parser, s *bodyScan) bool { return s.input && (!s.object || s.model != "") },
		is:   guessed(OpenAIResponses, theModel),
	},
	{
		when: func(_ *parser, s *bodyScan) bool { return s.shared != Auto },
		is:   func(s *bodyScan) told { return told{dialect: s.shared} },
	},
	{
		when: func(p *parser, s *bodyScan) bool { return s.remote && !s.messages && !p.Failed() },
		is:   func(*bodyScan) told { return told{OpenAIResponses, clue{what: theServer}} },
	},
	{ // somebody else's messages
		when: func(p *parser, s *bodyScan) bool {
			return p.Failed() || !s.messages || !s.listed && s.model == ""
		},
		is: func(*bodyScan) told { return told{} },
	},
	{
		when: func(_ *parser, s *bodyScan) bool { return s.claude() },
		is:   guessed(Anthropic, theModel),
	},
	{
		when: func(*parser, *bodyScan) bool { return true },
		is:   guessed(OpenAIChat, thePlain),
	},
}

// guessed is a dialect that something makes likely.
func guessed(d Dialect, what string) func(*bodyScan) told {
	return func(*bodyScan) told { return told{d, clue{what: what, guess: true}} }
}

// untyped reports whether nothing but blocks without a type tells.
func (s *bodyScan) untyped() bool { return s.said.dialect != Auto && s.said.by.what == noType }

// holds reports whether the body has the list of that name, or none at all.
func (s *bodyScan) holds(list string) bool {
	if !s.messages && !s.input && !s.contents {
		return true
	}
	return list == "messages" && s.messages || list == "input" && s.input || list == "contents" && s.contents
}

// detectBody looks at the members of the body in order until it is told. What stands
// beside the messages may be somebody's own, such as the system of a row of training data;
// what the messages show by themselves decides over it, whichever comes first. That the
// system speaks among them is not enough for that: Anthropic knows such messages, too.
func (p *parser) detectBody() Dialect {
	p.Enter()
	s := &p.scan.body
	*s = bodyScan{}
	for k, ok := p.key(); ok; k, ok = p.key() {
		if d := p.detectMember(s, k); d != Auto {
			return d
		}
	}
	s.input = p.input || s.input && !s.spoken // a list that says something decides over what says nothing
	for i := range bodyRows {
		if row := &bodyRows[i]; row.when(p, s) {
			is := row.is(s)
			if is.by.what != "" {
				p.clue = is.by
			}
			return is.dialect
		}
	}
	return Auto
}

// detectMember looks at one member of the body; Auto: it does not decide.
func (p *parser) detectMember(s *bodyScan, k []byte) Dialect {
	switch string(k) {
	case "input":
		return p.detectInput(s)
	case "messages":
		return p.detectMessages(s)
	case "contents":
		if p.clue = (clue{what: aMember, word: k}); p.Peek() == jsonspan.Array && !p.hollow() {
			return Gemini
		}
		s.contents = true
		p.Skip()
	case "model":
		s.model = strings.ToLower(p.text(p.value()))
	case "previous_response_id", "conversation", "prompt":
		s.remote = p.detectRemote(string(k)) || s.remote
	default:
		return p.detectSetting(s, k)
	}
	return Auto
}

// detectInput looks at an input.
func (p *parser) detectInput(s *bodyScan) Dialect {
	if p.Peek() != jsonspan.Array || p.hollow() { // one beside it may say more
		s.input, s.object = true, p.Peek() == jsonspan.Object
		p.Skip()
		return Auto
	}
	p.input, p.items = true, true
	if s.beside.dialect != Auto && s.beside.dialect.List() == "input" {
		p.clue = s.beside.by
		return s.beside.dialect
	}
	switch d := p.detectList(false); {
	case d == OpenAIChat:
		p.clue = clue{what: aMember, word: []byte("input")}
		return OpenAIResponses
	case d != Auto && (p.firm || d.List() == "input"):
		return d
	}
	return Auto // who is asked will tell
}

// detectMessages looks at the messages.
func (p *parser) detectMessages(s *bodyScan) Dialect {
	s.messages, p.items = true, false
	if s.listed = p.Peek() == jsonspan.Null; p.Peek() != jsonspan.Array {
		p.Skip()
		return Auto
	}
	s.spoken, s.listed = !p.hollow(), true
	at := p.Offset()
	d := p.detectList(s.beside.dialect != Auto)
	if p.firm && p.clue.what == noType { // which is weighed with what stands behind
		s.said, p.firm = told{d, p.clue}, false
		p.skipRest()
		return Auto
	}
	if d != Auto && p.firm {
		return d
	}
	if s.beside.dialect.List() == "messages" {
		p.clue = s.beside.by
		return s.beside.dialect
	}
	s.said = told{d, p.clue}
	if p.led && s.beside.dialect == Auto {
		if p.hurry {
			return d
		}
		s.led = at
		p.skipRest()
	}
	return Auto
}

// skipRest skips the rest of a list.
func (p *parser) skipRest() {
	for p.Element() {
		p.Skip()
	}
}

// detectSetting looks at a member that holds no history.
func (p *parser) detectSetting(s *bodyScan, k []byte) Dialect {
	s.limited = s.limited || string(k) == "max_tokens"
	d, is := p.detectBeside(k, s.messages)
	if d != Auto && s.led > 0 { // now it is worth reading on
		q := p.second(s.led)
		shown, firm, by := q.detectList(true), q.firm, q.clue
		if firm {
			p.clue = by
			return shown
		}
		s.led = 0
	}
	if d != Auto && s.messages && d.List() == "messages" {
		p.clue = is
		return d
	}
	if s.beside.dialect == Auto {
		s.beside = told{d, is}
	}
	if d := sharedTells[string(k)]; d != Auto {
		s.shared, p.clue = d, clue{what: aMember, word: k}
	}
	return Auto
}
