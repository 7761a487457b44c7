package dialect

import (
	"cmp"
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// An editSet keeps edits sorted and apart. Edits come in any order and by the ten thousand,
// so they lie in runs: to put one in moves the rest of its run, never all of them.
type editSet struct {
	runs  [][]jsonspan.Edit // none is empty
	first []jsonspan.Edit   // room for the first run; nil: there is none
}

// maxRun is how many edits a run has at most; two runs of half as many take its place.
const maxRun = 512

// compareEdits orders edits by where they begin, then by where they end.
func compareEdits(a, b jsonspan.Edit) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
}

// insert adds e, unless it overlaps one that is there.
func (s *editSet) insert(e jsonspan.Edit) bool {
	if n := len(s.runs) - 1; n >= 0 && len(s.runs[n]) < maxRun && s.runs[n][len(s.runs[n])-1].End < e.Start {
		s.runs[n] = append(s.runs[n], e) // nearly all come in order
		return true
	}
	// The run that e goes into is the last one that begins in front of it.
	r, _ := slices.BinarySearchFunc(s.runs, e, func(run []jsonspan.Edit, e jsonspan.Edit) int { return compareEdits(run[0], e) })
	if r < len(s.runs) && clash(s.runs[r][0], e) {
		return false
	}
	if r == 0 {
		if len(s.runs) == 0 {
			if s.first == nil {
				s.expect(16)
			}
			s.runs = [][]jsonspan.Edit{append(s.first, e)}
			return true
		}
	} else {
		r--
	}
	run := s.runs[r]
	i, _ := slices.BinarySearchFunc(run, e, compareEdits)
	if i > 0 && clash(run[i-1], e) || i < len(run) && clash(run[i], e) {
		return false
	}
	run = slices.Insert(run, i, e)
	s.runs[r] = run
	if len(run) > maxRun {
		s.runs[r] = run[: maxRun/2 : maxRun/2]
		s.runs = slices.Insert(s.runs, r+1, slices.Clone(run[maxRun/2:]))
	}
	return true
}

func clash(a, b jsonspan.Edit) bool {
	return a.Start < b.End && b.Start < a.End || a.Start == b.Start && a.End == b.End
}

func (s *editSet) empty() bool { return len(s.runs) == 0 }

// expect makes room for so many edits.
func (s *editSet) expect(n int) {
	if n > 0 && len(s.runs) == 0 {
		s.first = make([]jsonspan.Edit, 0, min(n, maxRun))
	}
}

// all are the edits in order. The set is given up.
func (s *editSet) all() []jsonspan.Edit {
	if len(s.runs) == 1 {
		return s.runs[0]
	}
	return slices.Concat(s.runs...)
}
