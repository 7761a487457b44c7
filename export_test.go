package pare

import (
	"context"
	"os"
	"slices"
	"strings"
	_ "unsafe" // for linkname

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Every index that is carried over from one state of a request to the next is compared with
// a fresh reading, in all tests of this package; benchmarks measure it.
//
//go:linkname proveCarried github.com/pare-llm/pare/wire.proveCarried
var proveCarried bool

func init() {
	proveCarried = !slices.ContainsFunc(os.Args, func(a string) bool { return strings.HasPrefix(a, "-test.bench") })
}

// Offload is what a Compactor without a summarizer does at a cut.
func Offload(r *wire.Request, cut transcript.Cut, o CompactOptions) (*Plan, error) {
	return new(Compactor).at(context.Background(), untouched(r), headOf(r, cut, o.FoldTask), o)
}

// Receipts writes changes as lines, one after the other.
func Receipts(all ...wire.Change) ([]byte, error) {
	var w receiptWriter
	for i := range all {
		if err := w.add(&all[i]); err != nil {
			return nil, err
		}
	}
	return w.lines, nil
}
