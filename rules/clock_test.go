package rules_test

import "time"

var started = time.Now()

// sinceStart is wall time: what a caller waits for is what counts.
func sinceStart() time.Duration { return time.Since(started) }
