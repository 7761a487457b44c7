//go:build !race

package trial

// Race is whether the race detector watches, which makes everything ten times as long.
const Race = false
