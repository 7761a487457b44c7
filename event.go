package pare

import "github.com/pare-llm/pare/transcript"

// An Event tells what happened, in one shape for everything.
type Event struct {
	Type     string         `json:"type"`
	Metadata map[string]any `json:"metadata"`
}

// report makes the events of a plan.
func (p *Plan) report(o Options) {
	if o.Count != nil && len(p.Changes) > 0 {
		p.countTokens(o.Count)
	}
	before := p.in.Transcript()
	var orphans []int
	for _, x := range before.Exchanges() {
		if x.State != transcript.Whole && !x.Server {
			b := x.Call
			if b == transcript.NoBlock {
				b = x.Results[0]
			}
			orphans = append(orphans, before.Block(b).Message)
		}
	}
	e := Event{"tool_pair_validated", map[string]any{"total_messages": len(before.Messages()), "orphan_count": len(orphans)}}
	if len(orphans) > 0 {
		e.Type = "tool_pair_pruned"
		e.Metadata["retained_count"] = len(p.out.Transcript().Messages())
		e.Metadata["orphan_messages"] = orphans
	}
	p.Events = append(p.Events, e)
	if len(p.Changes) > 0 {
		byRule := make(map[string]int)
		bytes := 0
		for _, c := range p.Changes {
			byRule[c.Rule]++
			bytes += c.Bytes
		}
		p.Events = append(p.Events, Event{"plan_made", map[string]any{"changes": len(p.Changes), "by_rule": byRule, "bytes": len(p.out.Raw()) - len(p.in.Raw()), "left": len(p.Left)}})
	}
	if o.Sink != nil {
		for _, e := range p.Events {
			o.Sink(e)
		}
	}
}

// countTokens fills in how many tokens a repair costs or saves, by its bytes' share
// of the whole; what the rules decided has been counted exactly.
func (p *Plan) countTokens(count func([]byte) int) {
	before := 0
	for i := range p.Changes {
		c := &p.Changes[i]
		if c.Tokens != 0 || c.Bytes == 0 {
			continue
		}
		if before == 0 {
			before = count(p.in.Raw())
		}
		c.Tokens = c.Bytes * before / max(1, len(p.in.Raw()))
	}
}
