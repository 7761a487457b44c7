//go:build race

package transcript

// many is how many calls, and results, the tests of growth have. The race detector
// slows everything down and looks for something else.
const many = 5_000
