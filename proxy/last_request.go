package proxy

import (
	"sync"
	"time"

	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// A lastRequest describes the last request of a conversation that this process has seen.
type lastRequest struct {
	at time.Time // when it began
	// turns of the history
	turns int
	// ownTokens is the size by Pare's count, providerTokens by the provider's; zero if unknown.
	ownTokens, providerTokens int
}

// requestHistory holds the last requests of conversations, bounded.
type requestHistory struct {
	mu     sync.Mutex
	states lruCache[requestState]
}

// A requestState describes the last requests of a conversation.
type requestState struct {
	lastRequest
	cut           windowCut
	acceptedBytes int  // size of the last accepted body; 0: unknown
	readsCache    bool // the provider has read a part from a cache

	prefix          prefixDigest // beginning of the last request
	countedTokens   int          // provider's count of the last request
	uncachedReplies int          // consecutive replies that report no caching
	coldWasWrong    bool         // a prediction of a cold cache was wrong

	groupDecided, isSpared bool // isSpared is set; see [Record.Thrift]
	// cutResults is the number of cut results, countedTurns the last turn whose calls were
	// counted.
	cutResults, countedTurns int
}

// recordAccepted records the size of an accepted body.
func (c *Conversations) recordAccepted(key string, bytes int) {
	if c == nil || key == "" {
		return
	}
	b := &c.requestHistory
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.states.get(key); p != nil {
		p.acceptedBytes = bytes
	}
}

// acceptedBytes returns the size of the last accepted body; zero if unknown.
func (b *requestHistory) acceptedBytes(key string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.states.get(key); p != nil {
		return p.acceptedBytes
	}
	return 0
}

// replaceLast records a request and returns the previous one.
func (b *requestHistory) replaceLast(key string, now lastRequest) (before lastRequest, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.states.get(key); p != nil {
		before, p.lastRequest = p.lastRequest, now
		return before, true
	}
	b.states.add(key, requestState{lastRequest: now})
	return lastRequest{}, false
}

// recordUsage records both counts of the last request.
func (b *requestHistory) recordUsage(key string, size, used int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.states.get(key); p != nil {
		p.ownTokens, p.providerTokens = size, used
	}
}

// exceedsByUsage reports whether a request certainly exceeds a window because the previous one
// nearly did, by the provider's count. scale is the ratio of Pare's count to the provider's.
func (a *planInput) exceedsByUsage(size, window int, c wire.Counter, raw []byte) (over bool, scale float64) {
	b := a.lastRequest
	if b.providerTokens == 0 || b.ownTokens == 0 || size < b.ownTokens || b.providerTokens > window {
		return false, 0 // or the window is larger than we know
	}
	more := size - b.ownTokens
	if e, ok := c.(tokens.Estimator); ok {
		more = tokensx.Least(e, more, isNonLatin(raw))
	}
	return b.providerTokens+more > window, float64(b.ownTokens) / float64(b.providerTokens)
}
