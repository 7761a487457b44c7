package pare

import (
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// An Event tells what happened, in one shape for everything.
type Event struct {
	Type     string         `json:"type"`
	Metadata map[string]any `json:"metadata"`
}

// report makes the events of a plan.
func (p *Plan) report(o Options) {
	if o.Counter != nil && !o.Uncounted && len(p.Changes) > 0 {
		p.countTokens(o.Counter)
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

// countTokens fills in how many tokens a repair costs or saves, by its bytes; what the
// rules decided has been counted exactly.
func (p *Plan) countTokens(c wire.Counter) {
	sample := p.in.Raw()
	sample = sample[:min(len(sample), 1<<16)]
	whole := 0
	for i := range p.Changes {
		ch := &p.Changes[i]
		if ch.Tokens != 0 || ch.Bytes == 0 {
			continue
		}
		if whole == 0 {
			whole = c.Count(sample)
		}
		ch.Tokens = ch.Bytes * whole / max(1, len(sample))
	}
}
