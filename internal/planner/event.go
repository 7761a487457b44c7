package planner

import (
	"slices"
	"strings"

	"github.com/pare-llm/pare/wire"
)

// The types of events, with the types of their metadata.
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

// An Event reports one thing that happened while a plan was made.
//
//	Type                          Metadata
//	tool_pair_validated           PairsChecked: all pairs were complete
//	tool_pair_repaired            PairsChecked: some pairs were repaired
//	tool_pair_pruned              PairsChecked: orphans were dropped
//	plan_made                     PlanMade
//	compaction_started            CompactionStarted
//	compaction_completed          CompactionDone
//	compaction_overflow_archived  CompactionDone: removed content is archived, without a summary
//	compaction_skipped            CompactionSkipped
//	compaction_failed             CompactionFailed
//
// Package store has other events.
type Event struct {
	Type     string `json:"type"`
	Metadata any    `json:"metadata"`
}

// PairsChecked reports the orphans of the input. Without orphans, every call had its result.
type PairsChecked struct {
	OrphanCount    int      `json:"orphan_count"`
	Orphans        []Orphan `json:"orphans,omitempty"`
	RemovedIndices []int    `json:"removed_indices,omitempty"` // of messages from which orphans were dropped
	RetainedCount  int      `json:"retained_count"`            // messages that remain
	TotalMessages  int      `json:"total_messages"`
}

// PlanMade reports a plan that changes something.
type PlanMade struct {
	ByRule  map[string]int `json:"by_rule"`
	Bytes   int            `json:"bytes"` // negative if the request gets smaller
	Changes int            `json:"changes"`
	Left    int            `json:"left"` // findings that could not be repaired
}

// CompactionStarted reports that a summary is about to be written.
type CompactionStarted struct {
	Cut           int  `json:"cut"`   // the message before which the history is cut
	Prior         bool `json:"prior"` // the history has a summary of an earlier compaction
	TotalMessages int  `json:"total_messages"`
}

// CompactionDone reports a compaction.
type CompactionDone struct {
	Conserved Conservation `json:"conserved"`
	Cut       int          `json:"cut"`
	Retained  int          `json:"retained"` // messages
}

// CompactionSkipped reports why a history was not compacted.
type CompactionSkipped struct {
	Reason string `json:"reason"`
}

// CompactionFailed reports why there is no summary.
type CompactionFailed struct {
	Cut   int    `json:"cut,omitempty"`
	Error string `json:"error"`
}

// pairsEvent returns the event about the pairs of a request that became another one. Pairs are
// pruned only if orphans were dropped: a result that moved to its call, and a call that got a stub,
// remain.
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

// withActions returns orphans with the action that changes took on each of them: on its block or on
// a part of the message around it. Changes of pairs take precedence over others, later ones over
// earlier ones.
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
