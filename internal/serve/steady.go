package serve

import (
	"log"
	"log/slog"
)

// reserve is memory that is never touched, so that it costs nothing. Garbage is collected
// when there is as much of it as of the rest, so this much and more may pile up: little is
// alive in a proxy, and it would be collected all the time.
var reserve []byte

// Steady sets a process up to be a server and nothing else. Whoever has set GOGC or
// GOMEMLIMIT knows better. What the standard library says of its own accord goes to the log.
func Steady(getenv func(string) string, to *slog.Logger) {
	log.SetFlags(0)
	log.SetOutput(quiet{to})
	if getenv("GOGC") == "" && getenv("GOMEMLIMIT") == "" && reserve == nil {
		reserve = make([]byte, 16<<20)
	}
}
