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
