//go:build !unix

package main

import "time"

// processorTime panics: the processor time is known on Unix only.
func processorTime() time.Duration { panic("floors runs on Unix only") }
