package planner

import (
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// blockCosts counts the tokens of the blocks that a step drops or edits.
type blockCosts interface {
	blockTokens(b transcript.BlockID) int
	editTokens(e wire.BlockEdit) int
}

// requestCosts counts blocks of a request with a counter.
type requestCosts struct {
	r       *wire.Request
	counter wire.Counter
}

func (c requestCosts) blockTokens(b transcript.BlockID) int {
	return dialect.BlockTokens(c.r, c.counter, b)
}

func (c requestCosts) editTokens(e wire.BlockEdit) int {
	return dialect.SaidTokens(c.r, c.counter, e.Block, e.Text)
}

// countsReceipts reports whether receipts contain token counts.
func (o *Options) countsReceipts() bool { return o.Counter != nil && !o.SkipTokenCounts }

// describeBlocks returns the receipts of the blocks that a step drops and edits: the drops in the
// order of atoms, then the edits. If costs is nil, the receipts have no token counts.
func describeBlocks(input *wire.Request, s Step, editReasons []Reason, costs blockCosts) []wire.Change {
	if len(s.Drops)+len(s.Edits) == 0 {
		return nil
	}
	n := len(s.Drops) + len(s.Edits)
	w := receiptWriter{input: input, from: s.From, changes: make([]wire.Change, 0, n), ids: make([]string, 0, n)}
	t := s.From.Transcript()
	for _, d := range s.Decisions {
		if d.Action != wire.ActionDrop {
			continue
		}
		for _, b := range t.Atoms()[d.Atom].Blocks {
			tokens := 0
			if costs != nil {
				tokens = -costs.blockTokens(b)
			}
			w.add(wire.ActionDrop, d.Reasons[0], b, -t.Block(b).Span.Len(), tokens)
		}
	}
	for i, e := range s.Edits {
		tokens := 0
		if costs != nil {
			tokens = costs.editTokens(e) - costs.blockTokens(e.Block)
		}
		w.add(wire.ActionArchive, editReasons[i], e.Block, len(e.Text)-t.Block(e.Block).Body.Len(), tokens)
	}
	return w.changes
}

// A receiptWriter collects receipts about blocks of from, with their paths in input.
type receiptWriter struct {
	input, from *wire.Request
	changes     []wire.Change
	ids         []string // of calls; the receipts share its memory
	paths       dialect.Paths
}

// add adds the receipts of one block. If a repair has joined several blocks to it, each has a
// receipt, and the first has the sizes.
func (w *receiptWriter) add(action wire.Action, why Reason, b transcript.BlockID, bytes, tokens int) {
	ids := []string{}
	if id := w.from.Transcript().Block(b).CallID; id != "" {
		n := len(w.ids)
		w.ids = append(w.ids, id)
		ids = w.ids[n : n+1 : n+1]
	}
	for _, path := range dialect.PathsIn(w.from, w.input, b, &w.paths) {
		w.changes = append(w.changes, wire.Change{
			Action: action, Rule: why.Rule, Path: path, IDs: ids, Reason: why.Text, Bytes: bytes, Tokens: tokens,
		})
		bytes, tokens = 0, 0
	}
}

// describeStaleThinking returns the receipts of thinking blocks of r that are dropped because an
// earlier change has made them invalid.
func describeStaleThinking(r, input *wire.Request, stale []transcript.BlockID) (changes []wire.Change) {
	var paths dialect.Paths
	for _, b := range stale {
		for _, path := range dialect.PathsIn(r, input, b, &paths) {
			changes = append(changes, wire.Change{
				Action: wire.ActionDrop, Rule: "thinking-altered", Path: path, IDs: []string{},
				Bytes:  -r.Transcript().Block(b).Span.Len(),
				Reason: "a change in front of it makes this thinking invalid on this model",
			})
		}
	}
	return changes
}

// estimateRepairTokens sets the token counts of the repairs in changes. It estimates them from
// their bytes and the tokens per byte at the beginning of the input. The receipts of decisions
// already have exact counts.
func estimateRepairTokens(changes []wire.Change, input *wire.Request, c wire.Counter) {
	const sampleSize = 1 << 16
	sample := input.Raw()
	sample = sample[:min(len(sample), sampleSize)]
	sampleTokens := 0
	for i := range changes {
		change := &changes[i]
		if change.Tokens != 0 || change.Bytes == 0 {
			continue
		}
		if sampleTokens == 0 {
			sampleTokens = c.Count(sample)
		}
		change.Tokens = change.Bytes * sampleTokens / max(1, len(sample))
	}
}
