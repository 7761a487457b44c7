package dialect

// toyRules are what the toy's provider refuses.
var toyRules = []Rule{
	{ID: "toy/unanswered", Slug: "orphan-call", on: orphanCall,
		Doc:    "a call without a result",
		Says:   "Somebody has to answer {ids}.",
		Repair: "stub the result",
		Source: "made up"},
	{ID: "toy/unasked", Slug: "orphan-result", on: orphanResult,
		Doc:    "a result without a call",
		Says:   "Nobody has asked for {ids}.",
		Repair: "quote the result",
		Source: "made up"},
}
