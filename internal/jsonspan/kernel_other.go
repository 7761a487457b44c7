//go:build !amd64 || purego

package jsonspan

// The portable runs; kernel_amd64.go says what a run is.

func structuralRun(_ []byte, i int) int { return i }

func strictRun(data []byte, i int) int { return swarRun(data, i) }
