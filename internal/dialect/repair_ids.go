package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// idRepairs repair ids and names. Both halves of a pair change together.
var idRepairs = map[fault]repairFunc{
	idAlphabet:          (*repairer).renameExchange,
	idTooLong:           (*repairer).renameExchange,
	idNotNine:           (*repairer).renameExchange,
	callIDMissing:       (*repairer).renameExchange,
	callIDBlank:         (*repairer).renameExchange,
	callIDBlankAgain:    (*repairer).renameExchange,
	resultIDBlank:       (*repairer).giveID,
	callIDHalf:          (*repairer).renameExchange,
	resultIDHalf:        (*repairer).giveID,
	idMissing:           (*repairer).giveID,
	idUnderOtherName:    (*repairer).ownName,
	serverIDFormat:      (*repairer).dropExchange,
	nameEmpty:           (*repairer).rename,
	nameFormat:          (*repairer).rename,
	nameTooLong:         (*repairer).rename,
	nameMissing:         (*repairer).giveName,
	nameOther:           (*repairer).giveName,
	resultNameMissing:   (*repairer).giveName,
	functionNameMissing: (*repairer).giveName,
	itemID:              (*repairer).stripItemID,
	repeatedItemID:      (*repairer).twinItem,
	wrongType:           (*repairer).retype,
}

// setAt sets the member at the end of a path from the object at span.
func (m *repairer) setAt(at transcript.Span, path []string, value []byte) bool {
	for len(path) > 1 {
		inner, ok := m.member(at, path[0])
		if !ok || m.raw[inner.Start] != '{' {
			return false
		}
		at, path = inner, path[1:]
	}
	return m.setMember(at, path[0], value)
}

// setID gives a call or result an id.
func (m *repairer) setID(b transcript.BlockID, id string) bool {
	blk := m.t.Block(b)
	call := blk.Kind == transcript.Call || blk.Kind == transcript.ServerCall
	return m.setAt(blk.Span, m.pen.idPath(m.draft, b, call), quote(id))
}

// renameExchange gives both halves of an exchange a new id.
func (m *repairer) renameExchange(f *Finding) {
	x := m.t.Exchanges()[m.t.ExchangeOf(f.Block)]
	if m.where[f.Block].in == inFunction {
		return
	}
	id := m.mint(x, f.Block)
	halves := x.Results
	if x.Call != transcript.NoBlock {
		halves = append([]transcript.BlockID{x.Call}, x.Results...)
	}
	for _, b := range halves {
		if !m.free(b) {
			return
		}
	}
	for _, b := range halves {
		if !m.setID(b, id) {
			return
		}
		m.settled[b] = true
		m.log(f, ActionRename, b, 0, len(id)-len(m.t.Block(b).CallID), "id %q becomes %q on both halves", x.CallID, id)
	}
	if x.Call == transcript.NoBlock || !m.g.flat || m.t.Block(x.Call).Family != programFamily {
		return
	}
	for _, b := range m.calleesOf(x.Call) {
		if m.setAt(m.t.Block(b).Span, []string{"caller", "caller_id"}, quote(id)) {
			m.log(f, ActionRename, b, 0, len(id)-len(x.CallID), "the program that called has the id %q now", id)
		}
	}
}

// mint makes an id for an exchange: what the provider takes of the old one, or a
// hash of it and of how many of its kind came before. No two exchanges get the
// same one.
func (m *repairer) mint(x transcript.Exchange, b transcript.BlockID) string {
	if m.ids == nil {
		m.ids = make(map[string]bool)
		for _, o := range m.t.Exchanges() {
			m.ids[o.CallID] = true
		}
	}
	nth := earlier(m.callsOf(x.CallID), m.t.ExchangeOf(b))
	for salt := 0; ; salt++ {
		seed := fmt.Sprintf("%s/%d/%d", x.CallID, nth, salt)
		id := m.shape(x.CallID, seed, salt)
		if !m.ids[id] {
			m.ids[id] = true
			return id
		}
	}
}

// shape makes an id that the provider takes out of an old one and a seed.
func (m *repairer) shape(old, seed string, salt int) string {
	sum := sha256.Sum256([]byte(seed))
	if id, ok := m.pen.ownID(m, sum); ok {
		return id
	}
	plain := strings.Map(func(r rune) rune {
		if r < 0x80 && plainID(string(r)) {
			return r
		}
		return '_'
	}, old)
	limit := m.g.idLimit
	hash := hex.EncodeToString(sum[:4])
	switch {
	case plain == "":
		return "call_" + hash
	case plain == old || salt > 0 || len(plain) > limit:
		// Only the hash tells it from an id of the same head.
		return plain[:min(len(plain), limit-9)] + "_" + hash
	}
	return plain
}

