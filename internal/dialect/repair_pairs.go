package dialect

import (
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
)

// pairRepairs repair pairs that are not whole.
var pairRepairs = map[fault]repairFunc{
	orphanCall:           (*repairer).unansweredCall,
	openCall:             (*repairer).unansweredCall,
	orphanResult:         (*repairer).strayResult,
	serverResult4Client:  (*repairer).strayResult,
	resultWrongRole:      (*repairer).wrongResult,
	displacedResult:      (*repairer).moveResult,
	resultAfterText:      (*repairer).moveResult,
	resultAfterMessage:   (*repairer).moveResult,
	notContiguous:        (*repairer).moveResult,
	contentAfterCall:     (*repairer).callsDown,
	duplicateResult:      (*repairer).extraResult,
	repeatedCallID:       (*repairer).twinCall,
	reusedCallID:         (*repairer).renameExchange,
	reusedOtherKind:      (*repairer).renameExchange,
	repeatedServerID:     (*repairer).renameExchange,
	callWrongRole:        (*repairer).wrongCall,
	approvalUnasked:      (*repairer).strayResult,
	serverCallUnpaired:   (*repairer).dropFound,
	serverResultUnpaired: (*repairer).dropFound,
}

// unansweredCall gives a call its stub, or drops it.
func (m *repairer) unansweredCall(f *Finding) {
	x := m.t.Exchanges()[m.t.ExchangeOf(f.Block)]
	if r := m.loneStray(x); r != transcript.NoBlock && m.free(r) && m.relink(f, x, r) {
		return
	}
	if m.repeatsAnswered(x) {
		m.dropBlock(f.Block)
		m.log(f, ActionDrop, f.Block, f.Index, -m.t.Block(f.Block).Span.Len(), "a copy of a call that is answered")
		m.dropIfAlone(f, f.Block)
		return
	}
	text := wording.Stub
	if m.options.Stub != nil {
		text = m.options.Stub(x)
	}
	raw := m.pen.stub(m.draft, f.Block, text)
	if m.options.OrphanCall == RemedyDrop || raw == nil || text == "" || x.CallID == "" && !m.g.countsCalls && m.where[f.Block].in != inFunction {
		m.dropBlock(f.Block)
		m.log(f, ActionDrop, f.Block, f.Index, -m.t.Block(f.Block).Span.Len(), "a tool call without a result")
		m.dropIfAlone(f, f.Block)
		m.dismiss(f, f.Block)
		return
	}
	if own := m.ownResult(x); own != transcript.NoBlock {
		m.bringHome(f, x.Call, own)
		return
	}
	if x.CallID == "" && m.moved[m.t.Messages()[m.t.Block(x.Call).Message].Turn] {
		return // without ids the order counts: first what is there, then what is not
	}
	it := item{raw: raw, from: m.fresh()}
	if m.putResult(f, f.Block, it) {
		m.log(f, ActionInsert, f.Block, f.Index, len(raw), "a stub: %s", text)
		m.changes[len(m.changes)-1].born.index = it.from.index // a pause may have been made since
	}
}

// repeatsAnswered reports whether a call without results is a copy of one that has some:
// of the same id, the same tool, the same arguments.
func (m *repairer) repeatsAnswered(x transcript.Exchange) bool {
	if x.CallID == "" || m.ownResult(x) != transcript.NoBlock {
		return false
	}
	for _, near := range m.nearCalls(x.CallID, m.t.ExchangeOf(x.Call)) {
		o := m.t.Exchanges()[near]
		if len(o.Results) > 0 && m.t.Block(o.Call).Family == m.t.Block(x.Call).Family && m.free(o.Call) && m.sameCall(o.Call, x.Call) {
			return true
		}
	}
	return false
}

