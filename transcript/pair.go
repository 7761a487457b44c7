package transcript

import "slices"

// How pairing works.
//
// Ids repeat: some agents begin at call_0 in every turn. So a result is matched by position as
// well as by id. The walk goes through the turns once:
//
//   1. a result answers the first unanswered call of its id in the turn before it: whole;
//   2. if all calls of that id in the turn before are answered: duplicate;
//   3. else it answers a call of its id that an earlier turn left unanswered, the latest
//      such turn first and in it the first call, unless both name their tools and the
//      names differ: displaced;
//   4. else, where an id is missing on one side, the first unanswered call of the same tool
//      in the turn before, or of any tool if the result names none: whole, and marked
//      guessed;
//   5. else, where both carry no id, it is one more answer to the last call of its name in
//      the turn before: duplicate;
//   6. else, where both carry no id, it answers a call of its name that an earlier turn left
//      unanswered: displaced, and guessed;
//   7. else it is an orphan result.
//
// A call that nothing answered is open in the last turn and an orphan call otherwise. A call
// that repeats the id of an unanswered one of its turn is a duplicate. A result never answers
// a call that comes after it, and two ids that differ are never guessed to be one. The
// Responses dialect allows an answer anywhere later, so there steps 1 and 3 are one, and a
// second answer counts as a duplicate only beside the first. Calls that the provider executes
// itself pair by id inside the assistant's side of the talk. Results answer calls of their own
// family only (a function call, a shell call, an approval). Repair goes one step further in
// one case.
//
// Ties come from exchanges (call and results, mutual) and from dialects: thinking in front of
// a call, reasoning in front of its item, a signed call of a Gemini step, which carries the
// signature for those behind it.

// A pairer finds the exchanges of one transcript.
type pairer struct {
	t        *Transcript
	anywhere bool
	asked    calls     // of the turn before; where answers may stand anywhere, the last without id
	fresh    calls     // of the current turn
	late     waiting   // unanswered when their answering turn had passed
	open     asking    // unanswered, where answers may stand anywhere
	served   calls     // of the provider's own, of the current turn
	pending  waiting   // of the provider's own, unanswered when their turn had passed
	earlier  calls     // the same, for results without id
	results  []BlockID // one array behind all Results slices
	names    names     // calls with an id, by their names
	others   []BlockID // results of this turn that have the id of a call and another name
}

func newPairer(t *Transcript, d Discipline) *pairer {
	return &pairer{t: t, anywhere: d == Anywhere}
}

// pair finds the exchanges of the transcript. It walks the turns once. Calls that the next turn left
// unanswered wait for a late result.
func (p *pairer) pair() {
	t := p.t
	if n := len(t.messages); n > 0 {
		t.turns = t.messages[n-1].Turn + 1
	}
	t.exchange = make([]ExchangeID, len(t.blocks))
	for b := range t.exchange {
		t.exchange[b] = NoExchange
	}
	halves := 0 // calls and results
	for b := range t.blocks {
		switch t.blocks[b].Kind {
		case Call, Result, ServerCall, ServerResult:
			halves++
		case Compaction:
			t.start = BlockID(b)
		}
	}
	if halves == 0 {
		return
	}
	p.results = make([]BlockID, 0, halves)
	t.exchanges = make([]Exchange, 0, halves/2+1)
	for m := 0; m < len(t.messages); {
		end := m + 1
		for end < len(t.messages) && t.messages[end].Turn == t.messages[m].Turn {
			end++
		}
		p.turn(t.messages[m].First, t.messages[end-1].End)
		m = end
	}
	p.openCalls()
}

// A callKey is what a result must have in common with its call.
type callKey struct {
	id     string
	family uint8
}

func (b *Block) key() callKey {
	if b.CallID == "" {
		return callKey{"\x00" + b.Tool, b.Family} // by name where there is no id
	}
	return callKey{b.CallID, b.Family}
}

