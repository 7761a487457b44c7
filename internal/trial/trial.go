// Package trial gives all tests the same sample sizes and a check that work grows linearly.
// Linearity is measured by the processor time of one thread, never by the clock.
//
// There are three sizes of run: go test -short, go test, and the soak (PARE_SOAK=1), which may
// take hours and needs a quiet machine.
package trial

import (
	"os"
	"strconv"
	"testing"
)

// Soak reports whether this run may take hours on a machine without other work.
func Soak() bool { return os.Getenv("PARE_SOAK") == "1" }

// SoakOnly skips a test that takes hours or needs a quiet machine. why is part of the message.
func SoakOnly(t testing.TB, why string) {
	t.Helper()
	if !Soak() {
		t.Skip("left to make soak: " + why)
	}
}

// Long skips a test in a short run. why is part of the message.
func Long(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip("left to make test: " + why)
	}
}

// Size returns the number of samples to try: n, a tenth in a short run or under the race
// detector, a hundred times as many in a soak. It is never 0. A test that expects to find a
// minimum scales it with the same number.
func Size(n int) int {
	switch {
	case Soak():
		return 100 * n
	case testing.Short() || Race:
		return max(n/10, 1)
	}
	return n
}

// Stride returns the step through a list of cases: 1, or n in a short run, which tries one in
// n.
func Stride(n int) int {
	if !Soak() && (testing.Short() || Race) {
		return n
	}
	return 1
}

// SparseStride returns the step through a list of slow cases: n, 4n in a short run, and 1 in a
// soak.
func SparseStride(n int) int {
	if Soak() {
		return 1
	}
	return n * Stride(4)
}

// Histories returns the number of random histories to try: PARE_HISTORIES, or Size(n) if it is
// not set.
func Histories(n int) int {
	if m, err := strconv.Atoi(os.Getenv("PARE_HISTORIES")); err == nil && m > 0 {
		return m
	}
	return Size(n)
}

// FirstSeed returns the first seed of random histories: PARE_FIRST, or 0. With it, a long run
// can be split, or try new histories.
func FirstSeed() uint64 {
	n, _ := strconv.ParseUint(os.Getenv("PARE_FIRST"), 10, 64)
	return n
}

// SampleByKind returns the whole list. In a short run or under the race detector it returns
// every tenth element of each kind, including the first.
func SampleByKind[T any](all []T, kind func(T) string) []T {
	if !testing.Short() && !Race {
		return all
	}
	var some []T
	seen := make(map[string]int)
	for _, one := range all {
		k := kind(one)
		if seen[k]%10 == 0 {
			some = append(some, one)
		}
		seen[k]++
	}
	return some
}
