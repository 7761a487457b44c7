package planner

import (
	"slices"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Which half of an exchange an orphan is.
const (
	orphanCall   = "orphan_tool_call"
	orphanResult = "orphan_tool_result"
)

// An Orphan is half an exchange: a call or a result whose other half is not where the
// provider looks for it. Many goroutines may read it.
type Orphan struct {
	Index  int    `json:"index"` // of its message
	Kind   string `json:"kind"`
	Path   string `json:"path"`
	Tool   string `json:"tool_name,omitempty"`
	CallID string `json:"tool_call_id,omitempty"`
	// Done is what a plan has done about it: drop, insert (a stub), move, merge, rename, edit (a
	// quotation); "" where nothing was planned.
	Done wire.Action `json:"done,omitempty"`

	block transcript.BlockID
}

// Orphans lists the calls that no result answers and the results that answer no call, in
// order. It looks at pairing alone, and as the provider does: what [wire.Request.Check]
// finds wrong with pairs is here, and nothing else. Of a call and a result that stand
// apart both are orphans. With open set, calls at the tail are still running and none.
func Orphans(r *wire.Request, open bool) []Orphan {
	return orphansIn(r, r.Check(wire.CheckOptions{}), open)
}

// orphansIn are the orphans among what the check found.
func orphansIn(r *wire.Request, found []wire.Finding, open bool) []Orphan {
	if len(found) == 0 {
		return nil
	}
	t := r.Transcript()
	seen := make([]bool, len(t.Blocks()))
	gone := make([]bool, len(t.Exchanges())) // as a whole; it may have as many findings as results
	var all []Orphan
	for _, f := range found {
		if f.Block == transcript.NoBlock || !pairRules[f.Rule] || t.ExchangeOf(f.Block) == transcript.NoExchange {
			continue
		}
		x := t.Exchanges()[t.ExchangeOf(f.Block)]
		if x.State == transcript.Open && open {
			continue
		}
		part, whole := halves(x, f)
		if whole {
			if gone[t.ExchangeOf(f.Block)] {
				continue
			}
			gone[t.ExchangeOf(f.Block)] = true
			part = x.Results
			if x.Call != transcript.NoBlock {
				part = append([]transcript.BlockID{x.Call}, x.Results...)
			}
		}
		for _, b := range part {
			if seen[b] {
				continue
			}
			seen[b] = true
			blk := t.Block(b)
			o := Orphan{Index: blk.Message, Kind: orphanResult, Path: r.Path(b), Tool: x.Tool, CallID: x.CallID, block: b}
			if blk.Kind == transcript.Call || blk.Kind == transcript.ServerCall {
				o.Kind = orphanCall
			}
			all = append(all, o)
		}
	}
	slices.SortStableFunc(all, func(a, b Orphan) int { return int(a.block - b.block) })
	return all
}

// pairRules are the rules of the check that are about pairs, and not about how whole ones
// must stand.
var pairRules = map[string]bool{
	"orphan-call": true, "orphan-result": true, "displaced-result": true, "duplicate-result": true, "duplicate-call-id": true,
	"call-wrong-role": true, "result-wrong-role": true, "server-tool-unpaired": true,
}

// halves lists what must go of an exchange that the check finds wrong: some blocks, or the
// whole of it.
func halves(x transcript.Exchange, f wire.Finding) (part []transcript.BlockID, whole bool) {
	switch {
	case f.Rule == "duplicate-call-id" && !x.Repeats: // a pair of its own, with an id of another turn
		return nil, false
	case x.State == transcript.Duplicate && !x.Repeats && !x.Late:
		return []transcript.BlockID{f.Block}, false // one answer too many
	}
	return nil, true
}

// IsPaired reports whether every call is answered and every result asked for, where the
// provider looks.
func IsPaired(r *wire.Request) bool { return len(Orphans(r, false)) == 0 }

// DropOrphans drops exactly the orphans and nothing else: the smallest thing that makes
// a history paired. It returns the new body, the orphans that were removed, and what a
// sink would be told. A history that is paired comes back as it is. For a history that
// the provider takes, and that loses nothing, use [Fix].
func DropOrphans(r *wire.Request) (body []byte, removed []Orphan, event Event, err error) {
	next := r
	for {
		found := Orphans(next, false)
		if len(found) == 0 {
			break
		}
		drop := make([]transcript.BlockID, len(found))
		for i := range found {
			drop[i] = found[i].block
		}
		removed = append(removed, inOriginal(r, next, found)...)
		// What a second round finds, the first has parted: each takes out a block at least.
		if next, _, err = wirex.Rewrite(next, drop, nil); err != nil {
			return nil, nil, Event{}, err
		}
	}
	for i := range removed {
		removed[i].Done = wire.ActionDrop
	}
	return next.Raw(), removed, pairsEvent(r, next, removed), nil
}

// inOriginal says where orphans of a later state stood in the original.
func inOriginal(r, now *wire.Request, found []Orphan) []Orphan {
	if now == r {
		return found
	}
	at := make(map[string]int)
	for b, blk := range r.Transcript().Blocks() {
		at[r.Path(transcript.BlockID(b))] = blk.Message
	}
	for i := range found {
		o := &found[i]
		o.Path = wirex.PathIn(now, r, o.block)
		o.Index = at[o.Path]
	}
	return found
}
