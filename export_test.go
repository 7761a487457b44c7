package pare

import (
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Offload is what a Compactor without a summarizer does at a cut.
func Offload(r *wire.Request, cut transcript.Cut, o CompactOptions) (*Plan, error) {
	return untouched(r).offload(cut, o)
}
