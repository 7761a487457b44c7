//go:build !unix

package proxy

import "time"

const hasProcessTime = false

func processTime() time.Duration { return 0 }
