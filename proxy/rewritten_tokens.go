package proxy

// A windowCut is the position of the last trim in a stable window, and the size that remained.
type windowCut struct{ messages, tokens int }

// rewrittenTokens returns the number of tokens that the provider must write to its cache again,
// because this request was cut at a new position. Zero means that the request begins like the
// previous one, or that the answer is unknown.
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
		return 0 // an expired cache is written in any case
	}
	return b.Kept
}

// recordCut records the position of a cut and reports whether it is new.
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
