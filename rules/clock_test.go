package rules_test

import "time"

var started = time.Now()

// sinceStart is wall time: rules look at the history side by side, and what a
// caller waits for is what counts.
func sinceStart() time.Duration { return time.Since(started) }