// giveID gives a result without id that of the call it answers.
func (m *repairer) giveID(f *Finding) {
	x := m.t.Exchanges()[m.t.ExchangeOf(f.Block)]
	if x.Call == transcript.NoBlock || x.CallID == "" {
		return
	}
	if m.setID(f.Block, x.CallID) {
		m.log(f, ActionEdit, f.Block, f.Index, len(x.CallID), "takes the id of the call it answers: %s", x.CallID)
	}
}

// namePath is the way from a call or result to the name of its tool.
func (m *repairer) namePath(b transcript.BlockID) []string {
	return m.pen.namePath(m.draft, b, m.t.Block(b).Kind == transcript.Call)
}

// rename gives a call a name that the provider takes, and its results where they are told by
// one. A call without a name takes that of its result.
func (m *repairer) rename(f *Finding) {
	blk := m.t.Block(f.Block)
	x := m.t.Exchanges()[m.t.ExchangeOf(f.Block)]
	known := blk.Tool
	for _, r := range x.Results {
		if known == "" {
			known = m.t.Block(r).Tool
		}
	}
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && plainID(string(r)) {
			return r
		}
		return '_'
	}, known)
	if name = name[:min(len(name), m.g.nameLimit)]; name == "" {
		name = "unknown_tool"
	}
	if !m.setAt(blk.Span, m.namePath(f.Block), quote(name)) {
		return
	}
	m.log(f, ActionRename, f.Block, f.Index, len(name)-len(blk.Tool), "tool %q becomes %q", blk.Tool, name)
	if !m.g.namesResults && m.where[f.Block].in != inFunction {
		return
	}
	for _, r := range x.Results {
		m.setAt(m.t.Block(r).Span, m.namePath(r), quote(name))
	}
}

// giveName gives a result the name of the tool that was called.
func (m *repairer) giveName(f *Finding) {
	x := m.t.Exchanges()[m.t.ExchangeOf(f.Block)]
	if x.Call == transcript.NoBlock || x.Tool == "" || m.doubled(f.Block) {
		return
	}
	if m.setAt(m.t.Block(f.Block).Span, m.namePath(f.Block), quote(x.Tool)) {
		m.log(f, ActionEdit, f.Block, f.Index, len(x.Tool), "takes the name of the call it answers: %s", x.Tool)
	}
}

// stripItemID removes an id that the API could not have made. Reasoning is nothing
// without its id, and the item it led to must not refer to it.
func (m *repairer) stripItemID(f *Finding) {
	if f.Block != transcript.NoBlock && m.t.Block(f.Block).Kind == transcript.Thinking {
		m.dropReasoning(f)
		return
	}
	m.loseItemID(f, "an id of the wrong form, removed; pairs go by call_id")
}

// twinItem drops a copy of an item; another item only loses the id it borrowed, and so does
// a message, for what it says may have been said twice.
func (m *repairer) twinItem(f *Finding) {
	at := m.t.Messages()[f.Index].Span
	n, ok := m.firstItem(f.arg)
	if !ok {
		return
	}
	first := m.t.Messages()[n.message].Span
	switch {
	case f.Block != transcript.NoBlock && first != at && m.spelledAt(first) == m.spelledAt(at):
		m.dropFound(f)
	case f.Block != transcript.NoBlock && m.t.Block(f.Block).Kind == transcript.Thinking:
		if m.holdsOnly(int(n.message), transcript.Thinking) {
			if first.Len() < at.Len() && m.free(m.t.Messages()[n.message].First) { // the one that says more stays
				f = &Finding{Rule: f.Rule, Index: int(n.message), Block: m.t.Messages()[n.message].First, IDs: f.IDs, Message: f.Message, fault: f.fault}
			}
			m.dropReasoning(f)
			return
		}
		other := *f // reasoning is nothing without its id
		other.Index, other.Block = int(n.message), transcript.NoBlock
		m.loseItemID(&other, "an id of reasoning, removed; pairs go by call_id")
	default:
		m.loseItemID(f, "an id that another item has, removed; pairs go by call_id")
	}
}

