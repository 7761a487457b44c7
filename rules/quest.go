package rules

import (
	"cmp"
	"slices"
	"sync"

	"github.com/pare-llm/pare/transcript"
)

// A finding says which later exchange makes another one useless.
type finding struct {
	exchange, by int
	exact        bool // it says the very same
	about        about
}

// about is what a call was for.
type about struct {
	kind Kind
	file string // "" if it names none, or several
}

// A quest is how a rule looks for what later exchanges have made useless. It may look in two
// ways; what the first one finds goes before what the second one does.
type quest[K comparable] struct {
	// takes reports whether the calls of a tool are looked at.
	takes func(k *known) bool
	// keys tells, for each way, what an exchange has in common with all those that it is
	// compared with. The zero key: it is compared with none.
	keys func(s *sight, x *transcript.Exchange) [2]K
	// find looks, in one way, at exchanges in order: at all, or at those that have a key in
	// common. What it finds in them is the same.
	find func(s *sight, way int, among []int) []finding
	// list says what is to be done about findings, of which the last exchanges are spared.
	list func(s *sight, all []finding) []victim
}

// A tape is what a quest has found so far in a history of which it is shown one beginning after
// the other. Only what has a key in common with something new is looked at again.
type tape[K comparable] struct {
	mu    sync.Mutex
	sight *sight
	upTo  int            // exchanges that were looked at
	of    [2]map[K][]int // those that have a key in common, in order
	found [2]map[int]finding
	all   []victim // what comes of it; replaced, never changed
}

// tapeKey is where the tape of a rule is kept. Options that are not the guard's are those of
// the rule that the guard was made for.
type tapeKey struct{ *guard }

// victims lists what is useless in the history, in order.
func (q *quest[K]) victims(s *sight) []victim {
	t, _ := s.r.Lore(tapeKey{s.guard}, func(int) any { return new(tape[K]) }).(*tape[K])
	if t == nil {
		return s.old(q.list(s, q.anew(s)))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.upTo > len(s.t.Exchanges()) { // somebody else is ahead
		return s.old(q.list(s, q.anew(s)))
	}
	q.goOn(t, s)
	if proveTapes {
		mustFind(t.all, q.list(s, q.anew(s)))
	}
	return s.old(t.all)
}

// anew looks at the whole history.
func (q *quest[K]) anew(s *sight) []finding {
	var among []int
	for i, x := range s.exchanges {
		if q.takes(s.tool(x.Tool)) {
			if among == nil {
				among = make([]int, 0, len(s.t.Exchanges()))
			}
			among = append(among, i)
		}
	}
	if among == nil {
		return nil
	}
	first, second := q.find(s, 0, among), q.find(s, 1, among)
	return inOrder(append(first, second...))
}

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

// goOn looks at what is new since the tape was looked at last.
func (q *quest[K]) goOn(t *tape[K], s *sight) {
	if t.sight == nil {
		t.sight = s.look(s.r)
		for way := range t.of {
			t.of[way], t.found[way] = make(map[K][]int), make(map[int]finding)
		}
	}
	t.sight.r, t.sight.t = s.r, s.t
	var none K
	var fresh [2]map[K]bool
	for i, all := t.upTo, s.t.Exchanges(); i < len(all); i++ {
		x := &all[i]
		if k := t.sight.tool(x.Tool); !whole(x) || k.protected || !q.takes(k) {
			continue
		}
		for way, key := range q.keys(t.sight, x) {
			if key == none {
				continue
			}
			t.of[way][key] = append(t.of[way][key], i)
			if fresh[way] == nil {
				fresh[way] = make(map[K]bool)
			}
			fresh[way][key] = true
		}
	}
	t.upTo = len(s.t.Exchanges())
	changed := false
	for way := range fresh {
		for key := range fresh[way] {
			if among := t.of[way][key]; len(among) > 1 {
				changed = q.again(t, way, among) || changed
			}
		}
	}
	if changed {
		t.all = q.list(t.sight, t.findings())
	}
}

// again looks at exchanges that have a key in common, and reports whether it finds anything else
// than before.
func (q *quest[K]) again(t *tape[K], way int, among []int) (changed bool) {
	found := t.found[way]
	was := make(map[int]finding)
	for _, i := range among {
		if f, ok := found[i]; ok {
			was[i] = f
			delete(found, i)
		}
	}
	for _, f := range q.find(t.sight, way, among) {
		found[f.exchange] = f
		if before, ok := was[f.exchange]; ok && before == f {
			delete(was, f.exchange)
		} else {
			changed = true
		}
	}
	return changed || len(was) > 0
}

// findings lists all that were found, in order.
func (t *tape[K]) findings() []finding {
	all := make([]finding, 0, len(t.found[0])+len(t.found[1]))
	for _, found := range t.found {
		for _, f := range found {
			all = append(all, f)
		}
	}
	return inOrder(all)
}

// old leaves out the last exchanges, which are spared.
func (s *sight) old(all []victim) []victim {
	if s.KeepLast == 0 {
		return all
	}
	end := len(s.t.Exchanges()) - s.KeepLast
	n, _ := slices.BinarySearchFunc(all, end, func(v victim, end int) int { return cmp.Compare(v.exchange, end) })
	return all[:n]
}

// proveTapes is set by tests: whatever comes of a tape is compared with what the whole history
// gives.
var proveTapes bool

// mustFind panics if victims are not those of the whole history.
func mustFind(all, fresh []victim) {
	same := func(a, b victim) bool {
		return a.exchange == b.exchange && a.why == b.why && a.keepSaid == b.keepSaid && a.keepArgs == b.keepArgs && a.drop == b.drop && a.about == b.about
	}
	if !slices.EqualFunc(all, fresh, same) {
		panic("rules: what was found in a history that grew is not what is found in it")
	}
}
