//go:build race

package main

// raceEnabled is true where memory cannot be measured: the race detector takes its
// own share.
const raceEnabled = true
