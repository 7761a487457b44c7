package transcript

// calls finds the exchanges of a turn by call id: by looking at each of them
// while they are few, by hashing when they are many.
type calls struct {
	list   []ExchangeID
	idless int // how many of them carry no id
	byKey  map[namedKey]run
	byTool map[toolKey]run // built when the first guess is made among many
}

// A namedKey is a key and a tool, or anyTool: of calls with one key the name decides.
type namedKey struct {
	callKey
	tool string
}

// A toolKey groups the calls that a guess may not tell apart.
type toolKey struct {
	tool   string
	family uint8
	id     bool
}

// A run is the exchanges of one key in order; all before next are answered.
type run struct {
	list []ExchangeID
	next int
}

const fewCalls = 16

func (c *calls) reset() {
	c.list, c.idless, c.byTool = c.list[:0], 0, nil
	clear(c.byKey)
}

func (c *calls) add(t *Transcript, x ExchangeID) {
	c.list = append(c.list, x)
	if t.exchanges[x].CallID == "" {
		c.idless++
	}
	if c.byTool != nil {
		c.addTool(t, x)
	}
	if len(c.list) < fewCalls {
		return
	}
	if c.byKey == nil {
		c.byKey = make(map[namedKey]run)
	}
	from := len(c.list) - 1
	if len(c.list) == fewCalls {
		from = 0
	}
	for _, y := range c.list[from:] {
		call := &t.blocks[t.exchanges[y].Call]
		for _, tool := range []string{call.Tool, anyTool} {
			k := namedKey{call.key(), tool}
			r := c.byKey[k]
			r.list = append(r.list, y)
			c.byKey[k] = r
		}
	}
}

// find returns the last exchange of blk's key and tool or, if there is none, of its key: one
// answer too many belongs to the call that was answered last. If unanswered is set, it is the
// first that has no result yet. Where a call of its tool has such an answer, no other one is
// answered by it: with equal ids the name decides.
func (c *calls) find(t *Transcript, blk *Block, unanswered bool) ExchangeID {
	if blk.CallID == "" || len(c.list) == 0 {
		return NoExchange
	}
	if len(c.list) >= fewCalls {
		if own := (namedKey{blk.key(), blk.Tool}); blk.Tool != "" && len(c.byKey[own].list) > 0 {
			list := c.byKey[own].list
			if x := c.findMany(t, own, unanswered); x != NoExchange || t.answeredAs(list[len(list)-1], blk.Tool) {
				return x
			}
		}
		return c.findMany(t, namedKey{blk.key(), anyTool}, unanswered)
	}
	best, named, own := NoExchange, NoExchange, false
	for _, x := range c.list {
		e := &t.exchanges[x]
		if e.CallID != blk.CallID || t.blocks[e.Call].Family != blk.Family {
			continue
		}
		own = own || blk.Tool != "" && e.Tool == blk.Tool && t.answeredAs(x, blk.Tool)
		if unanswered && len(e.Results) > 0 {
			continue
		}
		if e.Tool == blk.Tool {
			if named = x; unanswered {
				break
			}
		}
		if best == NoExchange || !unanswered {
			best = x
		}
	}
	switch {
	case named != NoExchange:
		return named
	case own:
		return NoExchange
	}
	return best
}

// answeredAs reports whether the first result of x names the tool.
func (t *Transcript) answeredAs(x ExchangeID, tool string) bool {
	r := t.exchanges[x].Results
	return len(r) > 0 && t.blocks[r[0]].Tool == tool
}

// findMany is find with one look-up.
func (c *calls) findMany(t *Transcript, k namedKey, unanswered bool) ExchangeID {
	r, ok := c.byKey[k]
	if !ok {
		return NoExchange
	}
	if !unanswered {
		return r.list[len(r.list)-1]
	}
	x := r.first(t)
	c.byKey[k] = r
	return x
}

// first returns the first unanswered exchange of the run.
func (r *run) first(t *Transcript) ExchangeID {
	for r.next < len(r.list) && len(t.exchanges[r.list[r.next]].Results) > 0 {
		r.next++
	}
	if r.next == len(r.list) {
		return NoExchange
	}
	return r.list[r.next]
}

// guess returns the first unanswered exchange of blk's tool, or of any tool if
// blk names none. Two ids that differ are never guessed to be one.
func (c *calls) guess(t *Transcript, blk *Block) ExchangeID {
	if blk.CallID != "" && c.idless == 0 {
		return NoExchange
	}
	if len(c.list) >= fewCalls {
		return c.guessMany(t, blk)
	}
	best := NoExchange
	for _, x := range c.list {
		e := &t.exchanges[x]
		if len(e.Results) > 0 || t.blocks[e.Call].Family != blk.Family || blk.Tool != "" && e.Tool != "" && blk.Tool != e.Tool || blk.CallID != "" && e.CallID != "" {
			continue
		}
		if e.CallID == "" {
			return x
		}
		if best == NoExchange {
			best = x // its own result, with its id, may still come
		}
	}
	return best
}

// answered returns the last call of blk's tool, if neither carries an id: one more
// answer to it.
func (c *calls) answered(t *Transcript, blk *Block) ExchangeID {
	if blk.CallID != "" || blk.Tool == "" || c.idless == 0 {
		return NoExchange
	}
	for i := len(c.list) - 1; i >= max(0, len(c.list)-fewCalls); i-- {
		if e := &t.exchanges[c.list[i]]; e.CallID == "" && e.Tool == blk.Tool && t.blocks[e.Call].Family == blk.Family && len(e.Results) > 0 {
			return c.list[i]
		}
	}
	return NoExchange
}

const anyTool = "\x00any"

func (c *calls) addTool(t *Transcript, x ExchangeID) {
	e := &t.exchanges[x]
	for _, tool := range []string{e.Tool, anyTool} {
		k := toolKey{tool, t.blocks[e.Call].Family, e.CallID != ""}
		r := c.byTool[k]
		r.list = append(r.list, x)
		c.byTool[k] = r
	}
}

// guessMany is guess with one look-up per kind of call that may answer.
func (c *calls) guessMany(t *Transcript, blk *Block) ExchangeID {
	if c.byTool == nil {
		c.byTool = make(map[toolKey]run)
		for _, x := range c.list {
			c.addTool(t, x)
		}
	}
	best := NoExchange
	look := func(tool string, id bool) {
		if best != NoExchange && id && t.exchanges[best].CallID == "" {
			return // one without id is the better guess
		}
		k := toolKey{tool, blk.Family, id}
		r := c.byTool[k]
		if x := r.first(t); x != NoExchange && (best == NoExchange || x < best) {
			best = x
		}
		c.byTool[k] = r
	}
	for _, id := range []bool{false, true} {
		if id && blk.CallID != "" {
			continue
		}
		if blk.Tool == "" {
			look(anyTool, id)
			continue
		}
		look(blk.Tool, id)
		look("", id)
	}
	return best
}
