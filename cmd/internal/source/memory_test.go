package source

import (
	"runtime/debug"
	"sync"
	"testing"
)

// TestDefectR8: whatever order transcripts end in, the setting is what it was.
func TestDefectR8(t *testing.T) {
	now := func() int {
		n := debug.SetGCPercent(100)
		debug.SetGCPercent(n)
		return n
	}
	defer debug.SetGCPercent(debug.SetGCPercent(77))
	var m Memory
	end := m.Roomy(true)
	first, second := m.Frugal(hugeSize), m.Frugal(hugeSize)
	small := m.Frugal(hugeSize - 1)
	first() // the one that came first ends first
	if now() != frugal {
		t.Errorf("%d while a huge one is at work", now())
	}
	small()
	second()
	if now() != roomy {
		t.Errorf("%d while many are read", now())
	}
	var wait sync.WaitGroup
	for range 50 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			m.Frugal(hugeSize)()
		}()
	}
	wait.Wait()
	again, huge := m.Roomy(true), m.Frugal(hugeSize)
	end() // a run that came first ends first, too
	if now() != frugal {
		t.Errorf("%d behind a run, while a huge one is at work", now())
	}
	again()
	huge()
	m.Roomy(false)()
	if now() != 77 {
		t.Errorf("%d is left", now())
	}
}
