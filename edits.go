package pare

import "github.com/pare-llm/pare/wire"

// Edits returns the plan as exact changes to the bytes that came in: sorted, never
// overlapping spans of the input and what takes their place. Applied in one pass, by any
// program, they give what [Plan.Result] holds. A plan that changes nothing has none.
func (p *Plan) Edits() []wire.Edit {
	if p.clean != nil {
		return nil
	}
	return wirex.EditsSince(p.out, p.in)
}
