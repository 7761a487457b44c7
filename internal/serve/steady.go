package serve

import (
	"time"
)

// reserve is memory that is never touched, so that it costs nothing. Garbage is collected
// when there is as much of it as of the rest, so this much and more may pile up: little is
// alive in a proxy, and it would be collected all the time.
var reserve []byte

// Steady sets a process up to be a server and nothing else. Whoever has set GOGC or
// GOMEMLIMIT knows better.
func Steady(getenv func(string) string) {
	if getenv("GOGC") == "" && getenv("GOMEMLIMIT") == "" && reserve == nil {
		reserve = make([]byte, 16<<20)
	}
	// The scheduler is woken for every deadline that comes before those that it knows, and
	// connections have a new one for every request. It need not be for what comes after the
	// next tick.
	go func() {
		for range time.Tick(5 * time.Second) {
		}
	}()
}
