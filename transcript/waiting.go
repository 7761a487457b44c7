package transcript

// waiting holds unanswered calls by key. The batch of the latest turn is answered
// first, and within a batch the first call: ids that are reused in every turn, and
// ids that are shared by parallel calls, both come out right.
type waiting struct {
	byKey   map[callKey]shelf
	batches []batch
	after   []ExchangeID // by exchange: the next one of its batch
}

type shelf struct {
	top    int        // the latest batch, or -1
	latest ExchangeID // the latest call, answered or not
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
		w.byKey = make(map[callKey]shelf)
	}
	for len(w.after) <= int(x) {
		w.after = append(w.after, NoExchange)
	}
	blk := &t.blocks[t.exchanges[x].Call]
	turn := t.messages[blk.Message].Turn
	s, known := w.byKey[blk.key()]
	if !known {
		s.top = -1
	}
	s.latest = x
	twin := s.top >= 0
	if twin && w.batches[s.top].turn == turn {
		b := &w.batches[s.top]
		w.after[b.tail], b.tail = x, x
	} else {
		w.batches = append(w.batches, batch{turn, x, x, s.top})
		s.top = len(w.batches) - 1
	}
	w.byKey[blk.key()] = s
	return twin
}

// take removes and returns the call that blk answers. A call that a result without id was
// guessed to answer does not wait any more.
func (w *waiting) take(t *Transcript, blk *Block) ExchangeID {
	for {
		s, ok := w.byKey[blk.key()]
		if !ok || s.top < 0 || blk.CallID == "" {
			return NoExchange
		}
		if x := w.pop(t, blk, s); len(t.exchanges[x].Results) == 0 {
			return x
		}
	}
}

// pop removes the first call of the latest batch: of the first few, one of blk's tool.
func (w *waiting) pop(t *Transcript, blk *Block, s shelf) ExchangeID {
	k, b := blk.key(), &w.batches[s.top]
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
		s.top = b.below
		w.byKey[k] = s
	}
	return x
}

// takeNamed is take for a result without id, among calls without id.
func (w *waiting) takeNamed(t *Transcript, blk *Block) ExchangeID {
	s, ok := w.byKey[blk.key()]
	if !ok || s.top < 0 || blk.CallID != "" || blk.Tool == "" {
		return NoExchange
	}
	return w.pop(t, blk, s)
}

// latest returns the latest call of blk's key, answered or not.
func (w *waiting) latest(blk *Block) ExchangeID {
	if s, ok := w.byKey[blk.key()]; ok && blk.CallID != "" {
		return s.latest
	}
	return NoExchange
}
