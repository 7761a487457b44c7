package proxy

// A cut is where a stable window was trimmed last, and to what.
type cut struct{ messages, after int }

// rewritten is how many tokens the provider's cache has to take again because this request
// was cut where the one before it was not. Zero: it begins as that one did, or nobody knows.
func (x *exchange) rewritten() int {
	if x.t.Conversations == nil || x.o.key == "" || x.o.plan == nil || x.rec.Status >= 400 {
		return 0
	}
	all := x.o.plan.Batches()
	if len(all) == 0 {
		return 0
	}
	b := all[len(all)-1]
	if !x.t.Conversations.cuts(x.o.key, cut{b.Messages, b.After}) || x.o.heat.cold {
		return 0 // what has expired is written in any case
	}
	return b.Kept
}

// cuts notes where a conversation was cut, and reports whether that is new.
func (b *beats) cuts(key string, now cut) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.last.get(key)
	if p == nil {
		return false
	}
	before := p.cut
	p.cut = now
	return before != now
}
