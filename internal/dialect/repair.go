package dialect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
)

// How repairing works.
//
// Repair is driven by the findings of Check. For most faults there is a repair: a
// function that changes a draft, or leaves it alone.
//
//   1. A round goes through the findings and lets each be repaired, unless an earlier repair of
//      the same round has claimed the block or its message; that one waits. It has passes:
//      who speaks, then what lies inside of blocks, each of which ends the round if it
//      changes something, because all else depends on it; then results go home, before any
//      call is given a stub: what is there counts before what is not.
//   2. One splice writes the round. The result is parsed and checked again. What is left, or
//      was brought about by the round (new neighbours, a message that became empty), is for
//      the next round.
//   3. The end is reached when nothing is found, when a round has nothing to do, or after 24
//      rounds. Findings that remain are returned as Left.
//
// What a repair prefers: move, then keep under another form, then drop.
//
//   - A displaced result goes to the place where the provider looks for the answer. What
//     stood in between stays.
//   - A call with several results keeps the real ones over those that a repair or an abort
//     made up (Synthetic, a guess by wording) and joins them in order, without copies; a
//     result that a later call of the same id lacks goes there.
//   - An unanswered call gets a stub that says that the outcome is unknown, marked as an
//     error where the dialect has a mark; or is dropped, if the policy says so, if there is
//     no id by which it could be answered, or if its result is of a kind that cannot be made
//     up (a screenshot). The wording is a hook.
//   - A result without a call becomes a quotation in the user's turn that says that the user
//     did not write it, with its images; or is dropped, if the policy says so or it was made
//     up anyway.
//   - Ids are renamed on both halves at once. A new id is what the provider takes of the old
//     one, or a hash of it; no two exchanges get the same.
//   - Roles: neighbours of one role are joined where they are refused; where a turn is
//     missing, a short one is put in ("Continue.", "(The beginning of this conversation is
//     not included.)"). A system message that may not stand where it is becomes a reminder
//     in the user's turn.
//   - Thinking is moved to its place or dropped, never made up. Where what was thought is
//     needed and lost, thinking is switched off for this request.
//
// What a user said is never dropped; where it cannot stay where it is, it moves. Some
// faults are reported and never repaired: every repair of them would change what was meant.
//
// Stubs, ids and quotations are functions of the input, so the same input gives the same bytes
// in every process, and a second repair finds nothing to do.

// A Remedy is what to do with half an exchange. It is a value that many goroutines may
// use.
type Remedy uint8

const (
	// RemedyKeep keeps the information: stubs an unanswered call, quotes an orphan result.
	RemedyKeep Remedy = iota
	// RemedyDrop drops the half.
	RemedyDrop
)

// A Repair says how to repair. The zero value keeps what can be kept. Many goroutines may
// use one, if Stub lets them.
type Repair struct {
	OrphanCall   Remedy // RemedyKeep: put in a result that says the outcome is unknown
	OrphanResult Remedy // RemedyKeep: turn it into quoted text
	// Open leaves calls at the tail open: they may still be running. That is right
	// for a store and wrong for a request that is about to be sent.
	Open bool
	// Unended leaves a history that ends with the assistant as it is, for somebody who
	// will cut it first.
	Unended bool
	// Stub words the result of an unanswered call. It must be a function of its
	// argument. Nil says that the outcome is unknown.
	Stub func(transcript.Exchange) string
}

// An Action is what is done to a part of a request.
type Action string

const (
	// ActionKeep: every byte stays.
	ActionKeep Action = "keep"
	// ActionEdit: some of it is changed.
	ActionEdit Action = "edit"
	// ActionDrop: it is removed.
	ActionDrop Action = "drop"
	// ActionArchive: a placeholder or an excerpt stands for it.
	ActionArchive Action = "archive"
	// ActionInsert: it is new.
	ActionInsert Action = "insert"
	// ActionMove: it stands elsewhere.
	ActionMove Action = "move"
	// ActionRename: it has another id or name.
	ActionRename Action = "rename"
	// ActionMerge: it is part of its neighbour.
	ActionMerge Action = "merge"
)

// A Change is one thing that was done to a request. Many goroutines may read it.
type Change struct {
	Action Action   `json:"action"`
	Rule   string   `json:"rule"` // the finding it repairs
	Path   string   `json:"path"` // where it was in the original; "" if it is new
	IDs    []string `json:"ids"`
	Reason string   `json:"reason"`
	Tokens int      `json:"tokens"`
	Bytes  int      `json:"bytes"` // how many more, or fewer if negative
	// Removed is the JSON that a repair took out of the conversation, or quoted in another form, as it was.
	// Of what a rule, a window or a summary takes out, [github.com/pare-llm/pare.Plan.Archive] has it.
	Removed string `json:"removed,omitempty"`

	born birth // of what it puts in
	own  bool  // done to something that was put in
}

