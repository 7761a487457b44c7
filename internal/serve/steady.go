package serve

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
}
