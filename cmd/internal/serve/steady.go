package serve

import (
	"log"
	"log/slog"
	"runtime/debug"
)

const (
	// memoryGoal is what the process is to have in memory at most: what the proxy may hold, and
	// half of that for garbage. Garbage is collected more often on the way there.
	memoryGoal = 3 << 29 // 1.5 GB
	// garbage is how much of it there may be before, in percent of the rest: little is alive in
	// a proxy, and it would be collected all the time.
	garbage = 400
)

// Steady sets a process up to be a server and nothing else. Whoever has set GOGC or GOMEMLIMIT
// knows better. What the standard library says of its own accord goes to the log.
func Steady(getenv func(string) string, to *slog.Logger) {
	RedirectLog(to)
	if getenv("GOGC") == "" && getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(garbage)
		debug.SetMemoryLimit(memoryGoal)
	}
}

// RedirectLog sends the log of the standard library, which would go to standard error, to a log.
func RedirectLog(to *slog.Logger) {
	log.SetFlags(0)
	log.SetOutput(connectionLog{to})
}
