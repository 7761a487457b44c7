package main

import (
	"runtime"
	"slices"
	"time"
)

// A contestant is a piece of work that is measured in turns with others.
type contestant struct {
	name string
	turn func() (time.Duration, error) // returns the processor time of one unit of work
}

// takeTurns lets all contestants work in each round and returns the median of each by name.
func takeTurns(rounds int, all []contestant) (map[string]time.Duration, error) {
	times := make(map[string][]time.Duration)
	for range rounds {
		for _, c := range all {
			took, err := c.turn()
			if err != nil {
				return nil, err
			}
			times[c.name] = append(times[c.name], took)
		}
	}
	medians := make(map[string]time.Duration)
	for name, took := range times {
		slices.Sort(took)
		medians[name] = took[len(took)/2]
	}
	return medians, nil
}

// shortestTurn is long enough for garbage collections to take their usual share.
const shortestTurn = 25 * time.Millisecond

// goWork returns a contestant that runs in this process. A turn repeats the work until it is
// long enough.
func goWork(name string, work func() error) contestant {
	return contestant{name, func() (time.Duration, error) {
		runtime.GC()
		units := 0
		for before := processorTime(); ; {
			if err := work(); err != nil {
				return 0, err
			}
			units++
			if took := processorTime() - before; took >= shortestTurn {
				return took / time.Duration(units), nil
			}
		}
	}}
}
