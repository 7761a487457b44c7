package pare

import (
	"slices"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// An Orphan is half an exchange.
type Orphan struct {
	Index  int    `json:"index"` // of its message
	Kind   string `json:"kind"`  // orphan_tool_call or orphan_tool_result
	Path   string `json:"path"`
	Tool   string `json:"tool_name,omitempty"`
	CallID string `json:"tool_call_id,omitempty"`
}

// Validate lists the calls that no result answers and the results that answer no
// call, in order. It looks at pairing alone; a call at the tail counts as open, not
// as an orphan, if open is set.
func Validate(r *wire.Request, open bool) []Orphan {
	t := r.Transcript()
	var all []Orphan
	for _, x := range t.Exchanges() {
		if x.Server {
			continue
		}
		for _, b := range extraResults(x) {
			all = append(all, Orphan{t.Block(b).Message, "orphan_tool_result", r.Path(b), x.Tool, x.CallID})
		}
		o := Orphan{Tool: x.Tool, CallID: x.CallID}
		b := x.Call
		switch {
		case x.State == transcript.OrphanResult:
			o.Kind, b = "orphan_tool_result", x.Results[0]
		case x.State == transcript.OrphanCall, x.State == transcript.Open && !open:
			o.Kind = "orphan_tool_call"
		default:
			continue
		}
		o.Index, o.Path = t.Block(b).Message, r.Path(b)
		all = append(all, o)
	}
	slices.SortStableFunc(all, func(a, b Orphan) int { return a.Index - b.Index })
	return all
}

// extraResults returns the results that nobody asked for: all but the first.
func extraResults(x transcript.Exchange) []transcript.BlockID {
	if x.State != transcript.Duplicate || len(x.Results) < 2 {
		return nil
	}
	return x.Results[1:]
}

// IsPaired reports whether every call is answered and every result asked for.
func IsPaired(r *wire.Request) bool { return len(Validate(r, false)) == 0 }

// Prune drops exactly the orphans and nothing else: the smallest thing that makes
// a history paired. It returns the new body, the orphans that were removed, and
// one event. A history that is paired comes back as it is.
func Prune(r *wire.Request) (body []byte, removed []Orphan, events []Event, err error) {
	removed = Validate(r, false)
	t := r.Transcript()
	meta := map[string]any{"total_messages": len(t.Messages()), "orphan_count": len(removed)}
	if len(removed) == 0 {
		return r.Raw(), nil, []Event{{"tool_pair_validated", meta}}, nil
	}
	var drop []transcript.BlockID
	var indices []int
	for _, x := range t.Exchanges() {
		if x.Server {
			continue
		}
		drop = append(drop, extraResults(x)...)
		switch x.State {
		case transcript.OrphanResult:
			drop = append(drop, x.Results...)
		case transcript.OrphanCall, transcript.Open:
			drop = append(drop, x.Call)
		}
	}
	for _, o := range removed {
		if !slices.Contains(indices, o.Index) {
			indices = append(indices, o.Index)
		}
	}
	next, _, err := r.Rewrite(drop, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	meta["retained_count"], meta["removed_indices"], meta["orphans"] = len(next.Transcript().Messages()), indices, removed
	return next.Raw(), removed, []Event{{"tool_pair_pruned", meta}}, nil
}
