//go:build !linux

package trial

import "time"

const threadTime = false

func threadClock() time.Duration { return 0 }
