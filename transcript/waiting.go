package transcript

// waiting holds unanswered calls by key. The batch of the latest turn is answered
// first, and within a batch the first call: ids that are reused in every turn, and
// ids that are shared by parallel calls, both come out right. Every call waits twice, among
// those of its name and among those of any name: of equal ids the name decides, however far
// apart their calls are.
type waiting struct {
	byKey   map[namedKey]int // the latest batch, or -1
	batches []batch
	after   [2][]ExchangeID // by exchange: the next one of its batch, of its name and of any
}

type batch struct {
	turn       int
	head, tail ExchangeID
	below      int // the batch before, or -1
}

const (
	byName = iota
	byID
)

func (w *waiting) reset() {
	clear(w.byKey)
	w.batches = w.batches[:0]
	for i := range w.after {
		w.after[i] = w.after[i][:0]
	}
}

// keys are those under which blk's call waits, or is asked for.
func (b *Block) keys() [2]namedKey {
	return [2]namedKey{byName: {b.key(), b.Tool}, byID: {b.key(), anyTool}}
}

// add reports whether an unanswered call of the same key was waiting already.
func (w *waiting) add(t *Transcript, x ExchangeID) (twin bool) {
	if w.byKey == nil {
		w.byKey = make(map[namedKey]int)
	}
	blk := &t.blocks[t.exchanges[x].Call]
	turn := t.messages[blk.Message].Turn
	for by, k := range blk.keys() {
		for len(w.after[by]) <= int(x) {
			w.after[by] = append(w.after[by], NoExchange)
		}
		top := w.top(t, by, k)
		if twin = top >= 0; twin && w.batches[top].turn == turn {
			b := &w.batches[top]
			w.after[by][b.tail], b.tail = x, x
			continue
		}
		w.byKey[k] = len(w.batches)
		w.batches = append(w.batches, batch{turn, x, x, top})
	}
	return twin
}

// top returns the latest batch of a key whose first call is unanswered, or -1. Calls that were
// answered under their other key, or by a guess, do not wait any more.
func (w *waiting) top(t *Transcript, by int, k namedKey) int {
	top, ok := w.byKey[k]
	if !ok {
		return -1
	}
	for top >= 0 {
		b := &w.batches[top]
		for b.head != NoExchange && len(t.exchanges[b.head].Results) > 0 {
			b.head = w.after[by][b.head]
		}
		if b.head != NoExchange {
			break
		}
		top = b.below
	}
	w.byKey[k] = top
	return top
}

// first returns the call that is next to be answered under a key.
func (w *waiting) first(t *Transcript, by int, k namedKey) ExchangeID {
	if top := w.top(t, by, k); top >= 0 {
		return w.batches[top].head
	}
	return NoExchange
}

// takeOwn returns the call of blk's id and tool; of its id, if blk names no tool.
func (w *waiting) takeOwn(t *Transcript, blk *Block) ExchangeID {
	if len(w.byKey) == 0 || blk.CallID == "" {
		return NoExchange
	}
	by := byName
	if blk.Tool == "" {
		by = byID
	}
	return w.first(t, by, blk.keys()[by])
}

// take returns the call that blk answers: of its id and tool or, unless its tool has had
// this answer, of its id. The call waits until the answer is there.
func (w *waiting) take(t *Transcript, all *names, blk *Block) ExchangeID {
	if x := w.takeOwn(t, blk); x != NoExchange || len(w.byKey) == 0 || blk.CallID == "" {
		return x
	}
	x := w.first(t, byID, blk.keys()[byID])
	if x != NoExchange && all.answered(t, blk) {
		return NoExchange
	}
	return x
}

// takeNamed is take for a result without id, among calls without id.
func (w *waiting) takeNamed(t *Transcript, blk *Block) ExchangeID {
	if len(w.byKey) == 0 || blk.CallID != "" || blk.Tool == "" {
		return NoExchange
	}
	return w.first(t, byName, blk.keys()[byName])
}

// names finds the latest call of an id and a tool. It is asked only where a result has the
// id of a call and another name, so it looks at the exchanges then, at each of them once.
type names struct {
	latest map[namedKey]ExchangeID
	seen   int // how many exchanges have been looked at
}

func (n *names) reset() {
	clear(n.latest)
	n.seen = 0
}

