package proxy

import (
	"slices"
	"strings"
	"sync"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/dialect"
	excerpts "github.com/pare-llm/pare/internal/excerpt"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Pare checks whether removals that are free, on arrival or while the cache is cold, do harm. One
// conversation in ten stays unchanged, for comparison. If too many removed results are fetched
// again, later conversations stay unchanged, too.

const (
	// controlShare is how many of 256 conversations are left unchanged, for comparison.
	controlShare = 26
	// minCutResults is how many results must have been cut before refetches are judged.
	minCutResults = 200
	// maxRefetchedPercent is how many percent of the cut results may be fetched again.
	maxRefetchedPercent = 2
)

// Values of [Record.Thrift].
const (
	trimGroupCut     = "cut"     // results may be left out
	trimGroupControl = "control" // the conversation is one of those that are left alone to compare with
	trimGroupStopped = "stopped" // too much was fetched again
)

// refetchCounts counts cut results, and how many of them were fetched again, over all
// conversations.
type refetchCounts struct {
	mu      sync.Mutex
	cut     int
	fetched int
}

// isStopped reports whether too many results were fetched again.
func (t *refetchCounts) isStopped() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cut >= minCutResults && 100*t.fetched > maxRefetchedPercent*t.cut
}

// trimsFreely reports whether a policy removes content because that is free.
func trimsFreely(p *pare.Policy) bool {
	return planner.Arriving(p.Rules) != nil || p.Window != nil && p.Window.ColdRules != nil
}

// assignTrimGroup modifies a: it assigns the conversation to a group, and removes the rules for
// free removals from the policy of the control group. The group follows from the beginning of the
// conversation, so that all replicas agree, unless trimming has been stopped here.
func (a *planInput) assignTrimGroup(key string, g dialect.Overview) {
	if !trimsFreely(a.policy) {
		return
	}
	switch a.trimGroup = trimGroupCut; {
	case g.Fingerprint == ([16]byte{}): // it has not begun, so that it cannot be identified
		a.trimGroup = ""
	case g.Fingerprint[0] < controlShare:
		a.trimGroup = trimGroupControl
	case a.conversations != nil && a.conversations.isSpared(key):
		a.trimGroup = trimGroupStopped
	default:
		return
	}
	p := *a.policy
	if p.Rules != nil {
		kept := slices.DeleteFunc(slices.Clone(p.Rules.Rules()), func(r pare.Rule) bool { return r.Arriving })
		p.Rules = nil
		if len(kept) > 0 {
			var err error
			if p.Rules, err = pare.Compile(kept...); err != nil {
				return // it was compiled before
			}
		}
	}
	if p.Window != nil {
		w := *p.Window
		w.ColdRules = nil
		p.Window = &w
	}
	a.policy = &p
}

// isSpared reports whether a conversation began after trimming had been stopped.
func (c *Conversations) isSpared(key string) bool {
	stopped := c.refetches.isStopped()
	b := &c.requestHistory
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.states.get(key)
	if p == nil {
		return stopped
	}
	if !p.groupDecided { // its first request here
		p.groupDecided, p.isSpared = true, stopped
	}
	return p.isSpared
}

// countCuts counts the results that a plan shortens or removes, and the new calls that ask for
// one of them again.
func countCuts(r *wire.Request, pl *pare.Plan) (cut, fetched int) {
	gone := make(map[string]bool)
	for _, c := range pl.Changes() {
		if c.Rule != "hazard" && c.Rule != "oversized" || strings.Contains(c.Reason, excerpts.Tidied) {
			continue
		}
		for _, id := range c.IDs {
			gone[id] = true
		}
	}
	if len(gone) == 0 {
		return 0, 0
	}
	t := r.Transcript()
	all := t.Messages()
	newest := len(all) - 1
	for newest >= 0 && all[newest].Role != transcript.Assistant {
		newest--
	}
	type asked struct{ tool, args string }
	was := make(map[asked]bool)
	for _, x := range t.Exchanges() {
		if x.Call == transcript.NoBlock {
			continue
		}
		call := asked{x.Tool, string(wire.Arguments(t, x.Call))}
		if at := t.Block(x.Call).Message; newest >= 0 && all[at].Turn == all[newest].Turn {
			if was[call] {
				fetched++
			}
			continue
		}
		if gone[x.CallID] {
			was[call] = true
		}
	}
	return len(gone), fetched
}

// recordCuts records the cuts of a request, each once, and returns the new ones.
func (c *Conversations) recordCuts(key string, turns, cut, fetched int) (more, again int) {
	b := &c.requestHistory
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.states.get(key)
	if p == nil {
		return 0, 0
	}
	if turns <= p.countedTurns { // the same calls once more
		fetched = 0
	}
	more = max(cut-p.cutResults, 0)
	p.cutResults, p.countedTurns = max(p.cutResults, cut), max(p.countedTurns, turns)
	c.refetches.mu.Lock()
	defer c.refetches.mu.Unlock()
	c.refetches.cut += more
	c.refetches.fetched += fetched
	return more, fetched
}
