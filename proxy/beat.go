package proxy

import (
	"sync"
	"time"

	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// A beat is the last request of a conversation, as this process saw it.
type beat struct {
	at    time.Time // when it began
	turns int
	// size is how large it was by our count, and used by the provider's; zero: not known.
	size, used int
}

// beats are the last requests of conversations, bounded.
type beats struct {
	mu   sync.Mutex
	last recent[pulse]
}

type pulse struct {
	beat
	cut   cut
	taken int  // bytes of the last body that the provider took; zero: not known
	reads bool // the provider has read a part of it from a cache

	begins  beginning // what the last request began with
	total   int       // tokens that the provider counted of the last request
	missed  int       // replies in a row that say nothing is kept
	doubted bool      // the cache was warm when it was taken to be cold

	judged, spared bool // whether it is to be left as it is; see thrift
	cuts, counted  int  // results cut so far, and up to which turn calls were counted
}

// took notes that the provider has taken a body of so many bytes.
func (c *Conversations) took(key string, bytes int) {
	if c == nil || key == "" {
		return
	}
	b := &c.beats
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.last.get(key); p != nil {
		p.taken = bytes
	}
}

// taken is how many bytes the provider took last; zero: not known.
func (b *beats) taken(key string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.last.get(key); p != nil {
		return p.taken
	}
	return 0
}

// swap notes a request and returns the one before it.
func (b *beats) swap(key string, now beat) (before beat, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.last.get(key); p != nil {
		before, p.beat = p.beat, now
		return before, true
	}
	b.last.add(key, pulse{beat: now})
	return beat{}, false
}

// counted notes what the provider has counted of the last request.
func (b *beats) counted(key string, size, used int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.last.get(key); p != nil {
		p.size, p.used = size, used
	}
}

// overByUsage reports whether a request is surely larger than a window, because the one
// before it nearly was, as the provider has counted; and how much of our count that is.
func (a *aim) overByUsage(size, window int, c wire.Counter, raw []byte) (over bool, scale float64) {
	b := a.before
	if b.used == 0 || b.size == 0 || size < b.size || b.used > window {
		return false, 0 // or the window is larger than we know
	}
	more := size - b.size
	if e, ok := c.(tokens.Estimator); ok {
		more = tokensx.Least(e, more, foreign(raw))
	}
	return b.used+more > window, float64(b.size) / float64(b.used)
}
