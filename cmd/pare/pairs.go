package main

import "github.com/pare-llm/pare/internal/engine"

// pairs lists those of all threads of a session.
func (s logFile) pairs() []engine.Pair {
	all := []engine.Pair{}
	for _, t := range s.Threads {
		all = append(all, engine.Pairs(t.Request, t.Name)...)
	}
	return all
}