// turn pairs the blocks first up to end, which form one turn.
func (p *pairer) turn(first, end BlockID) {
	p.fresh.reset()
	p.served.reset()
	from := len(p.t.exchanges)
	for b := first; b < end; b++ {
		switch p.t.blocks[b].Kind {
		case Call:
			p.call(b)
		case Result:
			p.result(b)
		case ServerCall:
			p.served.add(p.t, p.add(b, Exchange{Call: b, State: OrphanCall, Server: true}))
		case ServerResult:
			p.serverResult(b)
		}
	}
	if len(p.others) > 0 {
		p.answerOthers(from)
	}
	for _, x := range p.served.list {
		if len(p.t.exchanges[x].Results) == 0 {
			p.pending.add(p.t, x)
			p.earlier.add(p.t, x)
		}
	}
	if p.anywhere {
		return
	}
	for _, x := range p.asked.list {
		if len(p.t.exchanges[x].Results) == 0 {
			p.late.add(p.t, x)
		}
	}
	p.asked, p.fresh = p.fresh, p.asked
}

// answerOthers pairs the results that wait for the end of their turn, which began with
// exchange from: those that name their tool have taken what is theirs.
func (p *pairer) answerOthers(from int) {
	t, n := p.t, len(p.t.exchanges)
	for _, b := range p.others {
		p.answers(b, true)
	}
	if p.others = p.others[:0]; len(t.exchanges) == n {
		return
	}
	// Strays among them belong in front of what stands behind them.
	first := func(x *Exchange) BlockID {
		if x.Call != NoBlock {
			return x.Call
		}
		return x.Results[0]
	}
	slices.SortFunc(t.exchanges[from:], func(a, b Exchange) int { return int(first(&a) - first(&b)) })
	for _, made := range []*calls{&p.fresh, &p.served} {
		made.reset()
	}
	for i := from; i < len(t.exchanges); i++ {
		e, x := &t.exchanges[i], ExchangeID(i)
		for _, r := range e.Results {
			t.exchange[r] = x
		}
		if e.Call == NoBlock {
			continue
		}
		if t.exchange[e.Call] = x; e.Server {
			p.served.add(t, x)
		} else {
			p.fresh.add(t, x)
		}
	}
}

// add starts an exchange at block b.
func (p *pairer) add(b BlockID, x Exchange) ExchangeID {
	id := ExchangeID(len(p.t.exchanges))
	x.CallID, x.Tool = p.t.blocks[b].CallID, p.t.blocks[b].Tool
	p.t.exchanges = append(p.t.exchanges, x)
	p.t.exchange[b] = id
	return id
}

func (p *pairer) call(b BlockID) {
	x := p.add(b, Exchange{Call: b, State: OrphanCall})
	blk := &p.t.blocks[b]
	var twin bool
	if p.anywhere {
		if twin = p.open.add(p.t, x); blk.CallID == "" {
			p.blank(x)
		}
	} else {
		twin = p.fresh.find(p.t, blk, false) != NoExchange
		p.fresh.add(p.t, x)
	}
	if twin && blk.CallID != "" {
		p.t.exchanges[x].State, p.t.exchanges[x].Repeats = Duplicate, true
	}
}

// blank adds a call without id to those of its turn: where answers may stand anywhere,
// results without id answer these, one after the other.
func (p *pairer) blank(x ExchangeID) {
	turn := func(x ExchangeID) int { return p.t.messages[p.t.blocks[p.t.exchanges[x].Call].Message].Turn }
	if all := p.asked.list; len(all) > 0 && turn(all[0]) != turn(x) {
		p.asked.reset()
	}
	p.asked.add(p.t, x)
}

// answer adds result b to exchange x.
func (p *pairer) answer(x ExchangeID, b BlockID, s State) {
	e := &p.t.exchanges[x]
	p.t.exchange[b] = x
	if len(e.Results) == 0 {
		n := len(p.results)
		p.results = append(p.results, b)
		e.Results = p.results[n : n+1 : n+1]
	} else {
		e.Results = append(e.Results, b) // a duplicate: rare enough to copy
	}
	e.Late = e.Late || s == Displaced
	if e.State != Duplicate {
		e.State = s
	}
}

func (p *pairer) result(b BlockID) {
	blk := &p.t.blocks[b]
	if p.anywhere {
		if x := p.open.take(p.t, &p.names, blk); x != NoExchange {
			p.answer(x, b, Whole)
		} else if x := p.open.latest(p.t, blk); x != NoExchange && p.sameTurn(x, b) {
			p.answer(x, b, Duplicate)
		} else if x := p.asked.guess(p.t, blk); x != NoExchange && blk.CallID == "" {
			p.answer(x, b, Whole)
			p.t.exchanges[x].Guessed = true
		} else {
			p.orphan(b, false)
		}
		return
	}
	p.answers(b, false)
}

