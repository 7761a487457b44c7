package main

import "github.com/pare-llm/pare/internal/engine"

// listPairs returns the pairs of all threads of a session.
func (f sessionFile) listPairs() []engine.Pair {
	all := []engine.Pair{}
	for _, thread := range f.Threads {
		all = append(all, engine.Pairs(thread.Request, thread.Name)...)
	}
	return all
}
