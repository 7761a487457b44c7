package rules

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/pare-llm/pare"
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
	said  map[int]victim // what comes of it, by exchange
	all   []victim       // the same in order; replaced, never changed; nil: it has to be made
	news  []int          // exchanges of which something else came than before, the latest last
	stops []stop         // in order
}

// A stop is how many exchanges a tape had been looked at for when there was so much news.
type stop struct{ upTo, news int }

// tapeKey is where the tape of a rule is kept. Options that are not the guard's are those of
// the rule that the guard was made for.
type tapeKey struct{ *guard }

// process is how the rule votes.
func (q *quest[K]) process(s *sight, rule string, minBytes int) pare.Process {
	return func(b *pare.Ballot) {
		v := s.ballots(rule, minBytes)
		t, _ := s.r.Lore(tapeKey{s.guard}, func(int) any { return new(tape[K]) }).(*tape[K])
		if was, ok := b.Since(); ok && t != nil {
			if news, ok := q.since(t, s, was.Exchanges); ok {
				b.GoOn()
				v.again(b, news)
				return
			}
		}
		v.vote(b, s.old(q.victims(t, s)))
	}
}

// victims lists what is useless in the history, in order.
func (q *quest[K]) victims(t *tape[K], s *sight) []victim {
	if t == nil {
		return q.list(s, q.anew(s))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !q.goOn(t, s) {
		return q.list(s, q.anew(s))
	}
	return t.inOrder()
}

// since lists the exchanges of which something else is to be said than when there were so many;
// false: that is not known.
func (q *quest[K]) since(t *tape[K], s *sight, exchanges int) ([]news, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !q.goOn(t, s) {
		return nil, false
	}
	at, ok := slices.BinarySearchFunc(t.stops, exchanges, func(s stop, n int) int { return s.upTo - n })
	if !ok {
		return nil, false
	}
	which := slices.Clone(t.news[t.stops[at].news:])
	for i := max(0, exchanges-s.KeepLast); i < len(s.t.Exchanges())-s.KeepLast; i++ {
		if _, ok := t.said[i]; ok {
			which = append(which, i) // it was spared
		}
	}
	slices.Sort(which)
	var all []news
	for _, i := range slices.Compact(which) {
		if i < len(s.t.Exchanges())-s.KeepLast {
			v, useless := t.said[i]
			all = append(all, news{i, v, useless})
		}
	}
	return all, true
}

// news is what is to be said of an exchange now.
type news struct {
	exchange int
	victim   victim
	useless  bool
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

// goOn looks at what is new since the tape was looked at last. False: somebody else is ahead.
func (q *quest[K]) goOn(t *tape[K], s *sight) bool {
	if t.upTo > len(s.t.Exchanges()) {
		return false
	}
	if t.sight == nil {
		t.sight, t.said = s.look(s.r), make(map[int]victim)
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
	var changed []int
	for way := range fresh {
		for key := range fresh[way] {
			if among := t.of[way][key]; len(among) > 1 {
				changed = append(changed, q.again(t, way, among)...)
			}
		}
	}
	q.change(t, changed)
	if n := len(t.stops); n == 0 || t.stops[n-1].upTo < t.upTo {
		t.stops = append(t.stops, stop{t.upTo, len(t.news)})
	}
	if proveTapes {
		mustFind(t.inOrder(), q.list(s, q.anew(s)))
	}
	return true
}

// again looks at exchanges that have a key in common, and returns those of which it finds
// something else than before.
func (q *quest[K]) again(t *tape[K], way int, among []int) (changed []int) {
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
		if before, ok := was[f.exchange]; !ok || before != f {
			changed = append(changed, f.exchange)
		}
		delete(was, f.exchange)
	}
	for i := range was {
		changed = append(changed, i)
	}
	return changed
}

// change says anew what is to be done about exchanges.
func (q *quest[K]) change(t *tape[K], changed []int) {
	if len(changed) == 0 {
		return
	}
	slices.Sort(changed)
	var all []finding
	for _, i := range slices.Compact(changed) {
		delete(t.said, i)
		t.news = append(t.news, i)
		for _, found := range t.found {
			if f, ok := found[i]; ok {
				all = append(all, f)
			}
		}
	}
	for _, v := range q.list(t.sight, inOrder(all)) {
		t.said[v.exchange] = v
	}
	t.all = nil
}

// inOrder lists what is useless.
func (t *tape[K]) inOrder() []victim {
	if t.all == nil {
		t.all = slices.SortedFunc(maps.Values(t.said), func(a, b victim) int { return a.exchange - b.exchange })
	}
	return t.all
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
