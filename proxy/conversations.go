package proxy

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/wire"
)

// A Learned is what the answers of a provider have taught about a conversation. Later
// requests of it are planned with that from the start. The zero value teaches nothing.
// Many goroutines may read it.
type Learned struct {
	// Rules are those whose refusal was healed, sorted.
	Rules []string `json:"rules,omitempty"`
	// Profile is the vendor whose rules healed it; "": that of the request.
	Profile string `json:"profile,omitempty"`
	// Strict says that the rules of all vendors healed it.
	Strict bool `json:"strict,omitempty"`
	// Thinking is of how many messages, at the beginning, no thinking is sent.
	Thinking int `json:"thinking,omitempty"`
	// Limit is how many tokens the provider takes, as they are counted here.
	Limit int `json:"limit,omitempty"`
	// Messages is how many messages it takes.
	Messages int `json:"messages,omitempty"`
	// Bytes is how many bytes of content it takes, as they are counted here.
	Bytes int `json:"bytes,omitempty"`
	// Drop says that the provider is told to drop thinking that is bound to something else.
	// Once it is, it must be at every later request.
	Drop bool `json:"drop,omitempty"`
	// Clear is above how many tokens, as it counts, the provider clears old results by itself,
	// and ClearThinking that it clears old thinking, too; Short that this was not enough.
	Clear         int  `json:"clear,omitempty"`
	ClearThinking bool `json:"clear_thinking,omitempty"`
	Short         bool `json:"short,omitempty"`
	// Cold lists the requests before which no cache held the conversation: the upper half of each is the
	// number of its messages, the lower half a hash of the last of them.
	Cold []int64 `json:"cold,omitempty"`
	// Own says that the provider has refused to do anything by itself.
	Own bool `json:"own,omitempty"`
}

// empty reports whether there is nothing to heed.
func (l Learned) empty() bool {
	return len(l.Rules) == 0 && l.Limit == 0 && l.Messages == 0 && l.Bytes == 0 && !l.Drop && !l.Own && l.Clear == 0 && !l.Short && len(l.Cold) == 0
}

// join returns what two lessons teach together. The order does not matter, and joining the
// same again changes nothing, so replicas that hear of each other's lessons end up with the
// same one.
func (l Learned) join(m Learned) Learned {
	rules, cold := slices.Concat(l.Rules, m.Rules), slices.Concat(l.Cold, m.Cold)
	slices.Sort(rules)
	slices.Sort(cold)
	cold = slices.Compact(cold)
	return Learned{
		Rules: slices.Compact(rules), Profile: max(l.Profile, m.Profile), Thinking: max(l.Thinking, m.Thinking),
		Limit: minNonZero(l.Limit, m.Limit), Messages: minNonZero(l.Messages, m.Messages), Bytes: minNonZero(l.Bytes, m.Bytes),
		Strict: l.Strict || m.Strict || l.Profile != m.Profile && l.Profile != "" && m.Profile != "",
		Drop:   l.Drop || m.Drop, Own: l.Own || m.Own,
		Clear: max(l.Clear, m.Clear), ClearThinking: l.ClearThinking || m.ClearThinking, Short: l.Short || m.Short,
		Cold: cold[:min(len(cold), maxCold)],
	}
}

// maxCold is how many cold moments of a conversation are used: the first ones, so that what
// was decided stays decided.
const maxCold = 100

