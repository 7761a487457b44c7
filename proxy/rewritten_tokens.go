package proxy

// A cut is where a stable window was trimmed last, and to what.
type windowCut struct{ messages, tokens int }

// rewritten is how many tokens the provider's cache has to take again because this request
// was cut where the one before it was not. Zero: it begins as that one did, or nobody knows.
func (x *exchange) rewrittenTokens() int {
	if x.transport.Conversations == nil || x.result.conversationKey == "" || x.result.plan == nil || x.record.Status >= 400 {
		return 0
	}
	all := x.result.plan.Batches()
	if len(all) == 0 {
		return 0
	}
	b := all[len(all)-1]
	if !x.transport.Conversations.recordCut(x.result.conversationKey, windowCut{b.Messages, b.After}) || x.result.cache.isCold {
		return 0 // what has expired is written in any case
	}
	return b.Kept
}

// cuts notes where a conversation was cut, and reports whether that is new.
func (b *requestHistory) recordCut(key string, now windowCut) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.states.get(key)
	if p == nil {
		return false
	}
	before := p.cut
	p.cut = now
	return before != now
}
