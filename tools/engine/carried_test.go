package engine

import (
	"os"
	"slices"
	"strings"
	_ "unsafe" // for linkname
)

// Every index that is carried over from one state of a request to the next is compared with
// a fresh reading, in all tests of this package; benchmarks measure it.
//
//go:linkname proveCarried github.com/pare-llm/pare/wire.proveCarried
var proveCarried bool

func init() {
	proveCarried = !slices.ContainsFunc(os.Args, func(a string) bool { return strings.HasPrefix(a, "-test.bench") })
}
