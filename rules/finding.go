package rules

import (
	"cmp"
	"slices"

	"github.com/pare-llm/pare"
)

// laterFinding names the later exchange that makes an earlier one useless.
type laterFinding struct {
	exchange, laterExchange int
	isExact                 bool // both have the same result
	subject                 subject
}

// subject is the kind of a call and its file.
type subject struct {
	kind string
	file string // empty if the call names no file or several
}

// exchangesOf lists the exchanges of the accepted tools.
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

// sortFindings sorts findings by exchange and keeps one for each, an exact one if possible.
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

// process returns a process that votes on useless exchanges but spares the last KeepLast exchanges.
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
