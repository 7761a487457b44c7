package wire

import (
	"os"
	"slices"
	"strings"
)

// All tests prove what is carried over; benchmarks measure it.
func init() {
	proveCarried = !slices.ContainsFunc(os.Args, func(a string) bool { return strings.HasPrefix(a, "-test.bench") })
}

// Wrote is how many bytes were written.
func (s *Scribe) Wrote() int { return s.wrote }

// Stretches is how many stretches of a request a check passes over.
func (r *Request) Stretches(o CheckOptions) int {
	c := checker{Request: r, o: o}
	return len(c.known())
}

// Said is how many blocks were dropped or edited otherwise than before, or in messages that were.
func (s *Scribe) Said() int { return s.said }
