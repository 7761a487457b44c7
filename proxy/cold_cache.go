package proxy

import (
	"hash/fnv"
	"hash/maphash"
	"slices"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/jsonedit"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A moment is cold when no cache holds what a request begins with: it has expired by the clock, the
// client has changed the beginning itself, or the provider says that it keeps nothing. Everything is
// written again then, whatever is sent. What the replies count has the last word: who was wrong once is
// not believed again.

const (
	// steady is how many requests must have begun alike before a change is believed to be one: some
	// clients have something new in front of each.
	minAlike = 3
	// linear is the same for a list that has become shorter: a client that compacts does that
	// rarely, one that goes on in several branches all the time.
	minAlikeWhenShorter = 8
	// leastKept is a size that every cache keeps, in tokens.
	minCachedTokens = 4096
)

// A beginning is what a request began with: what stands beside its messages, and the first quarter of
// these. Marks for the cache wander at the end.
type prefixDigest struct {
	head, list uint64
	messages   int // that list is of
	repeats    int // how many requests in a row began so
}

// A heat is what is known of the cache of a request.
type cacheState struct {
	isCold     bool // nothing in a cache begins as it does
	isUncached bool // the provider keeps nothing at all
	needsUsage bool // what the reply says of it matters
}

var digestSeed = maphash.MakeSeed()

// beginningOf is what a body begins with, and whether it begins as another one did.
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

// feel notes a request of a conversation, and what is known from the one before it: how large that was,
// and whether it is cold. Nobody else, such as another replica, may have sent one in between: the model
// has spoken once, or not at all.
func (a *planInput) observeCache(key string, g wire.Glance, raw []byte) {
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

// begun notes what a request begins with. Changed says that the client has changed it, doubted that it
// was taken to be cold once and was not, and none that the provider keeps nothing. More is how many
// turns longer the history is than the one before.
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

// cached notes what a reply says of the cache, and reports whether this one or an earlier one of the
// conversation says that something was read from it. Cold is what it was taken for.
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

// shortestLife is how long every cache lives: no body is searched for less.
const minCacheLifetime = 5 * time.Minute

// chills reports whether a window has rules for cold moments, and there was one.
func (a *planInput) hasColdRules(w *pare.Window) bool {
	return w.ColdRules != nil && (a.cache.isCold || len(a.learned.Cold) > 0)
}

// chill says, in the window of a policy, before which requests it was cold, this one included. A window
// that is not stable has no use for that.
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

// momentOf names a request by the number of its messages and a hash of the last one. The name of a
// request does not match the history any more once a client has compacted or changed it.
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
