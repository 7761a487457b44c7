package planner

import "github.com/pare-llm/pare/wire"

// Options controls how a plan is made. The zero value repairs a request that is about to be sent.
type Options struct {
	Repair wire.Repair
	Check  wire.CheckOptions
	// Sink, if set, is called with every event of the plan.
	Sink func(Event)
	// Counter counts tokens, for receipts and for windows of tokens. If it is nil, no tokens are
	// counted.
	Counter wire.Counter
	// SkipTokenCounts leaves the token counts of receipts at zero. Counting a dropped block takes
	// longer than dropping it.
	SkipTokenCounts bool
	// KeepInvalidThinking keeps thinking blocks that an earlier change in the request has made
	// invalid. The caller is responsible for telling the provider to drop them.
	KeepInvalidThinking bool
	// SkipFailedRules is described at [Policy].
	SkipFailedRules bool

	// ArchiveHandles names archive items in placeholders. The caller archives the items that
	// [Plan.Archive] returns.
	ArchiveHandles bool
	// SummarizeLater writes missing summaries of a window in the background, for later requests.
	SummarizeLater bool
}

// countText returns the number of tokens of a text, or zero without a counter.
func (o *Options) countText(text string) int {
	if o.Counter == nil {
		return 0
	}
	return o.Counter.Count([]byte(text))
}

// emit passes an event to the sink.
func (o *Options) emit(e Event) {
	if o.Sink != nil {
		o.Sink(e)
	}
}
