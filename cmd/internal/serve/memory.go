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

// A sessionKeeper keeps what passes as sessions; a store is one.
type sessionKeeper interface {
	Remember(ctx context.Context, all ...store.RecordedExchange) error
	Forget(ctx context.Context, before time.Time, most int64) (int, error)
}

// memory writes conversations to the store, behind the requests: a store that is slow, or down,
// costs conversations and no request. What is dropped of one is made up for by its next request,
// which has the history once more, all but the reply in between.
type memory struct {
	to      sessionKeeper
	watches *watches
	queue   chan *proxy.RecordedExchange
	held    atomic.Int64 // bytes that wait
	// How long conversations are kept, and how many bytes of them.
	life atomic.Int64
	most atomic.Int64
}

const (
	maxHeld     = 64 << 20         // bytes that may wait for the store
	maxTogether = 64               // requests that are written at once
	memoryTime  = time.Minute      // how long the store may take: nobody waits for it,
	lastTime    = 10 * time.Second // but for the end
	// rests is for how many times as long as it has worked the memory leaves the processor to
	// requests: a server that is busy to the full serves first, and drops what it cannot write.
	rests = 6
)

func newMemory(to sessionKeeper, w *watches) *memory {
	return &memory{to: to, watches: w, queue: make(chan *proxy.RecordedExchange, waiting)}
}

// set takes over what the configuration says; nil: what is usual.
func (m *memory) set(on bool, c *config.Remember) {
	if c == nil {
		c = &config.Remember{}
	}
	m.life.Store(int64(cmp.Or(c.Days, 30)) * int64(24*time.Hour))
	m.most.Store(int64(cmp.Or(c.MaxMegabytes, 1000)) << 20)
	m.watches.remembers.Store(on)
}

// hasRoom reports whether a request may wait for the store, so that what would be dropped is not
// collected first.
func (m *memory) hasRoom(r *proxy.Record) bool {
	if len(m.queue) < cap(m.queue) && m.held.Load()+r.BytesIn <= maxHeld {
		return true
	}
	m.watches.remembered(r.Scope, false)
	return false
}

// add takes a request that has passed. It does not wait.
func (m *memory) add(p *proxy.RecordedExchange) {
	size := int64(p.Size())
	if m.held.Add(size) <= maxHeld {
		select {
		case m.queue <- p:
			return
		default: // it does not keep up
		}
	}
	m.held.Add(-size)
	m.watches.remembered(p.Record.Scope, false)
}

// run writes until the server has ended, and then what is left.
func (m *memory) run(ended <-chan struct{}) {
	sweep := time.NewTicker(sweeps)
	defer sweep.Stop()
	m.forget()
	for {
		select {
		case p := <-m.queue:
			began := time.Now()
			m.write(p, memoryTime)
			if len(m.queue) == 0 {
				continue
			}
			select {
			case <-time.After(min(rests*time.Since(began), time.Second)):
			case <-ended:
			}
		case <-sweep.C:
			m.forget()
		case <-ended:
			for {
				select {
				case p := <-m.queue:
					m.write(p, lastTime)
				default:
					return
				}
			}
		}
	}
}

// write writes a request, and those that wait behind it.
func (m *memory) write(first *proxy.RecordedExchange, most time.Duration) {
	together := []*proxy.RecordedExchange{first}
	for len(together) < maxTogether {
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
		defer m.held.Add(-int64(p.Size()))
		if one, ok := readPassage(p); ok {
			all = append(all, one)
		} else {
			m.watches.remembered(p.Record.Scope, false)
		}
	}
	m.keep(all, most)
}

// keep writes requests together, or one by one if one of them cannot be kept.
func (m *memory) keep(all []store.RecordedExchange, most time.Duration) {
	if len(all) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	err := m.to.Remember(ctx, all...)
	var bad *store.EntryError
	if errors.As(err, &bad) && len(all) > 1 {
		for i := range all {
			m.keep(all[i:i+1], most)
		}
		return
	}
	for _, p := range all {
		m.watches.remembered(p.Scope, err == nil)
	}
}

// readPassage makes what the store keeps of what has passed.
func readPassage(p *proxy.RecordedExchange) (store.RecordedExchange, bool) {
	r, err := wire.Parse(p.Body, wire.Options{Dialect: p.Dialect, Model: p.Model})
	if err != nil {
		return store.RecordedExchange{}, false
	}
	return store.RecordedExchange{Scope: p.Record.Scope, Request: r, Reply: p.Reply(), Agent: p.Agent, Usage: p.Record.Usage}, true
}

// forget lets go of old conversations.
func (m *memory) forget() {
	if !m.watches.remembers.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	m.to.Forget(ctx, time.Now().Add(-time.Duration(m.life.Load())), m.most.Load())
}

// Remembers reports whether conversations are kept in the store.
func (s *Server) Remembers() bool { return s.watches.remembers.Load() }

// Unwritten is how many bytes of conversations wait for the store.
func (s *Server) Unwritten() int64 {
	if s.memory == nil {
		return 0
	}
	return s.memory.held.Load()
}
