package recall

import (
	"cmp"
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Hidden are calls of the tool that stood beside calls of the client's tools, in a reply
// that the client got without them. Many goroutines may read it.
type Hidden struct {
	Calls   []Call
	Results [][]byte // as elements of the list that results stand in
	Others  []Other
	// Messages is how many the request had that was replied to.
	Messages int
}

// Size is how many bytes it takes.
func (h *Hidden) Size() (n int) {
	for i, c := range h.Calls {
		n += len(c.Raw) + len(h.Results[i])
	}
	return n
}

// Key names a call of the client's by everything that it says.
func (o Other) Key() string {
	return o.ID + "\x00" + o.Tool + "\x00" + string(wirex.Canonical(o.Arguments))
}

// Restore puts what was hidden back into a history that the client sends: calls beside those
// that they stood beside, results beside theirs. Known returns what was hidden beside a
// call, by its key. Nothing to put back returns the body itself.
func Restore(r *wire.Request, known func(key string) *Hidden) (body []byte, restored int) {
	t := r.Transcript()
	found := make(map[*Hidden]transcript.BlockID)
	var order []*Hidden
	for i, blk := range t.Blocks() {
		if blk.Kind != transcript.Call {
			continue
		}
		b := transcript.BlockID(i)
		h := known(Other{blk.CallID, blk.Tool, wire.Arguments(t, b)}.Key())
		if h == nil || result(t, b) == transcript.NoBlock {
			continue
		}
		was, twice := found[h]
		if !twice {
			order = append(order, h)
		}
		// Ids repeat: the first one behind what was replied to is the one, else the last.
		if !twice || t.Block(was).Message < h.Messages {
			found[h] = b
		}
	}
	var edits []jsonspan.Edit
	for _, h := range order {
		edits = append(edits, h.edits(t, found[h])...)
		restored += len(h.Calls)
	}
	slices.SortStableFunc(edits, func(a, b jsonspan.Edit) int { return cmp.Compare(a.Start, b.Start) })
	if body, err := jsonspan.Splice(r.Raw(), edits); err == nil {
		return body, restored
	}
	return r.Raw(), 0
}

// result is the first result of a call.
func result(t *transcript.Transcript, call transcript.BlockID) transcript.BlockID {
	if x := t.ExchangeOf(call); x != transcript.NoExchange {
		if all := t.Exchanges()[x].Results; len(all) > 0 {
			return all[0]
		}
	}
	return transcript.NoBlock
}

// edits put the calls beside the first of the others, and the results beside its result.
func (h *Hidden) edits(t *transcript.Transcript, first transcript.BlockID) []jsonspan.Edit {
	call, answer := t.Block(first).Span, t.Block(result(t, first)).Span
	var before, behind [2][]byte
	for i, c := range h.Calls {
		for j, raw := range [2][]byte{c.Raw, h.Results[i]} {
			if c.Behind == 0 {
				before[j] = append(append(before[j], raw...), ',')
			} else {
				behind[j] = append(append(behind[j], ','), raw...)
			}
		}
	}
	var all []jsonspan.Edit
	for j, span := range [2]transcript.Span{call, answer} {
		if before[j] != nil {
			all = append(all, jsonspan.Edit{Span: jsonspan.Span{Start: span.Start, End: span.Start}, New: before[j]})
		}
		if behind[j] != nil {
			all = append(all, jsonspan.Edit{Span: jsonspan.Span{Start: span.End, End: span.End}, New: behind[j]})
		}
	}
	return all
}
