package planner

import (
	"slices"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// The kinds of orphans.
const (
	orphanCall   = "orphan_tool_call"
	orphanResult = "orphan_tool_result"
)

// An Orphan is a call without its result, or a result without its call, at the place where the
// provider expects it.
type Orphan struct {
	Index  int    `json:"index"` // of its message
	Kind   string `json:"kind"`
	Path   string `json:"path"`
	Tool   string `json:"tool_name,omitempty"`
	CallID string `json:"tool_call_id,omitempty"`
	// Done is the action of a plan on the orphan: drop, insert (a stub), move, merge, rename or edit
	// (a quotation). It is "" without a plan.
	Done wire.Action `json:"done,omitempty"`

	block transcript.BlockID
}

// Orphans returns the calls that no result answers and the results that answer no call, in order.
// It checks the pairs like the provider, and nothing else. If a call and its result are not next to
// each other, both are orphans. With open set, calls at the end may still be running and are no
// orphans.
func Orphans(r *wire.Request, open bool) []Orphan {
	return orphansIn(r, r.Check(wire.CheckOptions{}), open)
}

// orphansIn returns the orphans among the findings of a check.
func orphansIn(r *wire.Request, findings []wire.Finding, open bool) []Orphan {
	if len(findings) == 0 {
		return nil
	}
	t := r.Transcript()
	exchanges := make([]*transcript.Exchange, len(t.Blocks())) // of orphans, by block
	for _, f := range findings {
		if f.Block == transcript.NoBlock || !pairRules[f.Rule] || t.ExchangeOf(f.Block) == transcript.NoExchange {
			continue
		}
		x := &t.Exchanges()[t.ExchangeOf(f.Block)]
		for _, b := range orphanBlocks(x, f, open) {
			if exchanges[b] == nil {
				exchanges[b] = x
			}
		}
	}
	var orphans []Orphan
	for b, x := range exchanges {
		if x != nil {
			orphans = append(orphans, newOrphan(r, transcript.BlockID(b), x))
		}
	}
	return orphans
}

func newOrphan(r *wire.Request, b transcript.BlockID, x *transcript.Exchange) Orphan {
	block := r.Transcript().Block(b)
	o := Orphan{Index: block.Message, Kind: orphanResult, Path: r.Path(b), Tool: x.Tool, CallID: x.CallID, block: b}
	if isCall(block.Kind) {
		o.Kind = orphanCall
	}
	return o
}

// pairRules are the rules about missing halves of pairs. Rules about the order of complete pairs
// are not among them.
var pairRules = map[string]bool{
	"orphan-call": true, "orphan-result": true, "displaced-result": true, "duplicate-result": true, "duplicate-call-id": true,
	"call-wrong-role": true, "result-wrong-role": true, "server-tool-unpaired": true,
}

// orphanBlocks returns the blocks of an exchange that a finding makes orphans: one result, or all.
func orphanBlocks(x *transcript.Exchange, f wire.Finding, open bool) []transcript.BlockID {
	isPairOfAnotherTurn := f.Rule == "duplicate-call-id" && !x.Repeats
	isExtraResult := x.State == transcript.Duplicate && !x.Repeats && !x.Late
	switch {
	case x.State == transcript.Open && open, isPairOfAnotherTurn:
		return nil
	case isExtraResult:
		return []transcript.BlockID{f.Block}
	case x.Call == transcript.NoBlock:
		return x.Results
	}
	return append([]transcript.BlockID{x.Call}, x.Results...)
}

// IsPaired reports whether every call has its result and every result its call, where the provider
// expects them.
func IsPaired(r *wire.Request) bool { return len(Orphans(r, false)) == 0 }

// DropOrphans removes the orphans of r, and nothing else. It returns the new body, the removed
// orphans and an event about them. If there are no orphans, it returns the body of r itself.
func DropOrphans(r *wire.Request) (body []byte, removed []Orphan, event Event, err error) {
	next := r
	for { // removal can separate other pairs; each round removes a block
		orphans := Orphans(next, false)
		if len(orphans) == 0 {
			break
		}
		drops := make([]transcript.BlockID, len(orphans))
		for i := range orphans {
			drops[i] = orphans[i].block
			orphans[i].Done = wire.ActionDrop
		}
		removed = append(removed, withOriginalPaths(r, next, orphans)...)
		if next, _, err = dialect.Rewrite(next, drops, nil); err != nil {
			return nil, nil, Event{}, err
		}
	}
	return next.Raw(), removed, pairsEvent(r, next, removed), nil
}

// withOriginalPaths returns orphans of a later state with their paths and messages in the original.
func withOriginalPaths(original, later *wire.Request, orphans []Orphan) []Orphan {
	if later == original {
		return orphans
	}
	messages := make(map[string]int)
	for b, block := range original.Transcript().Blocks() {
		messages[original.Path(transcript.BlockID(b))] = block.Message
	}
	orphans = slices.Clone(orphans)
	for i := range orphans {
		o := &orphans[i]
		o.Path = dialect.PathIn(later, original, o.block)
		o.Index = messages[o.Path]
	}
	return orphans
}
