package dialect

import (
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// An Edit replaces the bytes of a span by others. An empty span inserts, an empty
// replacement removes. Many goroutines may read it.
type Edit struct {
	transcript.Span
	New []byte
}

// editsSince returns what was done to the bytes of an earlier state of the request: sorted,
// never overlapping spans of it and what stands in their place now. Nothing is returned
// if nothing was done, or if the request was not made from that state.
func (r *Request) editsSince(before *Request) []Edit {
	if len(r.steps) <= len(before.steps) {
		return nil
	}
	edits := r.steps[len(before.steps)].edits
	for _, step := range r.steps[len(before.steps)+1:] {
		edits = jsonspan.Compose(len(before.raw), edits, step.edits)
	}
	all := make([]Edit, len(edits))
	for i, e := range edits {
		all[i] = Edit{transcript.Span(e.Span), e.New}
	}
	return all
}
