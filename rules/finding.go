package rules

import (
	"cmp"
	"slices"

	"github.com/pare-llm/pare"
)

// A finding says which later exchange makes another one useless.
type finding struct {
	exchange, by int
	exact        bool // it says the very same
	about        about
}

// about is what a call was for.
type about struct {
	kind string
	file string // "" if it names none, or several
}

// among lists the exchanges that a rule compares: those of tools that it takes.
func (s *sight) among(takes func(*known) bool) (all []int) {
	for i, x := range s.exchanges {
		if !takes(s.tool(x.Tool)) {
			continue
		}
		if all == nil {
			all = make([]int, 0, len(s.t.Exchanges()))
		}
		all = append(all, i)
	}
	return all
}

func anyTool(*known) bool { return true }

// inOrder sorts findings by exchange; of two about one, the exact one stays.
func inOrder(all []finding) []finding {
	slices.SortFunc(all, func(a, b finding) int {
		switch {
		case a.exchange != b.exchange:
			return a.exchange - b.exchange
		case a.exact == b.exact:
			return 0
		case a.exact:
			return -1
		}
		return 1
	})
	return slices.CompactFunc(all, func(a, b finding) bool { return a.exchange == b.exchange })
}

// votes is a process that votes on what is useless, but for the last exchanges, which are spared.
func (s *sight) votes(rule string, minBytes int, useless func() []victim) pare.Process {
	return func(b *pare.Ballot) {
		v, all := s.ballots(rule, minBytes), useless()
		end := len(s.t.Exchanges()) - s.KeepLast
		n, _ := slices.BinarySearchFunc(all, end, func(v victim, end int) int { return cmp.Compare(v.exchange, end) })
		for i := range all[:n] {
			v.one(b, &all[i])
		}
	}
}
