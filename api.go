package pare

import (
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/wire"
)

// Mark is the beginning of every text that replaces removed content.
const Mark = planner.Mark

// Plans and their parts.
type (
	// A Plan describes every change to a request, with its reason. Making a plan changes nothing; its
	// method Apply returns the new body. Plans are safe for concurrent use.
	Plan = planner.Plan
	// A Step is one rewrite of a request.
	Step = planner.Step
	// A Decision is the verdict on one atom, with all reasons for it.
	Decision = planner.Decision
	// A Reason gives the rule that caused a decision, its text, and the atom that it is about.
	Reason = planner.Reason
	// A WindowStep is the number of blocks that one step of a window has changed.
	WindowStep = planner.WindowStep
	// A Batch is one trim of a stable window.
	Batch = planner.Batch
	// A Conservation accounts for the bytes of a compacted history.
	Conservation = planner.Conservation
	// An Orphan is a call without its result, or a result without its call.
	Orphan = planner.Orphan
)

// Rules and their votes.
type (
	// A Rule votes on the atoms and blocks of a request. Its Prepare examines the request and returns
	// the [Process] that votes.
	Rule = planner.Rule
	// A Process votes on the request that the rule was prepared for.
	Process = planner.Process
	// A Ballot collects the votes of one rule.
	Ballot = planner.Ballot
	// A Pipeline is a set of rules that can run together. [Compile] makes one.
	Pipeline = planner.Pipeline
	// A PipelineError names the rules that cannot run together.
	PipelineError = planner.PipelineError
)

// Windows and compactions.
type (
	// Options controls how a plan is made. The zero value repairs a request that is about to be sent.
	Options = planner.Options
	// A Window limits the size of a request. At least one limit must be set.
	Window = planner.Window
	// A Pin is content that stays although it is old.
	Pin = planner.Pin
	// CachePricing says when removing cached content pays; tokens.CacheOf(model) returns one.
	CachePricing = planner.CachePricing
	// CompactOptions controls how a summary replaces the head of a history.
	CompactOptions = planner.CompactOptions
	// A Compactor compacts histories with a [Summarizer].
	Compactor = planner.Compactor
	// A Summarizer writes a summary of content that is removed from a history. It must not modify or
	// retain its input, and must be safe for concurrent use. Package summary has two.
	Summarizer = planner.Summarizer
	// Removed is the content that a summary replaces.
	Removed = planner.Removed
	// A Summary is the result of a summarizer.
	Summary = planner.Summary
	// A Memory stores the texts of summaries by key. It must be safe for concurrent use.
	Memory = planner.Memory
)

// The content that a [Window] pins.
const (
	// PinSystem pins messages of the system.
	PinSystem = planner.PinSystem
	// PinTask pins the first message in which the user speaks.
	PinTask = planner.PinTask
	// PinNewest pins the last message in which the user speaks, and the last turn.
	PinNewest = planner.PinNewest
)

// Events, and the types of their metadata.
type (
	// An Event reports one thing that happened while a plan was made.
	Event = planner.Event
	// PairsChecked reports the calls and results of the input that had no counterpart.
	PairsChecked = planner.PairsChecked
	// PlanMade reports a plan that changes something.
	PlanMade = planner.PlanMade
	// CompactionStarted reports that a summary is about to be written.
	CompactionStarted = planner.CompactionStarted
	// CompactionDone reports a compaction.
	CompactionDone = planner.CompactionDone
	// CompactionSkipped reports why a history was not compacted.
	CompactionSkipped = planner.CompactionSkipped
	// CompactionFailed reports why there is no summary.
	CompactionFailed = planner.CompactionFailed
)

// Errors.
type (
	// A RefusedError is the error for a result that the provider would still reject.
	RefusedError = planner.RefusedError
	// A WindowTooSmall is the error for a window that the content which must stay does not fit. Its
	// Minimum is the smallest limit that works.
	WindowTooSmall = planner.WindowTooSmall
	// An UnknownModelError is the error for a window that depends on an unknown model.
	UnknownModelError = planner.UnknownModelError
	// A CompactionError says why a history was not compacted.
	CompactionError = planner.CompactionError
	// A FaultError is the error for a failure of a part that the caller supplied, such as a rule.
	FaultError = planner.FaultError
)

// Compile checks that rules can run together, and orders them. The error is a *PipelineError if a
// name is missing or used twice, rules exclude each other, or After and Before form a circle.
func Compile(rules ...Rule) (*Pipeline, error) { return planner.Compile(rules...) }

// Orphans returns the calls that no result answers and the results that answer no call, in order.
// It checks the pairs like the provider, and nothing else. If a call and its result are not next to
// each other, both are orphans. With open set, calls at the end may still be running and are no
// orphans.
func Orphans(r *wire.Request, open bool) []Orphan { return planner.Orphans(r, open) }

// DropOrphans removes the orphans of r, and nothing else. It returns the new body, the removed
// orphans and an event about them. If there are no orphans, it returns the body of r itself. Most
// callers should use [Fix], which keeps the content.
func DropOrphans(r *wire.Request) (body []byte, removed []Orphan, event Event, err error) {
	return planner.DropOrphans(r)
}
