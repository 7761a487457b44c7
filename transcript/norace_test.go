//go:build !race

package transcript

// many is how many calls, and results, the tests of growth have.
const many = 50_000
