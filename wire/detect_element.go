package wire

import (
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// detectElement tells what one message looks like, and whether that is certain:
// a system message may stand in an Anthropic history too.
func (p *parser) detectElement() (d Dialect, sure bool) {
	p.Enter()
	typed, role, system := false, false, false
	step, call, object := Auto, false, false
	message, reply := false, false // its type says so, as of items of Responses and replies of Anthropic's, which stop for a reason
	untyped := false               // it has blocks without a type
	compacted := false             // it is a compaction, which two APIs have
	hint, why := Auto, clue{}      // whose member or block is there, and says too little
	p.faint, p.texts = false, false
	for {
		k, ok := p.key()
		if !ok {
			break
		}
		switch string(k) {
		case "type":
			typed = true
			f := p.value()
			if step = stepTells[p.text(f)]; !p.items {
				step = Auto
			} else if message = p.is(f, "message"); !message && step == Auto && p.itemType(f) {
				d = OpenAIResponses
			}
			call, compacted = p.items && p.is(f, "function_call"), p.is(f, "compaction")
			p.clue = clue{what: anItem, word: p.word(f)}
			if loose := stepKinds[p.text(f)].kind; p.input && (loose == transcript.Text || loose == transcript.Media) {
				step = GeminiInteractions
			}
		case "stop_reason":
			reply = p.Peek() == jsonspan.String
			p.Skip()
		case "arguments":
			object = p.Peek() == jsonspan.Object
			p.Skip()
		case "role":
			role, p.plain = true, true
			f := p.value()
			if d == Auto && !typed {
				p.clue = clue{what: aRole, word: p.word(f)}
			}
			switch {
			case p.is(f, "system"):
				system = true
			case p.is(f, "tool"), p.is(f, "developer"), p.is(f, "function"):
				if d == Auto {
					d = OpenAIChat
				}
			case p.is(f, "model") && p.input:
				step = GeminiInteractions
			case p.is(f, "model"):
				d = Gemini
			}
		case "content":
			if p.Peek() != jsonspan.Array {
				p.Skip()
				continue
			}
			switch c := p.detectContent(); {
			case c == Auto:
			case p.clue.guess:
				hint, why = c, p.clue
			default:
				d, untyped = c, p.clue.what == noType
			}
		default:
			e := elementTells[string(k)]
			if e.List() == "input" && !p.items {
				e = Auto // somebody's own: messages have no such members
			}
			if e == Auto && !typed {
				e = untypedTells[string(k)]
			}
			switch {
			case e == Auto:
			case !p.saysEnough(k):
				hint, why = e, clue{aMember, k, true}
			default:
				d, p.clue = e, clue{what: aMember, word: k}
			}
			p.Skip()
		}
	}
	chat := d == OpenAIChat
	switch {
	case step != Auto:
		return step, true
	case call && object: // of a call, Responses have the arguments in a string
		return GeminiInteractions, true
	case message && reply && d == Auto:
		p.clue = clue{what: aMember, word: []byte("stop_reason")}
		return Anthropic, true
	case message && (d == Auto || chat || untyped):
		p.faint, p.clue = p.texts, clue{anItem, []byte("message"), p.texts}
		return OpenAIResponses, !p.texts
	case chat && typed && !role:
		d = OpenAIResponses
	case compacted && d.List() == "input":
		p.faint, p.clue.guess = true, true
		return d, false
	case d == Auto && system:
		return OpenAIChat, false
	case d == Auto && hint != Auto:
		p.faint, p.clue = true, why
		return hint, false
	}
	return d, d != Auto
}

// saysEnough reports whether a member of a message says enough to tell by itself. A table has
// its columns in every row, empty ones too, and any API may be given what a model thought
// or refused.
func (p *parser) saysEnough(k []byte) bool {
	switch string(k) {
	case "tool_calls":
		return p.Peek() == jsonspan.Array && !p.hollow()
	case "function_call", "output_config":
		return p.Peek() == jsonspan.Object
	case "reasoning_content", "refusal":
		return false
	case "parts":
		return true
	}
	return p.Peek() == jsonspan.String || p.Peek() == jsonspan.Array
}

// itemType reports whether f is a type that only Responses items have. Messages are called so
// by Anthropic, too.
func (p *parser) itemType(f field) bool {
	t := p.text(f)
	return t == "reasoning" || t == "item_reference" || t == "compaction_trigger" || t == "additional_tools" ||
		strings.HasSuffix(t, "_call") || strings.HasSuffix(t, "_call_output") || strings.HasPrefix(t, "mcp_") || strings.HasPrefix(t, "program")
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
		p.Enter()
		var typ field
		member, source, some := Auto, false, false
		for {
			k, ok := p.key()
			if !ok {
				break
			}
			some = true
			switch string(k) {
			case "type":
				typ = p.value()
				continue
			case "source":
				source = true
			default:
				if e := blockTells[string(k)]; e != Auto {
					member, p.clue = e, clue{what: aPart, word: k}
				}
			}
			p.Skip()
		}
		t := p.text(typ)
		p.texts = p.texts || t == "text"
		typed, untyped = typed || typ.given(), untyped || some && !typ.given()
		switch {
		case member != Auto:
			d = member
		case !typ.given():
		case t == "refusal" && p.items:
			if d == Auto {
				d, p.clue = OpenAIChat, clue{aBlock, p.word(typ), true}
			}
		case typeTells[t] != Auto && (p.items || typeTells[t].List() != "input"):
			d, p.clue = typeTells[t], clue{what: aBlock, word: p.word(typ)}
		case source && (t == "image" || t == "document"), strings.HasSuffix(t, "_tool_result"):
			d, p.clue = Anthropic, clue{what: aBlock, word: p.word(typ)}
		}
	}
	if d == Auto && untyped && !typed {
		d, p.clue = Bedrock, clue{what: noType, guess: p.input}
	}
	return d
}
