// Package engine tests the promises of package pare as its users see them: plans, windows,
// compaction, receipts, scenarios.
package engine
