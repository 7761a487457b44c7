package rules

import (
	"cmp"
	"slices"

	"github.com/pare-llm/pare"
)

// A finding says which later exchange makes another one useless.
type laterFinding struct {
	exchange, laterExchange int
	isExact                 bool // it says the very same
	subject                 subject
}

// about is what a call was for.
type subject struct {
	kind string
	file string // "" if it names none, or several
}

// among lists the exchanges that a rule compares: those of tools that it takes.
func (s *historyView) exchangesOf(takes func(*numberedTool) bool) (all []int) {
	for i, x := range s.eachExchange {
		if !takes(s.lookUpTool(x.Tool)) {
			continue
		}
		if all == nil {
			all = make([]int, 0, len(s.t.Exchanges()))
		}
		all = append(all, i)
	}
	return all
}

func anyTool(*numberedTool) bool { return true }

// inOrder sorts findings by exchange; of two about one, the exact one stays.
func sortFindings(all []laterFinding) []laterFinding {
	slices.SortFunc(all, func(a, b laterFinding) int {
		switch {
		case a.exchange != b.exchange:
			return a.exchange - b.exchange
		case a.isExact == b.isExact:
			return 0
		case a.isExact:
			return -1
		}
		return 1
	})
	return slices.CompactFunc(all, func(a, b laterFinding) bool { return a.exchange == b.exchange })
}

// votes is a process that votes on what is useless, but for the last exchanges, which are spared.
func (s *historyView) process(rule string, minBytes int, useless func() []uselessExchange) pare.Process {
	return func(b *pare.Ballot) {
		v, all := s.newVoter(rule, minBytes), useless()
		end := len(s.t.Exchanges()) - s.KeepLast
		n, _ := slices.BinarySearchFunc(all, end, func(v uselessExchange, end int) int { return cmp.Compare(v.exchange, end) })
		for i := range all[:n] {
			v.vote(b, &all[i])
		}
	}
}