// RulesOf lists the rules of changes, each once, in order.
func RulesOf(changes []Change) (names []string) {
	seen := make(map[string]bool)
	for _, c := range changes {
		if !seen[c.Rule] {
			seen[c.Rule] = true
			names = append(names, c.Rule)
		}
	}
	return names
}

// A RepairedRequest is what came of repairing a request. Many goroutines may read it.
type RepairedRequest struct {
	Request *Request  // the repaired request; the original one if nothing was done
	Changes []Change  // in the order they were made
	Left    []Finding // what could not be repaired; paths are in Request
	Found   []Finding // what the check finds in the original, also what the policy lets be
}

// maxRounds bounds the rounds of repairing. A round repairs all faults that do not
// touch each other; what it leaves, or brings about, is for the next.
const maxRounds = 24

// repair repairs what Check finds. A request without findings comes back as it is:
// the same bytes, the same buffer. The result is checked again, so what Left does
// not name is clean.
func (r *Request) repair(p Repair, o CheckOptions) (*RepairedRequest, error) {
	return r.repairSince(context.Background(), r, p, o)
}

// repairSince is Repair; the paths of the changes are those of an earlier state, and it stops with an
// error soon after the context ends. It is here for engines such as package pare, whose plans go
// on from what they have rewritten.
func (r *Request) repairSince(ctx context.Context, before *Request, p Repair, o CheckOptions) (*RepairedRequest, error) {
	o.Advice = false
	out := &RepairedRequest{Request: r, Found: r.Check(o)}
	out.Left = r.toRepair(out.Found, p)
	if r.head.delta != "" {
		return out, nil
	}
	for range maxRounds {
		if len(out.Left) == 0 || len(out.Left) >= maxFindings {
			break
		}
		m, err := out.Request.round(ctx, out.Left, before, p, o)
		if err != nil {
			return nil, err
		}
		if m == nil {
			break
		}
		m.tellMembers()
		next, err := m.carryOut()
		if err != nil {
			return nil, fmt.Errorf("repair: %w", err)
		}
		out.Request, out.Changes = next, append(out.Changes, m.changes...)
		out.Left = next.toRepair(next.Check(o), p)
	}
	return out, nil
}

// maxHolds bounds how often a round is begun again without the messages that it would have
// taken words from.
const maxHolds = 8

// round repairs what can be repaired at once, and loses no words that nobody has read; nil if
// there is nothing to do.
func (r *Request) round(ctx context.Context, left []Finding, before *Request, p Repair, o CheckOptions) (*repairer, error) {
	held := make(map[int]bool)
	for range maxHolds {
		m := &repairer{draft: newDraft(r), options: p, before: before, strict: o.Strict}
		m.hold(held)
		if err := m.run(ctx, left); err != nil {
			return nil, err
		}
		if m.clean() {
			return nil, nil
		}
		m.neverEmpty()
		losing := m.losing()
		if len(losing) == 0 {
			return m, nil
		}
		for _, i := range losing {
			if held[i] {
				return nil, nil // a repair does not ask whether it may
			}
			held[i] = true
		}
	}
	return nil, nil
}

// run repairs findings, sort by sort.
func (m *repairer) run(ctx context.Context, left []Finding) error {
	for _, now := range phases {
		for i := range left {
			if i%512 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if phaseOf(&left[i]) == now {
				m.repairFault(&left[i])
			}
		}
		if now == within {
			m.carryRefs()
		}
		if now != goHome && !m.clean() {
			return nil
		}
	}
	return nil
}

// A phase of a round repairs findings of one sort.
type phase uint8

const (
	whoSpeaks phase = iota // alone: what a message may hold and answer follows from its role, and what pairs from types
	within                 // alone: what lies in a block is named by its place there, which changes when blocks are joined
	goHome                 // results go home before stubs are made
	theRest
	theEnd // alone: what stands last does so no more if a call is answered, or somebody else has to end
)

var phases = [...]phase{whoSpeaks, within, goHome, theRest, theEnd}

