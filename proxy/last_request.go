package proxy

import (
	"sync"
	"time"

	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// A beat is the last request of a conversation, as this process saw it.
type lastRequest struct {
	at    time.Time // when it began
	turns int
	// size is how large it was by our count, and used by the provider's; zero: not known.
	ownTokens, providerTokens int
}

// beats are the last requests of conversations, bounded.
type requestHistory struct {
	mu     sync.Mutex
	states lruCache[requestState]
}

type requestState struct {
	lastRequest
	cut           windowCut
	acceptedBytes int  // bytes of the last body that the provider took; zero: not known
	readsCache    bool // the provider has read a part of it from a cache

	prefix          prefixDigest // what the last request began with
	countedTokens   int          // tokens that the provider counted of the last request
	uncachedReplies int          // replies in a row that say nothing is kept
	coldWasWrong    bool         // the cache was warm when it was taken to be cold

	groupDecided, isSpared   bool // whether it is to be left as it is; see thrift
	cutResults, countedTurns int  // results cut so far, and up to which turn calls were counted
}

// took notes that the provider has taken a body of so many bytes.
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

// taken is how many bytes the provider took last; zero: not known.
func (b *requestHistory) acceptedBytes(key string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.states.get(key); p != nil {
		return p.acceptedBytes
	}
	return 0
}

// swap notes a request and returns the one before it.
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

// counted notes what the provider has counted of the last request.
func (b *requestHistory) recordUsage(key string, size, used int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.states.get(key); p != nil {
		p.ownTokens, p.providerTokens = size, used
	}
}

// overByUsage reports whether a request is surely larger than a window, because the one
// before it nearly was, as the provider has counted; and how much of our count that is.
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