// answered reports whether the latest call of blk's id and tool has an answer of that name.
func (n *names) answered(t *Transcript, blk *Block) bool {
	if blk.Tool == "" {
		return false
	}
	if n.latest == nil {
		n.latest = make(map[namedKey]ExchangeID)
	}
	for ; n.seen < len(t.exchanges); n.seen++ {
		if e := &t.exchanges[n.seen]; e.Call != NoBlock && e.CallID != "" {
			n.latest[t.blocks[e.Call].keys()[byName]] = ExchangeID(n.seen)
		}
	}
	x, ok := n.latest[blk.keys()[byName]]
	return ok && t.answeredAs(x, blk.Tool)
}

// namedOtherwise reports whether a result names another tool than exchange x.
func (t *Transcript) namedOtherwise(x ExchangeID, blk *Block) bool {
	tool := t.exchanges[x].Tool
	return blk.Tool != "" && tool != "" && blk.Tool != tool
}

// asking holds the calls with an id that are to be answered anywhere behind them. As nearly
// always few are unanswered at a time, they are looked at one by one; once there are many,
// they wait by key.
type asking struct {
	few  []ExchangeID // unanswered, in order
	many bool         // all are in waiting
	waiting
	last   map[callKey]ExchangeID // the latest call of a key, answered or not
	listed bool                   // last is kept: somebody has asked for it
}

func (a *asking) reset() {
	a.few, a.many, a.listed = a.few[:0], false, false
	clear(a.last)
	a.waiting.reset()
}

// add reports whether an unanswered call of the same key was waiting already.
func (a *asking) add(t *Transcript, x ExchangeID) bool {
	blk := &t.blocks[t.exchanges[x].Call]
	if blk.CallID == "" {
		return false
	}
	if a.listed {
		a.last[blk.key()] = x
	}
	if !a.many && len(a.few) == fewCalls {
		for _, y := range a.few {
			a.waiting.add(t, y)
		}
		a.many = true
	}
	if a.many {
		return a.waiting.add(t, x)
	}
	twin := a.find(t, blk) >= 0
	a.few = append(a.few, x)
	return twin
}

// find returns where among the few the last call of blk's key is, or -1.
func (a *asking) find(t *Transcript, blk *Block) int {
	for i := len(a.few) - 1; i >= 0; i-- {
		if t.asks(a.few[i], blk) {
			return i
		}
	}
	return -1
}

// asks reports whether exchange x has the key of blk, which has an id.
func (t *Transcript) asks(x ExchangeID, blk *Block) bool {
	call := &t.blocks[t.exchanges[x].Call]
	return call.CallID == blk.CallID && call.Family == blk.Family
}

// take removes and returns the call that blk answers: of those of the latest turn that has
// one of blk's tool the first such or, unless its tool has had this answer, of those of the
// latest turn the first.
func (a *asking) take(t *Transcript, all *names, blk *Block) ExchangeID {
	if a.many {
		return a.waiting.take(t, all, blk)
	}
	if blk.CallID == "" {
		return NoExchange
	}
	turn := func(i int) int { return t.messages[t.blocks[t.exchanges[a.few[i]].Call].Message].Turn }
	at, named := -1, -1
	for i := len(a.few) - 1; i >= 0; i-- {
		if !t.asks(a.few[i], blk) {
			continue
		}
		if at < 0 || turn(at) == turn(i) {
			at = i
		}
		if blk.Tool != "" && t.exchanges[a.few[i]].Tool == blk.Tool && (named < 0 || turn(named) == turn(i)) {
			named = i
		}
	}
	switch {
	case named >= 0:
		at = named
	case at < 0 || all.answered(t, blk):
		return NoExchange
	}
	x := a.few[at]
	a.few = append(a.few[:at], a.few[at+1:]...)
	return x
}

// latest returns the latest call of blk's key, answered or not.
func (a *asking) latest(t *Transcript, blk *Block) ExchangeID {
	if blk.CallID == "" {
		return NoExchange
	}
	if !a.listed {
		if a.listed = true; a.last == nil {
			a.last = make(map[callKey]ExchangeID, len(t.exchanges))
		}
		for x := range t.exchanges {
			if e := &t.exchanges[x]; e.Call != NoBlock && !e.Server {
				a.last[t.blocks[e.Call].key()] = ExchangeID(x)
			}
		}
	}
	if x, ok := a.last[blk.key()]; ok {
		return x
	}
	return NoExchange
}
