package dialect

import (
	"strconv"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// sharedNotes are about any block.
func (p *parser) sharedNotes(t string, f *blockFields) {
	n := len(p.blocks) - 1
	p.wantString(&f.id, n, "id")
	p.wantString(&f.useID, n, "tool_use_id")
	p.wantString(&f.name, n, "name")
	p.wantString(&f.text, n, "text")
	p.wantString(&f.thinking, n, "thinking")
	for _, o := range f.others {
		members, ok := known[t]
		switch {
		case foreignMembers[o.name]:
			p.note(foreignBlockMember, n, o.name, "")
		case !ok || strings.Contains(members, " "+o.name+" "):
		case o.null:
			p.note(nullFiller, n, o.name, "")
		default:
			p.note(unknownBlockMember, n, o.name, "")
		}
	}
	if f.cache {
		p.noteBlock(tooManyCacheMarks, "", f.ttl)
	}
	if m := f.nested.marked; m > 0 {
		p.noteBlock(tooManyCacheMarks, "", "5m")
	}
	if m := f.nested.marked; m > 0 && m < f.nested.items {
		p.note(cacheMarkNested, n, "content."+strconv.Itoa(m-1), "")
	}
	switch t {
	case "document":
		p.noteBlock(documentOfAssistant, "", "")
	case "compaction", "advisor_tool_result", "tool_addition", "tool_removal", "fallback":
		if f.defines {
			t = "tool_definition"
		}
		p.noteBlock(betaHeaderMissing, "", t)
	}
}

func (p *parser) textNotes(f *blockFields) {
	if f.cited {
		p.noteBlock(citationsOfUser, "citations", "")
	}
	switch {
	case f.text.absent():
		p.noteBlock(fieldMissing, "", "text")
	case f.text.empty():
		p.noteBlock(emptyText, "", "")
		if f.cache {
			p.noteBlock(cacheMarkEmpty, "", "")
		}
	case p.blank(f.text):
		p.noteBlock(blankTextBlock, "", "")
	}
}

func (p *parser) callNotes(f *blockFields, id string) {
	switch {
	case f.id.absent():
		p.noteBlock(callIDMissing, "", "")
	case f.id.kind == jsonspan.String && !plainID(id):
		p.noteBlock(idAlphabet, "", "tool_use.id")
	}
	switch n := f.name.span.Len(); {
	case f.name.absent(), f.name.empty():
		p.noteBlock(nameEmpty, "", "")
	case n > 200:
		p.noteBlock(nameTooLong, "", "")
	}
	if f.input.kind != jsonspan.Object {
		p.noteBlock(argsNotObject, "", f.input.kind.String())
	}
	n := transcript.BlockID(len(p.blocks) - 1)
	if f.program {
		p.noteBlock(programMixed, "", p.text(f.caller))
		p.tieCaller(n, p.text(f.caller))
	}
	if f.toolset.kind == jsonspan.String {
		p.noteBlock(toolsetMismatch, "", p.text(f.toolset))
	}
}

// tieCaller ties a call made by a program to the program: they live and die
// together.
func (p *parser) tieCaller(call transcript.BlockID, id string) {
	if b, ok := p.servers[id]; ok && p.blocks[b].Message == p.blocks[call].Message {
		p.ties = append(p.ties, transcript.Tie{From: call, To: b, Mutual: true})
	}
}

func (p *parser) resultNotes(f *blockFields, id string, failed bool) {
	switch {
	case f.useID.absent():
		p.noteBlock(idMissing, "", "")
	case f.useID.kind == jsonspan.String && strings.HasPrefix(id, "srvtoolu_"):
		p.noteBlock(serverResult4Client, "", id)
	case f.useID.kind == jsonspan.String && !plainID(id):
		p.noteBlock(idAlphabet, "", "tool_result.tool_use_id")
	}
	nothing := f.content.absent() || f.content.empty() || f.content.kind == jsonspan.Array && f.nested.items == 0
	switch {
	case failed && nothing:
		p.noteBlock(emptyErrorResult, "", "")
	case failed && f.content.kind == jsonspan.Array && f.nested.texts < f.nested.items:
		p.noteBlock(nonTextErrorResult, "", "")
	case f.content.kind == jsonspan.Array && f.nested.items == 0:
		p.noteBlock(emptyResult, "", "")
	}
	switch f.content.kind {
	case jsonspan.Invalid, jsonspan.Null, jsonspan.String, jsonspan.Array:
	default:
		p.noteBlock(wrongType, "content", "expected a string or a list, found "+f.content.kind.String())
	}
	n := &f.nested
	switch {
	case n.foreign > 0:
		p.noteBlock(resultPartType, "content."+strconv.Itoa(n.foreign-1), n.firstType)
	case n.searches > 0 && n.searches < n.items:
		p.noteBlock(resultPartType, "content."+strconv.Itoa(n.search-1), "search_result")
	}
	for _, i := range n.hollow {
		p.noteBlock(hollowMedia, "content."+strconv.Itoa(i), "image")
	}
	if n.empty > 0 {
		p.noteBlock(emptyTextInside, "content."+strconv.Itoa(n.firstEmpty), "")
	}
	if n.texts < n.items {
		p.noteBlock(programNonText, "", "")
	}
	if f.toolset.kind == jsonspan.String {
		p.noteBlock(toolsetMismatch, "", p.text(f.toolset))
	}
	p.referenceNotes(f)
}

func (p *parser) referenceNotes(f *blockFields) {
	for _, ref := range f.nested.refs {
		p.noteBlock(referenceUnknown, ref.path, ref.name)
	}
}

func (p *parser) compactionNotes(f *blockFields) {
	if f.content.empty() {
		p.noteBlock(compactionEmpty, "", "")
	}
	if !f.signature.absent() {
		p.noteBlock(compactionNotFirst, "", "")
	}
}
