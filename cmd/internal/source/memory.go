package source

import (
	"runtime/debug"
	"sync"
)

// Memory sets the garbage collector of the process to what is at work. A process has one,
// as it has one collector; many goroutines may use it.
type Memory struct {
	mu    sync.Mutex
	huge  int // how many huge transcripts are at work
	many  int // how many runs over many small ones
	usual int // the setting beside all that
}

const (
	hugeSize = 32 << 20
	frugal   = 5
	roomy    = 400
)

// Frugal keeps the index of a huge transcript from taking as much memory again: beside a
// buffer of hundreds of megabytes the collector would see no reason to run. It returns
// what ends that.
func (m *Memory) Frugal(size int) (done func()) {
	if size < hugeSize {
		return func() {}
	}
	return m.while(&m.huge)
}

// Roomy lets some more garbage pile up while many small files are read: the collector
// would run for every few of them. It returns what ends that, which must be called after
// the last of them.
func (m *Memory) Roomy(many bool) (done func()) {
	if !many {
		return func() {}
	}
	return m.while(&m.many)
}

// while counts work of a kind until done is called. The setting follows from what is at
// work, in whatever order that begins and ends: nobody restores what another one had set.
func (m *Memory) while(kind *int) (done func()) {
	m.count(kind, 1)
	return func() { m.count(kind, -1) }
}

func (m *Memory) count(kind *int, by int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	idle := m.huge+m.many == 0
	*kind += by
	setting := m.usual
	switch {
	case m.huge > 0:
		setting = frugal
	case m.many > 0:
		setting = roomy
	}
	if before := debug.SetGCPercent(setting); idle {
		m.usual = before
	}
}
