package transcript

// waiting holds unanswered calls by key. The batch of the latest turn is answered
// first, and within a batch the first call: ids that are reused in every turn, and
// ids that are shared by parallel calls, both come out right.
type waiting struct {
	byKey   map[callKey]int // the latest batch, or -1
	batches []batch
	after   []ExchangeID // by exchange: the next one of its batch
}

type batch struct {
	turn       int
	head, tail ExchangeID
	below      int // the batch before, or -1
}

func (w *waiting) reset() {
	clear(w.byKey)
	w.batches, w.after = w.batches[:0], w.after[:0]
}

// add reports whether an unanswered call of the same key was waiting already.
func (w *waiting) add(t *Transcript, x ExchangeID) bool {
	if w.byKey == nil {
		w.byKey = make(map[callKey]int)
	}
	for len(w.after) <= int(x) {
		w.after = append(w.after, NoExchange)
	}
	blk := &t.blocks[t.exchanges[x].Call]
	turn := t.messages[blk.Message].Turn
	top, known := w.byKey[blk.key()]
	twin := known && top >= 0
	switch {
	case twin && w.batches[top].turn == turn:
		b := &w.batches[top]
		w.after[b.tail], b.tail = x, x
		return true
	case !twin:
		top = -1
	}
	w.byKey[blk.key()] = len(w.batches)
	w.batches = append(w.batches, batch{turn, x, x, top})
	return twin
}

// take removes and returns the call that blk answers. A call that a result without id was
// guessed to answer does not wait any more.
func (w *waiting) take(t *Transcript, blk *Block) ExchangeID {
	for {
		top, ok := w.byKey[blk.key()]
		if !ok || top < 0 || blk.CallID == "" {
			return NoExchange
		}
		if x := w.pop(t, blk, top); len(t.exchanges[x].Results) == 0 {
			return x
		}
	}
}

// pop removes the first call of the latest batch: of the first few, one of blk's tool.
func (w *waiting) pop(t *Transcript, blk *Block, top int) ExchangeID {
	b := &w.batches[top]
	x := b.head
	if blk.Tool != "" && t.exchanges[x].Tool != blk.Tool {
		for y, before, n := w.after[x], x, 0; y != NoExchange && n < fewCalls; y, before, n = w.after[y], y, n+1 {
			if t.exchanges[y].Tool != blk.Tool {
				continue
			}
			if w.after[before] = w.after[y]; b.tail == y {
				b.tail = before
			}
			return y
		}
	}
	if b.head = w.after[x]; b.head == NoExchange {
		w.byKey[blk.key()] = b.below
	}
	return x
}

// takeNamed is take for a result without id, among calls without id.
func (w *waiting) takeNamed(t *Transcript, blk *Block) ExchangeID {
	top, ok := w.byKey[blk.key()]
	if !ok || top < 0 || blk.CallID != "" || blk.Tool == "" {
		return NoExchange
	}
	return w.pop(t, blk, top)
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

// take removes and returns the call that blk answers: of those of the latest turn the
// first, or the first of blk's tool.
func (a *asking) take(t *Transcript, blk *Block) ExchangeID {
	if a.many {
		return a.waiting.take(t, blk)
	}
	at := -1
	if blk.CallID != "" {
		at = a.find(t, blk)
	}
	if at < 0 {
		return NoExchange
	}
	turn := func(i int) int { return t.messages[t.blocks[t.exchanges[a.few[i]].Call].Message].Turn }
	named := -1
	for i, latest := at, turn(at); i >= 0 && turn(i) == latest; i-- {
		if !t.asks(a.few[i], blk) {
			continue
		}
		if at = i; blk.Tool != "" && t.exchanges[a.few[i]].Tool == blk.Tool {
			named = i
		}
	}
	if named >= 0 {
		at = named
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