func phaseOf(f *Finding) phase {
	switch f.fault {
	case unknownRole, roleMissing, typeMissing, callWrongRole:
		return whoSpeaks
	case referenceUnknown, emptyTextInside, duplicateKey:
		return within
	case displacedResult, resultAfterMessage:
		return goHome
	case thinkingNotEnabled:
		return theEnd
	}
	return theRest
}

// toRepair lists the findings, without those that the policy lets be.
func (r *Request) toRepair(found []Finding, p Repair) []Finding {
	if !p.Unended && !p.Open {
		return found
	}
	// What will be put behind the end answers for what may not stand there, too.
	ended := func(f Finding) bool { return f.fault == lastRole || f.fault == lastRoleThinking }
	open := p.Open && r.endsOpen()
	later := open || p.Unended && slices.ContainsFunc(found, ended)
	return slices.DeleteFunc(slices.Clone(found), func(f Finding) bool {
		return later && (ended(f) || f.fault == thinkingNotEnabled) || p.Open && f.fault == openCall
	})
}

// endsOpen reports whether the last turn holds calls that may still be running.
func (r *Request) endsOpen() bool {
	return slices.ContainsFunc(r.t.Exchanges(), func(x transcript.Exchange) bool { return x.State == transcript.Open })
}

// neverEmpty keeps a history from losing its last message.
func (m *repairer) neverEmpty() {
	if len(m.messages.put) > 0 || len(m.answers) > 0 || slices.Contains(m.messages.drop, false) || m.otherList() {
		return
	}
	raw := m.g.textMessage(transcript.User, wording.Empty)
	m.insertMessage(0, raw, m.fresh())
	m.log(&Finding{Rule: "empty-content"}, ActionInsert, transcript.NoBlock, -1, len(raw), "a history must not be empty: %s", wording.Empty)
}

// otherList reports whether something else stands in the place of the list of messages.
func (m *repairer) otherList() bool {
	k := m.head.listKind
	return k != jsonspan.Array && k != jsonspan.Invalid && k != jsonspan.Null
}

// A repairer repairs one round of findings.
type repairer struct {
	*draft
	options Repair
	changes []Change
	before  *Request        // whose paths the changes are told in
	strict  bool            // the result is to be valid everywhere
	ids     map[string]bool // ids in use, when one has to be made
	moved   map[int]bool    // turns of calls that got a result back in this round
	paths   Paths
	lookups
	wordless
}

// log records a change to a block or, if block is NoBlock, to a message.
func (m *repairer) log(f *Finding, action Action, block transcript.BlockID, message int, bytes int, format string, args ...any) {
	removed := ""
	if action == ActionDrop {
		removed = m.removedBlock(block, message)
	}
	m.logRemoved(f, removed, action, block, message, bytes, format, args...)
}

// logRemoved records a change that removes some JSON.
func (m *repairer) logRemoved(f *Finding, removed string, action Action, block transcript.BlockID, message int, bytes int, format string, args ...any) {
	c := Change{Action: action, Rule: f.Rule, IDs: f.IDs, Reason: fmt.Sprintf(format, args...), Bytes: bytes, Removed: removed}
	at := atMessage(message)
	if block != transcript.NoBlock {
		at = m.at(block)
		if id := m.t.Block(block).CallID; id != "" && len(c.IDs) == 0 {
			c.IDs = []string{id}
		}
		if action == ActionDrop && m.hollow[block] {
			c.Reason += m.idsIn(m.t.Block(block).Span)
		}
	}
	if c.IDs == nil {
		c.IDs = []string{}
	}
	if action == ActionInsert {
		c.born = birth{len(m.steps), m.made}
	}
	paths := m.paths.in(m.Request, m.before, at)
	if len(paths) == 0 {
		_, made := m.trace(m.before, at, nil)
		c.own = len(made) > 0
		paths = []string{""}
		if at.message < 0 && block == transcript.NoBlock && action != ActionInsert {
			paths[0] = f.Path // beside the messages, where nothing moves
		}
	}
	for i, path := range paths {
		if i > 0 && action != ActionDrop {
			break
		}
		c.Path = path
		m.changes = append(m.changes, c)
		c.Bytes, c.Removed = 0, "" // the others were joined to the first
	}
	if action == ActionDrop && block == transcript.NoBlock && message >= 0 {
		m.logGuests(c, message, paths)
	}
}

