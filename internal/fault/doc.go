// Package fault makes calls to the disk, the network and the database fail in tests.
//
// A [Source] decides which calls fail, by a seed, the name of the point, and the number of earlier
// calls there. It does not depend on other goroutines, so a seed that fails once usually fails
// again. [Run] runs a test with many seeds. PARE_FAULT_SEED=N runs a single one, and
// PARE_FAULT_SEEDS=10000 sets their number, starting with N if both are set. Types of this package
// may be used by many goroutines.
//
// Allocations never fail, because Go programs without memory exit; kill tests cover that.
package fault
