package proxy

import (
	"bytes"
	"sync"
	"time"

	"github.com/pare-llm/pare"
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

	judged, spared bool // whether it is to be left as it is; see thrift
	cuts, counted  int  // results cut so far, and up to which turn calls were counted
}

// cached notes whether a reply reports that something was read from a cache, and reports
// whether this one or an earlier one of the conversation does.
func (c *Conversations) cached(key string, now bool) bool {
	if c == nil || key == "" {
		return now
	}
	b := &c.beats
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.last.get(key)
	if p == nil {
		return now
	}
	p.reads = p.reads || now
	return p.reads
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

// feel notes a request of a conversation, and what is known from the one before it: how
// large that was, and whether the cache has expired since. It has if nobody else, such as
// another replica, can have sent one in between: the model has spoken once, or not at all.
func (a *aim) feel(key string, g wire.Glance, raw []byte) {
	if key == "" || a.unfitted {
		return
	}
	if a.heal != nil {
		a.accepted = a.conversations.taken(key)
		return
	}
	now := a.conversations.now()
	before, ok := a.conversations.swap(key, beat{at: now, turns: g.Turns})
	if !ok {
		return
	}
	a.before = before
	pause, more := now.Sub(before.at), g.Turns-before.turns
	if pause > shortestLife && (more == 0 || more == 2) {
		a.cold = pause > lifeOf(g.Profile.Model, raw)
	}
}

// shortestLife is how long every cache lives: no body is searched for less.
const shortestLife = 5 * time.Minute

// lifeOf is how long the cache of a request lives: what its marks say, or what the model's
// provider does.
func lifeOf(model string, raw []byte) time.Duration {
	if bytes.Contains(raw, []byte(`"ttl":"1h"`)) || bytes.Contains(raw, []byte(`"ttl": "1h"`)) {
		return time.Hour
	}
	return tokens.CacheOf(model).Life
}

// chills reports whether a window has rules for cold moments, and there was one.
func (a *aim) chills(w *pare.Window) bool {
	return w.ColdRules != nil && (a.cold || len(a.known.Cold) > 0)
}

// chill says, in the window of a policy, before which requests the cache had expired, this
// one included. A window that is not stable has no use for that.
func (a *aim) chill(r *wire.Request, p *pare.Policy) (taught []int) {
	if a.conversations == nil || p.Window == nil || p.Window.Low+p.Window.LowPercent == 0 {
		return nil
	}
	l := Learned{Cold: a.known.Cold}
	if a.cold {
		taught = []int{parex.Requests(r)}
		l = l.join(Learned{Cold: taught})
	}
	if len(l.Cold) == 0 && p.Window.Cache == nil && !p.Window.ModelCache {
		return nil // it is trimmed when it must be, and never was cold
	}
	w := *p.Window
	w.Cold = append([]int{}, l.Cold...) // not nil: there is a clock
	p.Window = &w
	return taught
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