// nearCalls lists the calls of an id that stand next to one of them: of very many with one
// id, only the neighbours are compared.
func (m *repairer) nearCalls(id string, x transcript.ExchangeID) []transcript.ExchangeID {
	const near = 16
	all := m.callsOf(id)
	at := earlier(all, x)
	return all[max(0, at-near):min(len(all), at+near)]
}

// bringHome moves a result to the place where its call's answer belongs.
func (m *repairer) bringHome(f *Finding, call, result transcript.BlockID) {
	blk := m.t.Block(result)
	if !m.putResult(f, call, item{raw: m.t.Bytes(blk.Span), from: m.at(result)}) {
		return
	}
	m.dropBlock(result)
	m.settled[call] = true
	if m.home == nil {
		m.home = make(map[transcript.BlockID]bool)
	}
	m.home[call] = true
	if m.moved == nil {
		m.moved = make(map[int]bool)
	}
	m.moved[m.t.Messages()[m.t.Block(call).Message].Turn] = true
	m.log(f, ActionMove, result, blk.Message, 0, "moved to the place behind its call")
}

// dropIfAlone drops the reasoning that led to a dropped call, where the API wants
// one to follow the other.
func (m *repairer) dropIfAlone(f *Finding, call transcript.BlockID) {
	if !m.g.flat {
		return
	}
	if m.leads == nil {
		m.leads = make(map[transcript.BlockID][]transcript.BlockID)
		for _, t := range m.t.Ties() {
			if m.t.Block(t.From).Kind == transcript.Thinking {
				m.leads[t.To] = append(m.leads[t.To], t.From)
			}
		}
	}
	for _, b := range m.leads[call] {
		if m.free(b) {
			m.dropBlock(b)
			m.log(f, ActionDrop, b, 0, -m.t.Block(b).Span.Len(), "reasoning whose call is gone")
		}
	}
}

// relink gives a result the id of the call it stands behind.
func (m *repairer) relink(f *Finding, x transcript.Exchange, result transcript.BlockID) bool {
	if x.CallID == "" || !m.setID(result, x.CallID) {
		return false
	}
	m.settled[f.Block], m.settled[result] = true, true
	m.log(f, ActionRename, result, 0, 0, "the only result behind the only call of its turn, under an id that no call has: %q", m.t.Block(result).CallID)
	return true
}

// putResult puts a result where the provider looks for the answer to call. It
// returns false if that place is being changed as a whole in this round.
func (m *repairer) putResult(f *Finding, call transcript.BlockID, it item) bool {
	at, ms := m.t.Block(call).Message, m.t.Messages()
	turn := ms[at].Turn
	end := m.endOfTurn(turn)
	if !m.g.nested {
		m.insertMessage(m.behindRun(at), it.raw, it.from)
		return true
	}
	if end < len(ms) && ms[end].Role == transcript.User && m.listable(end) && m.extra[end]&(badRole|emptyList) == 0 && ms[end].First < ms[end].End {
		if m.taken[end] || m.messages.drop[end] {
			return false
		}
		if m.extra[end]&hasResults != 0 || !m.partsResults() {
			m.listOf(end, m.g.blocks).insert(m.leadingResults(end), it)
			return true
		}
		if m.answers[turn] == nil && !m.g.partsMessages {
			// Neighbours of one role are merged, so somebody must speak in between.
			a := m.answer(turn, end)
			a.behind = item{raw: m.g.textMessage(transcript.Assistant, wording.Pause), from: m.fresh()}
			m.logPause(f, end, a.behind.raw)
		}
	}
	a := m.answer(turn, end)
	a.blocks = append(a.blocks, it)
	return true
}

// answer is the message that holds the results of a turn that have none to go to, in front of
// message end.
func (d *draft) answer(turn, end int) *answer {
	if d.answers == nil {
		d.answers = make(map[int]*answer)
	}
	if d.answers[turn] == nil {
		d.answers[turn] = &answer{before: end}
	}
	return d.answers[turn]
}

