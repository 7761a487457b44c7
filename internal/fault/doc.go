// Package fault makes calls fail in tests: to the disk, the network and the database, at every
// point that a run passes, by a seed.
//
// A [Source] decides. What it decides depends on the seed, the name of the point and how often
// the point was passed before, and not on what other goroutines do: a seed that has found
// something finds it again. [Run] goes through the seeds of a test. A seed that fails is named,
// and PARE_FAULT_SEED=N runs it alone; PARE_FAULT_SEEDS=10000 runs so many, from that one on if both
// are given.
//
// No allocation fails: a Go program that gets no memory ends, which is what a kill tests.
package fault