// least0 is the lesser of two limits, of which zero is none.
func minNonZero(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

func (l Learned) equal(m Learned) bool {
	return slices.Equal(l.Rules, m.Rules) && l.Profile == m.Profile && l.Strict == m.Strict && l.Thinking == m.Thinking && l.Limit == m.Limit && l.Messages == m.Messages && l.Bytes == m.Bytes &&
		l.Drop == m.Drop && l.Own == m.Own && l.Clear == m.Clear && l.ClearThinking == m.ClearThinking && l.Short == m.Short && slices.Equal(l.Cold, m.Cold)
}

// A LearnedStore keeps lessons beyond a process. Many goroutines may use one.
type LearnedStore interface {
	// Put keeps a lesson, joined to what is kept of the same name. It must not wait: a
	// request does.
	Put(key string, l Learned)
}

// Conversations is what is known of conversations: what their providers have taught, and
// when the last request was sent. It is bounded, and forgets. Many goroutines may use it.
type Conversations struct {
	options ConversationsOptions
	mu      sync.Mutex
	all     lruCache[conversation]
	// failed is the last panic of the store; nil: none that nobody has named.
	failed atomic.Pointer[pare.FaultError]
	requestHistory
	fills     fullnessStates
	refetches refetchCounts
}

// ConversationsOptions says how much is remembered. The zero value is right. Many
// goroutines may read it.
type ConversationsOptions struct {
	// Most is how many conversations are known. Zero: 10,000.
	Most int
	// Life is how long one is remembered that nobody goes on with. Zero: a week.
	Life time.Duration
	// Store gets everything that is learned. Nil: they end with the process.
	Store LearnedStore
	// Now tells the time. Nil: time.Now.
	Now func() time.Time
}

// A remembered is one conversation.
type conversation struct {
	learned Learned
	at      time.Time // of its last use
	stored  time.Time // when it was stored last
}

// mostKnown is how many conversations are known if nobody says how many.
const maxConversations = 10_000

// weekLong is how long one is remembered if nobody says how long.
const conversationLifetime = 7 * 24 * time.Hour

// now and life are what the options say, also those of the zero value.
func (c *Conversations) now() time.Time {
	if c.options.Now == nil {
		return time.Now()
	}
	return c.options.Now()
}

func (c *Conversations) life() time.Duration { return cmp.Or(c.options.Life, conversationLifetime) }

// NewConversations returns what is known of nothing yet.
func NewConversations(o ConversationsOptions) *Conversations {
	o.Most = cmp.Or(o.Most, maxConversations)
	return &Conversations{options: o, all: newLRUCache[conversation](o.Most), requestHistory: requestHistory{states: newLRUCache[requestState](o.Most)}, fills: fullnessStates{all: newLRUCache[fullnessState](o.Most)}}
}

// learned returns what is known of a conversation.
func (c *Conversations) learned(key string) Learned {
	if c == nil || key == "" {
		return Learned{}
	}
	c.mu.Lock()
	r := c.lookup(key)
	if r == nil {
		c.mu.Unlock()
		return Learned{}
	}
	now := c.now()
	r.at = now
	l := r.learned
	// What is used is not to be forgotten elsewhere.
	again := c.options.Store != nil && !l.empty() && now.Sub(r.stored) > c.life()/4
	if again {
		r.stored = now
	}
	c.mu.Unlock()
	if again {
		c.storeLearned(key, l)
	}
	return l
}

// learn adds to what is known of a conversation, and tells the store.
func (c *Conversations) learn(key string, l Learned) {
	if c == nil || key == "" || l.empty() {
		return
	}
	if joined, news := c.join(key, l, true); news && c.options.Store != nil {
		c.storeLearned(key, joined)
	}
}

// put tells the store. If that panics, the lesson is known here all the same.
func (c *Conversations) storeLearned(key string, l Learned) {
	if f := guard("callback Store.Put", func() { c.options.Store.Put(key, l) }); f != nil {
		c.failed.Store(f)
	}
}

// fault is what is to be named by whoever asks first; nil: nothing.
func (c *Conversations) takeFault() *pare.FaultError {
	if c == nil || c.failed.Load() == nil {
		return nil
	}
	return c.failed.Swap(nil)
}

// Observe adds what others have learned, and put into the store.
func (c *Conversations) Observe(key string, l Learned) { c.join(key, l, false) }

// size is how many conversations are known.
func (c *Conversations) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.all.entries)
}

func (c *Conversations) join(key string, l Learned, own bool) (joined Learned, news bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.lookup(key)
	if r == nil {
		r = c.all.add(key, conversation{at: c.now()})
	}
	joined = r.learned.join(l)
	news = !joined.equal(r.learned)
	r.learned = joined
	if news && own {
		r.stored = c.now()
	}
	return joined, news
}

// find returns a conversation that is not to be forgotten yet, or nil.
func (c *Conversations) lookup(key string) *conversation {
	r := c.all.get(key)
	if r != nil && c.now().Sub(r.at) > c.life() {
		c.all.remove(key)
		return nil
	}
	return r
}

type scopeKey struct{}

// scopeOf returns the scope of a request; see [WithScope].
func scopeOf(ctx context.Context) string {
	scope, _ := ctx.Value(scopeKey{}).(string)
	return scope
}

// WithScope says whose request it is: what is known of the conversations of one is not
// known of those of another.
func WithScope(ctx context.Context, scope string) context.Context {
	return context.WithValue(ctx, scopeKey{}, scope)
}

// keyOf is the name of a conversation: whose it is, where it goes, and how it begins. ""
// means that it has not begun.
func conversationKey(ctx context.Context, upstream string, g wire.Glance) string {
	if g.Fingerprint == ([16]byte{}) {
		return ""
	}
	b := make([]byte, 0, 128)
	for _, part := range []string{scopeOf(ctx), upstream, g.Dialect.String(), g.Profile.Model} {
		b = append(append(b, part...), 0)
	}
	sum := sha256.Sum256(append(b, g.Fingerprint[:]...))
	return hex.EncodeToString(sum[:16])
}