// partsResults reports whether results may not share a message with what the user says
// behind them.
func (m *repairer) partsResults() bool {
	mixed := mixedResultTurn
	if m.g.partsMessages {
		mixed = mixedResultTail
	}
	c := checker{Request: m.Request, o: CheckOptions{Strict: m.strict}}
	return c.wants(mixed)
}

// listable reports whether the content of message i is a list of blocks, or a
// string that can become one.
func (d *draft) listable(i int) bool {
	s := d.frame[i].content
	if s.Len() > len(`""`) && d.raw[s.Start] == '"' {
		msg := d.t.Messages()[i]
		return msg.First < msg.End // else it is none here
	}
	return s.Len() > 0 && (d.raw[s.Start] == '[' || d.raw[s.Start] == '"')
}

// moveResult moves a result to its call.
func (m *repairer) moveResult(f *Finding) {
	x := m.t.Exchanges()[m.t.ExchangeOf(f.Block)]
	// A call may have several results: those behind the first one follow it.
	if x.Call == transcript.NoBlock || !m.free(x.Call) && !(m.home[x.Call] && m.free(f.Block)) {
		return
	}
	m.bringHome(f, x.Call, f.Block)
}

// callsDown moves what the assistant says behind its calls in front of them. Signed
// thinking stays where it was signed.
func (m *repairer) callsDown(f *Finding) {
	if m.again(f, f.Index) {
		return
	}
	msg := m.t.Messages()[f.Index]
	first := transcript.NoBlock
	for b := msg.First; b < msg.End; b++ {
		switch k := m.t.Block(b).Kind; {
		case k == transcript.Call && first == transcript.NoBlock:
			first = b
		case k == transcript.Thinking && first != transcript.NoBlock:
			return
		}
	}
	if first == transcript.NoBlock || first > f.Block || !m.untouched(f.Index) {
		return
	}
	l := m.listOf(f.Index, m.g.blocks)
	for b := first + 1; b < msg.End; b++ {
		if blk := m.t.Block(b); blk.Kind != transcript.Call {
			m.dropBlock(b)
			l.insert(int(m.where[first].index), item{raw: m.t.Bytes(blk.Span), from: m.at(b)})
			m.log(f, ActionMove, b, f.Index, 0, "the calls stand last in their turn now")
		}
	}
}

// twinCall settles a call that repeats the id of another one of its turn. A copy
// goes with its result; a different call gets an id of its own.
func (m *repairer) twinCall(f *Finding) {
	x := m.t.Exchanges()[m.t.ExchangeOf(f.Block)]
	first := m.firstTwin(x)
	if first == transcript.NoBlock {
		return
	}
	if !m.isCopy(first, x) {
		m.renameExchange(f)
		return
	}
	for _, r := range x.Results {
		m.dropBlock(r)
		m.log(f, ActionDrop, r, 0, -m.t.Block(r).Span.Len(), "the result of a repeated call")
	}
	m.dropBlock(x.Call)
	m.log(f, ActionDrop, x.Call, f.Index, -m.t.Block(x.Call).Span.Len(), "a copy of a call of the same turn")
}

// isCopy reports whether an exchange adds nothing to that of an earlier call of
// the same id: it is the same call, answered alike or not at all, or one that was
// aborted.
func (m *repairer) isCopy(first transcript.BlockID, x transcript.Exchange) bool {
	ms := m.t.Messages()
	if ms[m.t.Block(first).Message].Turn != ms[m.t.Block(x.Call).Message].Turn {
		return false
	}
	answers := m.t.Exchanges()[m.t.ExchangeOf(first)].Results
	madeUp, alike := len(x.Results) > 0, true
	for _, r := range x.Results {
		fake := IsSynthetic(m.resultText(r))
		madeUp = madeUp && fake
		alike = alike && (fake || len(answers) > 0 && !m.differs(answers[0], r))
	}
	return madeUp || alike && m.sameCall(first, x.Call)
}