// loseItemID takes the id off the item that f is about. A pair that goes by this id gets
// another one on both halves.
func (m *repairer) loseItemID(f *Finding, why string) {
	at := m.t.Messages()[f.Index]
	if b := at.First; b < at.End && m.t.Block(b).Kind == transcript.Call && m.t.Block(b).Family == approvalFamily {
		half := *f
		half.Block = b
		m.renameExchange(&half)
		return
	}
	if m.removeMember(at.Span, "id") {
		m.logMember(f, transcript.NoBlock, "id", "%s", why)
	}
}

// retype repairs values of the wrong type where it is clear what was meant.
func (m *repairer) retype(f *Finding) {
	if f.Index < 0 {
		return
	}
	at := m.t.Messages()[f.Index].Span
	if f.Block != transcript.NoBlock {
		at = m.t.Block(f.Block).Span
	}
	_, field, inside := cutPath(f.Path, m.foundAt(f))
	switch {
	case !inside && f.Block == transcript.NoBlock:
		m.retypeMessage(f, at)
	case !inside && m.raw[at.Start] == '"' && at.Len() > 2 && m.where[f.Block].in != inCalls:
		text := m.g.textBlock(m.t.Messages()[f.Index].Role, m.t.Bytes(at))
		if m.edit(jsonspan.Edit{Span: jsonspan.Span(at), New: text}) {
			m.settled[f.Block] = true
			m.log(f, ActionEdit, f.Block, f.Index, len(text)-at.Len(), "a bare string becomes a text")
		}
	case !inside:
		m.saysNothing(f.Block)
		m.dropBlock(f.Block)
		m.log(f, ActionDrop, f.Block, f.Index, -at.Len(), "%s", f.arg)
	default:
		m.quoteScalar(f, at, strings.Split(field, "."))
	}
}

// namesSpeaker reports whether the body itself says who speaks, which no request does.
func (m *repairer) namesSpeaker() bool {
	return slices.ContainsFunc(m.bodyObject().members, func(e jsonspan.Member) bool {
		switch name := string(jsonspan.Decode(nil, m.raw[e.Key.Start:e.Key.End])); {
		case speakerMembers[name]:
			return true
		case (name == "type" || name == "kind") && m.raw[e.Value.Start] == '"':
			return speakerTypes[strings.ToLower(string(jsonspan.Decode(nil, m.raw[e.Value.Start+1:e.Value.End-1])))]
		}
		return false
	})
}

// foundAt returns the path of what a finding is about, without the member.
func (m *repairer) foundAt(f *Finding) string {
	if f.Block != transcript.NoBlock {
		return m.Path(f.Block)
	}
	return m.MessagePath(f.Index)
}

func cutPath(path, owner string) (string, string, bool) {
	rest, ok := strings.CutPrefix(path, owner+".")
	return owner, rest, ok
}

// retypeMessage drops a message that is none; what it says as a string is kept.
func (m *repairer) retypeMessage(f *Finding, at transcript.Span) {
	raw := m.t.Bytes(at)
	if !m.untouched(f.Index) {
		return
	}
	if raw[0] == '"' && m.namesSpeaker() {
		return // the whole is a message of somebody, who says it
	}
	m.dropMessage(f.Index)
	if raw[0] == '"' && len(raw) > 2 {
		text := string(jsonspan.Decode(nil, raw[1:len(raw)-1]))
		m.insertMessage(f.Index, m.g.textMessage(transcript.User, text), m.fresh(), atMessage(f.Index))
		m.log(f, ActionEdit, transcript.NoBlock, f.Index, 0, "a bare string, taken for a message of the user")
		return
	}
	m.log(f, ActionDrop, transcript.NoBlock, f.Index, -at.Len(), "not a message: %s", f.arg)
}

// quoteScalar writes a number or boolean as the string it should be, and a content as one.
func (m *repairer) quoteScalar(f *Finding, at transcript.Span, path []string) {
	for len(path) > 1 {
		inner, ok := m.member(at, path[0])
		if !ok || m.raw[inner.Start] != '{' {
			return
		}
		at, path = inner, path[1:]
	}
	v, ok := m.member(at, path[0])
	if !ok {
		return
	}
	if path[0] == "content" || path[0] == "parts" {
		m.retypeContent(f, v)
		return
	}
	raw := m.t.Bytes(v)
	if c := raw[0]; c == '{' || c == '[' || c == '"' || path[0] == "role" || !strings.HasPrefix(f.arg, "expected a string") {
		return
	}
	if m.edit(jsonspan.Edit{Span: jsonspan.Span(v), New: quote(string(raw))}) {
		m.log(f, ActionEdit, f.Block, f.Index, 2, "%s becomes the string %q", raw, raw)
	}
}
