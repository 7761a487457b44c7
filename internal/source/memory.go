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
	usual int // the setting beside that
}

const (
	hugeSize = 32 << 20
	frugal   = 10
	roomy    = 400
)

// Frugal keeps the index of a huge transcript from taking as much memory again: beside a
// buffer of hundreds of megabytes the collector would see no reason to run. It returns
// what ends that.
func (m *Memory) Frugal(size int) (done func()) {
	if size < hugeSize {
		return func() {}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.huge++; m.huge == 1 {
		m.usual = debug.SetGCPercent(frugal)
	}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.huge--; m.huge == 0 {
			debug.SetGCPercent(m.usual)
		}
	}
}

// Roomy lets some more garbage pile up while many small files are read: the collector
// would run for every few of them. It returns what ends that, which must be called after
// the last of them.
func (m *Memory) Roomy(many bool) (done func()) {
	if !many {
		return func() {}
	}
	before := debug.SetGCPercent(roomy)
	return func() { debug.SetGCPercent(before) }
}
