package serve

import (
	"log"
	"log/slog"
	"runtime/debug"
)

// memoryGoal is what the process is to have in memory at most: what the proxy may hold, and half
// of that for garbage. Garbage is collected more often on the way there.
const memoryGoal = 3 << 29 // 1.5 GB

// Steady sets a process up to be a server and nothing else. Whoever has set GOMEMLIMIT knows
// better. What the standard library says of its own accord goes to the log.
func Steady(getenv func(string) string, to *slog.Logger) {
	log.SetFlags(0)
	log.SetOutput(quiet{to})
	if getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryGoal)
	}
}
