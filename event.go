package pare

import (
	"slices"
	"strings"

	"github.com/pare-llm/pare/wire"
)

// What happened, as [Event.Type] has it, and what its metadata is.
const (
	eventPairsValidated      = "tool_pair_validated"          // [PairsChecked]
	eventPairsRepaired       = "tool_pair_repaired"           // [PairsChecked]
	eventPairsPruned         = "tool_pair_pruned"             // [PairsChecked]
	eventPlanMade            = "plan_made"                    // [PlanMade]
	eventCompactionStarted   = "compaction_started"           // [CompactionStarted]
	eventCompactionCompleted = "compaction_completed"         // [CompactionDone]
	eventCompactionArchived  = "compaction_overflow_archived" // [CompactionDone]
	eventCompactionSkipped   = "compaction_skipped"           // [CompactionSkipped]
	eventCompactionFailed    = "compaction_failed"            // [CompactionFailed]
)

// An Event tells what happened, in one shape for everything. Many goroutines may read it.
//
//	Type                          Metadata
//	tool_pair_validated           PairsChecked: the pairs were whole
//	tool_pair_repaired            PairsChecked: some were not, and were repaired
//	tool_pair_pruned              PairsChecked: orphans were dropped
//	plan_made                     PlanMade
//	compaction_started            CompactionStarted
//	compaction_completed          CompactionDone
//	compaction_overflow_archived  CompactionDone: what was removed is archived, without a summary
//	compaction_skipped            CompactionSkipped
//	compaction_failed             CompactionFailed
//
// Package store has events of its own.
type Event struct {
	Type     string `json:"type"`
	Metadata any    `json:"metadata"`
}

// PairsChecked tells of the pairs of a history as it came. Without orphans it was paired.
// Many goroutines may read it.
type PairsChecked struct {
	OrphanCount    int      `json:"orphan_count"`
	Orphans        []Orphan `json:"orphans,omitempty"`
	RemovedIndices []int    `json:"removed_indices,omitempty"` // the messages of which orphans were dropped
	RetainedCount  int      `json:"retained_count"`            // messages that are left
	TotalMessages  int      `json:"total_messages"`
}

// PlanMade tells of a plan that changes something. Many goroutines may read it.
type PlanMade struct {
	ByRule  map[string]int `json:"by_rule"`
	Bytes   int            `json:"bytes"` // how many more, or fewer if negative
	Changes int            `json:"changes"`
	Left    int            `json:"left"` // findings that could not be repaired
}

// CompactionStarted tells that a summary is about to be made. Many goroutines may read it.
type CompactionStarted struct {
	Cut           int  `json:"cut"`   // the message in front of which the history is cut
	Prior         bool `json:"prior"` // there is a summary of an earlier compaction
	TotalMessages int  `json:"total_messages"`
}

// CompactionDone tells what came of a compaction. Many goroutines may read it.
type CompactionDone struct {
	Conserved Conservation `json:"conserved"`
	Cut       int          `json:"cut"`
	Retained  int          `json:"retained"` // messages
}

// CompactionSkipped tells why a history was left alone. Many goroutines may read it.
type CompactionSkipped struct {
	Reason string `json:"reason"`
}

// CompactionFailed tells why there is no summary. Many goroutines may read it.
type CompactionFailed struct {
	Cut   int    `json:"cut,omitempty"`
	Error string `json:"error"`
}

// pairsEvent tells about the pairs of a history that became another. Something was pruned only where orphans
// were dropped: a result that went home, and a call that got a stub, are still there.
func pairsEvent(before, after size, orphans []Orphan) Event {
	m := PairsChecked{
		OrphanCount: len(orphans), Orphans: orphans,
		TotalMessages: before.messages, RetainedCount: after.messages,
	}
	if len(orphans) == 0 {
		return Event{eventPairsValidated, m}
	}
	for _, o := range orphans {
		if o.Done == wire.ActionDrop {
			m.RemovedIndices = append(m.RemovedIndices, o.Index)
		}
	}
	slices.Sort(m.RemovedIndices)
	m.RemovedIndices = slices.Compact(m.RemovedIndices)
	if len(m.RemovedIndices) == 0 {
		return Event{eventPairsRepaired, m}
	}
	return Event{eventPairsPruned, m}
}

// done says of each orphan what the changes did about it: to the block, or to the message around it.
func done(orphans []Orphan, changes []wire.Change) {
	if len(orphans) == 0 {
		return
	}
	did := make(map[string]wire.Action, len(changes))
	for _, c := range changes {
		if pairRules[c.Rule] || did[c.Path] == "" {
			did[c.Path] = c.Action // the last word on a pair holds
		}
	}
	for i := range orphans {
		o := &orphans[i]
		for path := o.Path; o.Done == "" && path != ""; {
			o.Done = did[path]
			path = path[:max(strings.LastIndexByte(path, '.'), 0)]
			if !strings.Contains(path, ".") {
				break // the list of messages
			}
		}
	}
}

// tell writes the receipts of a plan and makes its events.
func (p *Plan) tell(o Options) {
	in, out := p.sizes()
	if p.clean != nil { // nothing was found or done
		p.events = append(p.events, pairsEvent(in, out, nil))
		return
	}
	p.writeOwed()
	p.changes = wirex.Explain(p.out, p.in, p.changes)
	if o.Counter != nil && !o.SkipTokenCounts && len(p.changes) > 0 {
		p.countTokens(o.Counter)
	}
	if !p.checked {
		p.found, p.checked = p.in.Check(wire.CheckOptions{}), true
	}
	orphans := orphansIn(p.in, p.found, o.Repair.Open)
	done(orphans, p.changes)
	p.events = append(p.events, pairsEvent(in, out, orphans))
	if len(p.changes) > 0 {
		byRule := make(map[string]int)
		for i := 0; i < len(p.changes); {
			rule, first := p.changes[i].Rule, i
			for i < len(p.changes) && p.changes[i].Rule == rule {
				i++
			}
			byRule[rule] += i - first
		}
		p.events = append(p.events, Event{eventPlanMade, PlanMade{ByRule: byRule, Bytes: out.bytes - in.bytes, Changes: len(p.changes), Left: len(p.left)}})
	}
	for _, e := range p.events {
		o.emit(e)
	}
}

// emit hands an event out.
func (o *Options) emit(e Event) {
	if o.Sink != nil {
		o.Sink(e)
	}
}

// countTokens fills in how many tokens a repair costs or saves, by its bytes; what the
// rules decided has been counted exactly.
func (p *Plan) countTokens(c wire.Counter) {
	sample := p.in.Raw()
	sample = sample[:min(len(sample), 1<<16)]
	whole := 0
	for i := range p.changes {
		ch := &p.changes[i]
		if ch.Tokens != 0 || ch.Bytes == 0 {
			continue
		}
		if whole == 0 {
			whole = c.Count(sample)
		}
		ch.Tokens = ch.Bytes * whole / max(1, len(sample))
	}
}