// logGuests records what goes with a message and stood elsewhere before: a result that was
// moved into it, what was taken over from a neighbour.
func (m *repairer) logGuests(c Change, message int, told []string) {
	told = slices.Clone(told) // which is good until the next path is asked for
	msg := m.t.Messages()[message]
	for b := msg.First; b < msg.End; b++ {
		for _, path := range m.paths.in(m.Request, m.before, m.at(b)) {
			within := func(whole string) bool { return path == whole || strings.HasPrefix(path, whole+".") }
			if slices.ContainsFunc(told, within) {
				continue
			}
			c.Path = path
			m.changes = append(m.changes, c)
			told = append(told, path)
		}
	}
}

// logMember records that a member of a block or, if block is NoBlock, of a message goes.
func (m *repairer) logMember(f *Finding, block transcript.BlockID, member, format string, args ...any) {
	at := m.t.Messages()[f.Index].Span
	if block != transcript.NoBlock {
		at = m.t.Block(block).Span
	}
	first := len(m.changes)
	m.logRemoved(f, m.removedMember(jsonspan.Span(at), member), ActionDrop, block, f.Index, 0, format, args...)
	m.changes = m.changes[:first+1] // what was joined to it has its members still
	if c := &m.changes[first]; c.Path != "" {
		c.Path += "." + member
	}
}

// logHead records a change beside the messages.
func (m *repairer) logHead(f *Finding, action Action, path string, bytes int, format string, args ...any) {
	c := Change{Action: action, Rule: f.Rule, Path: path, IDs: []string{}, Reason: fmt.Sprintf(format, args...), Bytes: bytes}
	isCopy := f.fault == duplicateKey // its caller knows which of the copies was removed
	if body := m.bodyObject(); !isCopy && f.Index < 0 && len(body.members) > 0 && (action == ActionDrop || action == ActionEdit) {
		c.Removed = m.removedMember(jsonspan.Span(body.at), path)
	}
	m.changes = append(m.changes, c)
}

// free reports whether no earlier repair of this round has claimed the block or its
// message. What is not free waits for the next round.
func (m *repairer) free(b transcript.BlockID) bool {
	return !m.gone[b] && !m.settled[b] && !m.taken[m.t.Block(b).Message]
}

// untouched reports whether nothing has been done to message i in this round, so
// that it may be moved or dropped as a whole without losing anything.
func (m *repairer) untouched(i int) bool {
	if m.taken[i] || m.messages.drop[i] {
		return false
	}
	for _, in := range []container{inContent, inParts, inCalls} {
		if m.inner[listKey{i, in}] != nil {
			return false
		}
	}
	msg := m.t.Messages()[i]
	for b := msg.First; b < msg.End; b++ {
		if m.settled[b] {
			return false
		}
	}
	return m.left[i] == int(msg.End-msg.First)
}

// repair repairs one finding if it can.
func (m *repairer) repairFault(f *Finding) {
	if f.Block != transcript.NoBlock && !m.free(f.Block) || f.Index >= 0 && m.taken[f.Index] || f.Index < 0 && m.beside {
		return
	}
	fix := repairFuncs[f.fault]
	if fix == nil || m.head.startsThread && pinnedInThread[f.fault] {
		return
	}
	fix(m, f)
}

// A repairFunc repairs one finding, or leaves it alone.
type repairFunc func(*repairer, *Finding)

// repairFuncs says how each fault is repaired; what is missing is reported only.
var repairFuncs = func() (all [faults]repairFunc) {
	for _, part := range []map[fault]repairFunc{pairRepairs, idRepairs, contentRepairs, roleRepairs, reasoningRepairs, headRepairs} {
		for f, fix := range part {
			all[f] = fix
		}
	}
	return all
}()

// dropFound drops the block that was found.
func (m *repairer) dropFound(f *Finding) {
	switch f.fault {
	case emptyText, blankTextBlock, emptyPart, typeMissing, fieldMissing:
		m.saysNothing(f.Block)
	}
	m.dropBlock(f.Block)
	m.log(f, ActionDrop, f.Block, f.Index, -m.t.Block(f.Block).Span.Len(), "%s", m.why(f))
}

// why says in our words what is wrong.
func (m *repairer) why(f *Finding) string {
	if s := slugs[f.Rule]; s != "" {
		return s
	}
	return f.Message
}

// dropExchange drops a call and all its results.
func (m *repairer) dropExchange(f *Finding) {
	x := m.t.Exchanges()[m.t.ExchangeOf(f.Block)]
	for _, b := range append(slices.Clone(x.Results), x.Call) {
		if b != transcript.NoBlock && m.free(b) {
			m.dropBlock(b)
			m.log(f, ActionDrop, b, 0, -m.t.Block(b).Span.Len(), "%s; the exchange goes as a whole", m.why(f))
		}
	}
}
