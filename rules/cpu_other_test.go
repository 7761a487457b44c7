//go:build !linux

package rules_test

import "time"

var started = time.Now()

// cpuTime is how long the test has been running.
func cpuTime() time.Duration { return time.Since(started) }
