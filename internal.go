package pare

import (
	"context"

	"github.com/pare-llm/pare/internal/inside"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Internal opens what the packages of this module use of each other and users do not see:
// nobody else can import the key.
func Internal(*inside.Key) internals { return internals{} }

// internals has the functions and methods behind the door. Each does what its namesake in
// lower case says.
type internals struct{}

func (internals) Compact(r *wire.Request, cut transcript.Cut, summary string, o CompactOptions) (*Plan, error) {
	return compact(r, cut, summary, o)
}

func (internals) CompactNamed(c *Compactor, ctx context.Context, r *wire.Request, name func(together ...string) string) (*Plan, error) {
	return c.compactNamed(ctx, r, name)
}

func (internals) CompactWith(c *Compactor, ctx context.Context, r *wire.Request) (*Plan, error) {
	return c.compactAlone(ctx, r)
}

func (internals) FitWith(c *Compactor, ctx context.Context, r *wire.Request, w Window) (*Plan, error) {
	return c.fitWindow(ctx, r, w)
}

func (internals) IsPaired(r *wire.Request) bool {
	return isPaired(r)
}

// MinKeep is how many messages a compaction of c leaves.
func (internals) MinKeep(c *Compactor) int { return c.minKeep() }

func (internals) Repaired(p *Plan) *wire.Request {
	return repairedRequest(p.steps)
}

func (internals) PlanRules(p *Pipeline, r *wire.Request, o Options) (plan *Plan, err error) {
	return p.planRules(r, o)
}

func (internals) Repair(r *wire.Request, o Options) (*Plan, error) {
	return repairOnly(r, o)
}

func (internals) Trim(r *wire.Request, w Window, o Options) (plan *Plan, err error) {
	return trim(r, w, o)
}

// Offload is what a Compactor without a summarizer does at a cut.
func (internals) Offload(r *wire.Request, cut transcript.Cut, o CompactOptions) (*Plan, error) {
	return new(Compactor).at(context.Background(), unchangedDraft(r), headOf(r, cut, o.FoldTask), o)
}

// Receipts writes changes as lines, one after the other.
func (internals) Receipts(all ...wire.Change) ([]byte, error) {
	return receiptLines(all)
}

// Replayed is the rule with a way to vote on all beginnings of a history that reads it only once. Only
// edits count there.
func (internals) Replayed(r Rule, replay func(*wire.Request) (func(b *Ballot, messages int), error)) Rule {
	r.replay = replay
	return r
}

// IsCut reports whether an earlier request has cut a block that the rule votes on.
func (internals) IsCut(b *Ballot, id transcript.BlockID) bool { return b.isCut != nil && b.isCut(id) }

func (internals) Arriving(p *Pipeline) *Pipeline {
	return p.arriving()
}
