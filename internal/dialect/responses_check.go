package dialect

import "github.com/pare-llm/pare/transcript"

// check raises the faults that show in the finished transcript.
func (responses) check(c *checker) {
	c.pairs()
	c.argumentsJSON()
	c.reasoningItems()
	c.contiguous()
	c.runsReason()
}

// runsReason checks, for the vendor that wants it, that every run of calls has a
// reasoning item in front of it.
func (c *checker) runsReason() {
	if !c.wants(reasoningRequired) || c.head.effort == "" || c.head.effort == "none" {
		return
	}
	before := transcript.Other
	for _, m := range c.t.Messages() {
		if m.First == m.End {
			continue
		}
		kind := c.t.Block(m.First).Kind
		if kind == transcript.Call && before != transcript.Call && before != transcript.Thinking {
			c.block(reasoningRequired, m.First, "")
		}
		before = kind
	}
}

// reasoningItems judges the notes on items by their neighbours.
func (c *checker) reasoningItems() {
	ms := c.t.Messages()
	if len(c.notes) == 0 {
		return
	}
	reasoning := make(map[int32]string) // message → id of the reasoning item it is
	for _, n := range c.notes {
		if n.fault == reasoningOrphan {
			reasoning[n.message] = n.arg
		}
	}
	first := make(map[string]bool)
	pending := make(map[transcript.BlockID]bool)
	acknowledged := make(map[transcript.BlockID]bool)
	for _, n := range c.notes {
		b := transcript.BlockID(n.block)
		switch n.fault {
		case repeatedItemID:
			if first[n.arg] {
				c.reportNote(n)
			}
			first[n.arg] = true
		case reasoningOrphan:
			next, ok := reasoning[n.message+1]
			if !c.followed(int(n.message)) || ok && next != n.arg {
				c.block(reasoningOrphan, b, n.arg)
			}
		case reasoningUnresolvable, itemUnresolvable:
			if c.head.storeFalse {
				c.block(n.fault, b, n.arg)
			}
		case safetyUnacknowledged:
			if n.arg == "call" {
				pending[b] = true
			} else {
				acknowledged[b] = true
			}
		}
	}
	if len(pending) == 0 {
		return
	}
	for b := range ms {
		for blk := ms[b].First; blk < ms[b].End; blk++ {
			if !pending[blk] {
				continue
			}
			for _, r := range c.t.Exchanges()[c.t.ExchangeOf(blk)].Results {
				if !acknowledged[r] {
					c.block(safetyUnacknowledged, r, "")
				}
			}
		}
	}
}

// followed reports whether the reasoning item at i is followed by something of
// the model's. More reasoning is another matter: only a copy of itself will do.
func (c *checker) followed(i int) bool {
	ms := c.t.Messages()
	return i+1 < len(ms) && ms[i+1].Role == transcript.Assistant
}

// contiguous checks, for vendors that imitate the API on top of chat messages,
// that the outputs follow the run of calls they answer.
func (c *checker) contiguous() {
	if !c.wants(notContiguous) {
		return
	}
	ms := c.t.Messages()
	kind := func(i int) transcript.Kind {
		if ms[i].First == ms[i].End {
			return transcript.Other
		}
		if k := c.t.Block(ms[i].First).Kind; k != transcript.Thinking {
			return k
		}
		return transcript.Call // reasoning belongs to the call it leads to
	}
	run := make([]int, len(ms)) // for a call, where its outputs must begin; for an output, where its run begins
	start := 0
	for i := range ms {
		if i == 0 || kind(i) != kind(i-1) {
			start = i
		}
		run[i] = start
	}
	for _, x := range c.t.Exchanges() {
		if x.State != transcript.Whole || x.Server { // only what the client answers follows in a run
			continue
		}
		call, result := c.t.Block(x.Call).Message, c.t.Block(x.Results[0]).Message
		end := call // behind the run of calls
		if from := run[result]; from > 0 && run[from-1] <= call && kind(from-1) == transcript.Call {
			end = from
		}
		if end == call {
			c.block(notContiguous, x.Results[0], "")
		}
	}
}
