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
	"github.com/pare-llm/pare/internal/dialect"
)

// Learned is the knowledge from replies of a provider about a conversation. Later requests are
// planned with it. The zero value teaches nothing.
type Learned struct {
	// Rules are the rules whose refusals were avoided by a retry, sorted.
	Rules []string `json:"rules,omitempty"`
	// Profile is the vendor whose rules helped. "" means the profile of the request.
	Profile string `json:"profile,omitempty"`
	// Strict means that the rules of all vendors helped.
	Strict bool `json:"strict,omitempty"`
	// Thinking is the number of messages, from the beginning, that are sent without thinking.
	Thinking int `json:"thinking,omitempty"`
	// Limit is the provider's limit in tokens, as Pare counts them.
	Limit int `json:"limit,omitempty"`
	// Messages is the provider's limit of messages.
	Messages int `json:"messages,omitempty"`
	// Bytes is the provider's limit in bytes of content, as Pare counts them.
	Bytes int `json:"bytes,omitempty"`
	// Drop tells the provider to drop invalid thinking. Once set, it is needed in all later
	// requests.
	Drop bool `json:"drop,omitempty"`
	// Clear is the number of tokens above which the provider clears old results. ClearThinking
	// clears old thinking, too. Short means that clearing was not sufficient.
	Clear         int  `json:"clear,omitempty"`
	ClearThinking bool `json:"clear_thinking,omitempty"`
	Short         bool `json:"short,omitempty"`
	// Cold lists the requests whose cache was cold: the number of messages in the upper half, a
	// hash of the last message in the lower half.
	Cold []int64 `json:"cold,omitempty"`
	// Own means that the provider refused to edit histories.
	Own bool `json:"own,omitempty"`
}

// empty reports whether there is nothing to apply.
func (l Learned) empty() bool {
	return len(l.Rules) == 0 && l.Limit == 0 && l.Messages == 0 && l.Bytes == 0 && !l.Drop && !l.Own && l.Clear == 0 && !l.Short && len(l.Cold) == 0
}

// join merges two values. It is commutative, associative and idempotent, so that replicas that
// exchange values converge.
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

// maxCold is the number of cold requests of a conversation that are used. The first ones are
// kept, so that earlier decisions do not change.
const maxCold = 100

// minNonZero returns the smaller of two limits; zero means no limit.
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

// A LearnedStore keeps learned values beyond this process.
type LearnedStore interface {
	// Put merges a value into the stored value of the same key. It must not block, because a
	// request waits for it.
	Put(key string, l Learned)
}

// Conversations is the state of conversations: learned values, and their last
// requests. It is bounded.
type Conversations struct {
	options ConversationsOptions
	mu      sync.Mutex
	all     lruCache[conversation]
	// failed is the last panic of the store that was not reported yet, or nil.
	failed atomic.Pointer[pare.FaultError]
	requestHistory
	fills     fullnessStates
	refetches refetchCounts
}

// ConversationsOptions limit the remembered state. The zero value has useful defaults.
type ConversationsOptions struct {
	// Most is the number of conversations. Zero means 10,000.
	Most int
	// Life is how long an unused conversation is remembered. Zero means a week.
	Life time.Duration
	// Store receives everything that is learned. Nil keeps it in this process only.
	Store LearnedStore
	// Now returns the time. Nil means time.Now.
	Now func() time.Time
}

// A conversation is the remembered state of one conversation.
type conversation struct {
	learned Learned
	at      time.Time // the last use
	stored  time.Time // when it was last written to the store
}

// maxConversations is the default of Most.
const maxConversations = 10_000

// conversationLifetime is the default of Life.
const conversationLifetime = 7 * 24 * time.Hour

// now returns the time.
func (c *Conversations) now() time.Time {
	if c.options.Now == nil {
		return time.Now()
	}
	return c.options.Now()
}

func (c *Conversations) life() time.Duration { return cmp.Or(c.options.Life, conversationLifetime) }

// NewConversations returns an empty state.
func NewConversations(o ConversationsOptions) *Conversations {
	o.Most = cmp.Or(o.Most, maxConversations)
	return &Conversations{options: o, all: newLRUCache[conversation](o.Most), requestHistory: requestHistory{states: newLRUCache[requestState](o.Most)}, fills: fullnessStates{all: newLRUCache[fullnessState](o.Most)}}
}

// learned returns the knowledge about a conversation. It refreshes the stored value from time to
// time, so that used values do not expire.
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

// learn adds knowledge about a conversation and writes it to the store.
func (c *Conversations) learn(key string, l Learned) {
	if c == nil || key == "" || l.empty() {
		return
	}
	if joined, news := c.join(key, l, true); news && c.options.Store != nil {
		c.storeLearned(key, joined)
	}
}

// storeLearned writes to the store. If the store panics, the knowledge stays in this process.
func (c *Conversations) storeLearned(key string, l Learned) {
	if f := guard("callback Store.Put", func() { c.options.Store.Put(key, l) }); f != nil {
		c.failed.Store(f)
	}
}

// takeFault returns and clears the last panic of the store.
func (c *Conversations) takeFault() *pare.FaultError {
	if c == nil || c.failed.Load() == nil {
		return nil
	}
	return c.failed.Swap(nil)
}

// Observe adds a value that another replica has learned and stored.
func (c *Conversations) Observe(key string, l Learned) { c.join(key, l, false) }

// size returns the number of conversations.
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

// lookup returns a conversation that has not expired, or nil.
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

// WithScope returns a context whose requests belong to a scope. Scopes do not share
// knowledge about conversations.
func WithScope(ctx context.Context, scope string) context.Context {
	return context.WithValue(ctx, scopeKey{}, scope)
}

// conversationKey identifies a conversation by scope, upstream and beginning. It is "" for a
// request without messages of the model.
func conversationKey(ctx context.Context, upstream string, g dialect.Overview) string {
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