// answers pairs a result that must stand in the turn behind its call. Of equal ids the name
// decides: a result with the id of a call and another name waits for the end of its turn,
// where last is set, and does not join an answer that has the name, unless that goes on.
func (p *pairer) answers(b BlockID, last bool) {
	blk := &p.t.blocks[b]
	x, again := p.asked.find(p.t, blk, true), false
	if x == NoExchange {
		x, again = p.asked.find(p.t, blk, false), true
	}
	other := x != NoExchange && p.t.namedOtherwise(x, blk)
	if x == NoExchange || other {
		if y := p.late.takeOwn(p.t, blk); y != NoExchange {
			p.answer(y, b, Displaced)
			return
		}
	}
	if other && !last {
		p.others = append(p.others, b)
		return
	}
	if other && again && p.t.answeredAs(x, p.t.exchanges[x].Tool) && !p.goesOn(x) {
		x = NoExchange
	}
	if x != NoExchange && again {
		p.another(x, b)
	} else if x != NoExchange {
		p.answer(x, b, Whole)
	} else if x := p.asked.guess(p.t, blk); x != NoExchange {
		p.answer(x, b, Whole)
		p.t.exchanges[x].Guessed = true
	} else if x := p.late.take(p.t, &p.names, blk); x != NoExchange && !p.t.namedOtherwise(x, blk) {
		p.answer(x, b, Displaced)
	} else if x := p.asked.answered(p.t, blk); x != NoExchange && p.goesOn(x) {
		p.another(x, b)
	} else if y := p.late.takeNamed(p.t, blk); y != NoExchange { // a surplus is an earlier call's
		p.answer(y, b, Displaced)
		p.t.exchanges[y].Guessed = true
	} else if x != NoExchange {
		p.another(x, b)
	} else {
		p.orphan(b, false)
	}
}

// another adds one more result to x: the next part of one that goes on, or a duplicate.
func (p *pairer) another(x ExchangeID, b BlockID) {
	if p.goesOn(x) {
		p.answer(x, b, p.t.exchanges[x].State)
	} else {
		p.answer(x, b, Duplicate)
	}
}

// goesOn reports whether the last result of x says that more of it follows.
func (p *pairer) goesOn(x ExchangeID) bool {
	r := p.t.exchanges[x].Results
	return len(r) > 0 && p.t.blocks[r[len(r)-1]].Continues
}

// sameTurn reports whether x is answered in the turn of result b: only there is a
// second answer a duplicate, elsewhere it is a stray.
func (p *pairer) sameTurn(x ExchangeID, b BlockID) bool {
	e := &p.t.exchanges[x]
	turn := func(id BlockID) int { return p.t.messages[p.t.blocks[id].Message].Turn }
	return len(e.Results) > 0 && turn(e.Results[0]) == turn(b)
}

// serverResult pairs with a server call of the same turn, else with one of the latest turn
// before: an id may come again when the model begins anew. How far apart the two may stand
// is for the dialect to judge.
func (p *pairer) serverResult(b BlockID) {
	blk := &p.t.blocks[b]
	guessed := blk.CallID == ""
	var x ExchangeID
	if guessed {
		if x = p.served.guess(p.t, blk); x == NoExchange {
			x = p.earlier.guess(p.t, blk)
		}
	} else if x = p.served.find(p.t, blk, true); x == NoExchange {
		x = p.pending.take(p.t, &p.names, blk)
	}
	if x == NoExchange {
		p.orphan(b, true)
		return
	}
	p.answer(x, b, Whole)
	p.t.exchanges[x].Guessed = guessed
}

func (p *pairer) orphan(b BlockID, server bool) {
	x := p.add(b, Exchange{Call: NoBlock, Server: server})
	p.answer(x, b, OrphanResult)
}

// openCalls marks the unanswered calls of the last turn as open.
func (p *pairer) openCalls() {
	last := p.t.turns - 1
	for i := range p.t.exchanges {
		e := &p.t.exchanges[i]
		if e.State == OrphanCall && p.t.messages[p.t.blocks[e.Call].Message].Turn == last {
			e.State = Open
		}
	}
}
