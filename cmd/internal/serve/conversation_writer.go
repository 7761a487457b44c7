package serve

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/pare-llm/pare/internal/config"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/wire"
)

// A sessionKeeper stores exchanges as sessions; a store is one.
type sessionKeeper interface {
	Remember(ctx context.Context, all ...store.RecordedExchange) error
	Forget(ctx context.Context, before time.Time, most int64) (int, error)
}

// A conversationWriter writes recorded exchanges to the store in the background. A slow or failed
// store loses conversations, but delays no request. The next request of a conversation contains
// its history again, except for the reply in between.
type conversationWriter struct {
	store        sessionKeeper
	watches      *scopeWatches
	queue        chan *proxy.RecordedExchange
	pendingBytes atomic.Int64 // bytes that wait for the store
	// lifetime is how long conversations are kept, maxBytes how many bytes of them.
	lifetime atomic.Int64
	maxBytes atomic.Int64
}

const (
	maxPendingBytes = 64 << 20         // bytes that may wait for the store
	maxBatch        = 64               // requests that are written at once
	writeTimeout    = time.Minute      // time limit for the store; no request waits for it
	shutdownTimeout = 10 * time.Second // but for the end
	// rests is for how many times as long as it has worked the memory leaves the processor to
	// requests: a server that is busy to the full serves first, and drops what it cannot write.
	restFactor = 6
)

func newConversationWriter(to sessionKeeper, w *scopeWatches) *conversationWriter {
	return &conversationWriter{store: to, watches: w, queue: make(chan *proxy.RecordedExchange, queueLength)}
}

// configure applies the configuration; nil means the defaults.
func (m *conversationWriter) configure(on bool, c *config.Remember) {
	if c == nil {
		c = &config.Remember{}
	}
	m.lifetime.Store(int64(cmp.Or(c.Days, 30)) * int64(24*time.Hour))
	m.maxBytes.Store(int64(cmp.Or(c.MaxMegabytes, 1000)) << 20)
	m.watches.isRemembering.Store(on)
}

// hasRoom reports whether a request may wait for the store. Without room it is counted as
// dropped, and not recorded.
func (m *conversationWriter) hasRoom(r *proxy.Record) bool {
	if len(m.queue) < cap(m.queue) && m.pendingBytes.Load()+r.BytesIn <= maxPendingBytes {
		return true
	}
	m.watches.remembered(r.Scope, false)
	return false
}

// add queues an exchange. It does not block.
func (m *conversationWriter) add(p *proxy.RecordedExchange) {
	size := int64(p.Size())
	if m.pendingBytes.Add(size) <= maxPendingBytes {
		select {
		case m.queue <- p:
			return
		default: // it does not keep up
		}
	}
	m.pendingBytes.Add(-size)
	m.watches.remembered(p.Record.Scope, false)
}

// run writes until the server has ended, and then writes the rest of the queue.
func (m *conversationWriter) run(ended <-chan struct{}) {
	sweep := time.NewTicker(cleanupInterval)
	defer sweep.Stop()
	m.deleteExpired()
	for {
		select {
		case p := <-m.queue:
			began := time.Now()
			m.write(p, writeTimeout)
			if len(m.queue) == 0 {
				continue
			}
			select {
			case <-time.After(min(restFactor*time.Since(began), time.Second)):
			case <-ended:
			}
		case <-sweep.C:
			m.deleteExpired()
		case <-ended:
			for {
				select {
				case p := <-m.queue:
					m.write(p, shutdownTimeout)
				default:
					return
				}
			}
		}
	}
}

// write writes an exchange together with queued ones.
func (m *conversationWriter) write(first *proxy.RecordedExchange, most time.Duration) {
	together := []*proxy.RecordedExchange{first}
	for len(together) < maxBatch {
		select {
		case p := <-m.queue:
			together = append(together, p)
			continue
		default:
		}
		break
	}
	var all []store.RecordedExchange
	for _, p := range together {
		defer m.pendingBytes.Add(-int64(p.Size()))
		if one, ok := readPassage(p); ok {
			all = append(all, one)
		} else {
			m.watches.remembered(p.Record.Scope, false)
		}
	}
	m.storeAll(all, most)
}

// storeAll stores exchanges together, or one by one if one of them is invalid.
func (m *conversationWriter) storeAll(all []store.RecordedExchange, most time.Duration) {
	if len(all) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	err := m.store.Remember(ctx, all...)
	var bad *store.EntryError
	if errors.As(err, &bad) && len(all) > 1 {
		for i := range all {
			m.storeAll(all[i:i+1], most)
		}
		return
	}
	for _, p := range all {
		m.watches.remembered(p.Scope, err == nil)
	}
}

// readPassage converts a recorded exchange for the store.
func readPassage(p *proxy.RecordedExchange) (store.RecordedExchange, bool) {
	r, err := wire.Parse(p.Body, wire.Options{Dialect: p.Dialect, Model: p.Model})
	if err != nil {
		return store.RecordedExchange{}, false
	}
	return store.RecordedExchange{Scope: p.Record.Scope, Request: r, Reply: p.Reply(), Agent: p.Agent, Usage: p.Record.Usage}, true
}

// deleteExpired deletes old conversations.
func (m *conversationWriter) deleteExpired() {
	if !m.watches.isRemembering.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	m.store.Forget(ctx, time.Now().Add(-time.Duration(m.lifetime.Load())), m.maxBytes.Load())
}

// Remembers reports whether conversations are stored.
func (s *Server) Remembers() bool { return s.watches.isRemembering.Load() }

// Unwritten returns how many bytes of conversations wait for the store.
func (s *Server) Unwritten() int64 {
	if s.memory == nil {
		return 0
	}
	return s.memory.pendingBytes.Load()
}
