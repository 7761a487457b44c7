package planner

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

// pairsEvent returns the event about the pairs of a request that became another one. Pairs are pruned
// only if orphans were dropped: a result that moved to its call, and a call that got a stub, remain.
func pairsEvent(before, after *wire.Request, orphans []Orphan) Event {
	m := PairsChecked{
		OrphanCount: len(orphans), Orphans: orphans,
		TotalMessages: len(before.Transcript().Messages()), RetainedCount: len(after.Transcript().Messages()),
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

// planMadeEvent returns the event about the changes of a plan.
func planMadeEvent(before, after *wire.Request, changes []wire.Change, remaining int) Event {
	byRule := make(map[string]int)
	for i := range changes {
		byRule[changes[i].Rule]++
	}
	return Event{eventPlanMade, PlanMade{
		ByRule: byRule, Bytes: len(after.Raw()) - len(before.Raw()), Changes: len(changes), Left: remaining,
	}}
}

// withActions returns orphans with the action that changes took on each of them: on its block or on a
// part of the message around it. Changes of pairs take precedence over others, later ones over earlier
// ones.
func withActions(orphans []Orphan, changes []wire.Change) []Orphan {
	if len(orphans) == 0 {
		return nil
	}
	actions := make(map[string]wire.Action, len(changes))
	for _, c := range changes {
		if pairRules[c.Rule] || actions[c.Path] == "" {
			actions[c.Path] = c.Action
		}
	}
	orphans = slices.Clone(orphans)
	for i := range orphans {
		o := &orphans[i]
		for path := o.Path; o.Done == "" && path != ""; {
			o.Done = actions[path]
			path = path[:max(strings.LastIndexByte(path, '.'), 0)]
			isMessageList := !strings.Contains(path, ".")
			if isMessageList {
				break
			}
		}
	}
	return orphans
}
