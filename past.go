package pare

import (
	"sync"

	"github.com/pare-llm/pare/internal/ladder"
)

// A Past remembers what was worked out for one request of a conversation: what its blocks
// cost, and what a stable window did. The next request, which begins with the same
// messages, then takes as long as what is new in it. It changes nothing but time: a request
// of which it knows nothing is worked out from its own bytes. A Past belongs to one
// conversation and to one window, with its counter and rules. The zero value is ready. Many
// goroutines may use one.
type Past struct {
	mu sync.Mutex
	m  ladder.Memory
}

func (p *Past) take() *ladder.Memory {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.m
	return &m
}

func (p *Past) put(m *ladder.Memory) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.m = *m
}
