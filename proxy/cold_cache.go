package proxy

import (
	"hash/fnv"
	"hash/maphash"
	"slices"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/jsonedit"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A prompt cache is cold when the provider has no cached prefix for a request, so that trimming
// costs nothing. The proxy predicts a cold cache from three signs: a pause longer than the cache
// lifetime, a changed beginning, and replies that report no caching. It compares the prediction with
// the usage of the reply, and stops predicting after a wrong one.

const (
	// minAlike is how many requests must have begun alike before a difference counts as a change:
	// some clients begin each request with something new.
	minAlike = 3
	// minAlikeWhenShorter is the same for a history that has become shorter. A client that
	// compacts does so rarely; a client with several branches does so all the time.
	minAlikeWhenShorter = 8
	// minCachedTokens is a size that every provider caches.
	minCachedTokens = 4096
)

// A prefixDigest identifies the beginning of a request: system prompt and tools, and the first
// quarter of the messages. Cache markers move near the end only.
type prefixDigest struct {
	head, list uint64
	messages   int // number of messages in list
	repeats    int // number of consecutive requests with this beginning
}

// A cacheState is the prediction for the provider's cache.
type cacheState struct {
	isCold     bool // no cache has a prefix of the request
	isUncached bool // the provider caches nothing
	needsUsage bool // the usage of the reply is compared with the prediction
}

var digestSeed = maphash.MakeSeed()

// digestPrefix returns the digest of a body's beginning, and whether the previous beginning is
// still there.
func digestPrefix(raw []byte, d wire.Dialect, was prefixDigest) (now prefixDigest, same bool) {
	var head []byte
	for name, value := range jsonedit.All(raw) {
		switch name {
		case "tools", "system", "instructions", "systemInstruction", "system_instruction", "toolConfig":
			head = append(append(head, name...), value...)
		}
	}
	all := jsonedit.Elements(raw, d.List())
	n := len(all) / 4
	now = prefixDigest{head: digest(head), list: digest(all[:n]...), messages: n}
	return now, now.head == was.head && len(all) >= was.messages && digest(all[:was.messages]...) == was.list
}

func digest(parts ...[]byte) uint64 {
	var h maphash.Hash
	h.SetSeed(digestSeed)
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum64()
}

// observeCache records a request of a conversation and modifies a: it sets the previous request
// and the predicted state of the cache. A pause counts only if the history grew by one reply or
// not at all, because another replica may have sent requests in between otherwise.
func (a *planInput) observeCache(key string, g dialect.Overview, raw []byte) {
	if key == "" || a.isCountOnly {
		return
	}
	if a.retryOf != nil {
		a.acceptedBytes = a.conversations.acceptedBytes(key)
		return
	}
	now := a.conversations.now()
	before, ok := a.conversations.replaceLast(key, lastRequest{at: now, turns: g.Turns})
	changed, doubted := false, false
	if w := a.policy.Window; w != nil && (w.ColdRules != nil || w.Cache != nil || w.ModelCache) {
		a.cache.needsUsage = true
		changed, doubted, a.cache.isUncached = a.conversations.comparePrefix(key, raw, g.Dialect, g.Turns-before.turns)
	}
	if !ok {
		return
	}
	a.lastRequest = before
	pause, more := now.Sub(before.at), g.Turns-before.turns
	if pause > minCacheLifetime && (more == 0 || more == 2) {
		a.cache.isCold = pause > tokensx.Life(g.Profile.Model, raw)
	}
	a.cache.isCold = (a.cache.isCold || changed) && !doubted || a.cache.isUncached
}

// comparePrefix records the beginning of a request. changed means that the client changed the
// beginning, doubted that an earlier prediction was wrong, and none that the provider caches
// nothing. more is the number of turns since the previous request.
func (b *requestHistory) comparePrefix(key string, raw []byte, d wire.Dialect, more int) (changed, doubted, none bool) {
	b.mu.Lock()
	p := b.states.get(key)
	if p == nil {
		b.mu.Unlock()
		return false, false, false
	}
	was, doubted, none := p.prefix, p.coldWasWrong, p.uncachedReplies >= 2
	b.mu.Unlock()
	now, same := digestPrefix(raw, d, was)
	if same {
		now.repeats = was.repeats + 1
	}
	b.mu.Lock()
	if p = b.states.get(key); p != nil {
		p.prefix = now
	}
	b.mu.Unlock()
	switch {
	case same:
	case more == 0 || more == 2:
		changed = was.repeats >= minAlike
	case more < 0: // compacted, if little is left of it
		changed = was.repeats >= minAlikeWhenShorter && now.messages < was.messages/2
	}
	return changed, doubted, none
}

// recordCacheUse compares a reply's usage with the prediction. It reports whether the provider
// has read any part of this conversation from a cache, in this reply or an earlier one.
func (c *Conversations) recordCacheUse(key string, u tokens.Usage, cold bool) bool {
	if c == nil || key == "" {
		return u.Read > 0
	}
	b := &c.requestHistory
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.states.get(key)
	if p == nil {
		return u.Read > 0
	}
	if cold && p.countedTokens > 0 && u.Read >= p.countedTokens*9/10 { // nearly all of the request before
		p.coldWasWrong = true
	}
	switch {
	case u.Read+u.Written > 0:
		p.uncachedReplies = 0
	case u.Input >= minCachedTokens:
		p.uncachedReplies++
	}
	p.countedTokens = u.Input + u.Read + u.Written
	p.readsCache = p.readsCache || u.Read > 0
	return p.readsCache
}

// minCacheLifetime is the lifetime of every cache. Shorter pauses need no lookup.
const minCacheLifetime = 5 * time.Minute

// hasColdRules reports whether a window has rules for cold requests and the conversation has had
// one.
func (a *planInput) hasColdRules(w *pare.Window) bool {
	return w.ColdRules != nil && (a.cache.isCold || len(a.learned.Cold) > 0)
}

// coldRequests modifies the window of a policy: it lists the requests whose cache was cold,
// including this one. It returns the ids to learn. Only stable windows use them.
func (a *planInput) coldRequests(r *wire.Request, p *pare.Policy) (taught []int64) {
	if a.conversations == nil || p.Window == nil || p.Window.Low+p.Window.LowPercent == 0 {
		return nil
	}
	if !a.cache.isCold && len(a.learned.Cold) == 0 && p.Window.Cache == nil && !p.Window.ModelCache {
		return nil // it is trimmed when it must be, and never was cold
	}
	t := r.Transcript()
	n := len(t.Messages())
	cold := []int{} // not nil: there is a clock
	last := 0
	for _, m := range a.learned.Cold {
		if end := int(m >> 32); end <= n && end > 0 && m == coldRequestID(t, end) {
			cold, last = append(cold, end), end
		}
	}
	ends := planner.RequestEnds(t)
	seen, _ := slices.BinarySearch(ends, last+1)
	// Where nothing is kept every request is free, but looking at all of them at each is not.
	if a.cache.isCold && last < n && (!a.cache.isUncached || len(ends)-seen >= max(len(ends)/8, 4)) {
		taught = []int64{coldRequestID(t, n)}
		if len(cold) < maxCold {
			cold = append(cold, n)
		}
	}
	w := *p.Window
	w.Cold = cold
	p.Window = &w
	return taught
}

// coldRequestID identifies a request by the number of its messages (upper half) and a hash of the
// last one. The id no longer matches after the client has compacted or edited the history.
func coldRequestID(t *transcript.Transcript, end int) int64 {
	h := fnv.New32a()
	if end > 0 {
		m := t.Messages()[end-1]
		for b := m.First; b < m.End; b++ {
			blk := t.Block(b)
			if blk.CallID != "" {
				h.Reset()
				h.Write([]byte(blk.CallID))
				break
			}
			if b == m.First {
				h.Write([]byte{byte(blk.Kind)})
				if blk.Body != blk.Span { // a text, and not an object to which marks come and go
					h.Write(t.Bytes(blk.Body))
				}
			}
		}
	}
	return int64(end)<<32 | int64(h.Sum32())
}
