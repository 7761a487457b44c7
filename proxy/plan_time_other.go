//go:build !unix

package proxy

import "time"

const hasProcessTime = false

// processTime returns the processor time of this process.
func processTime() time.Duration { return 0 }
