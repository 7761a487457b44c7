package rules

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Deduplication clears or drops an exchange that a later one repeats: the same tool returned the
// same result for the same arguments, or a later successful read of the same file covers its lines,
// even if the file changed in between. The latest exchange always stays.
//
// The result of a tool that may have effects is only cleared, because the history must show the
// call. A Deduplication is safe for concurrent use.
type Deduplication struct {
	// What to do with an exchange that is repeated later: "clear" its result, or "drop" it if the tool only reads or searches. Default: clear.
	Mode string `json:"mode,omitempty" enum:"clear,drop"`
	// Results that are shorter are left alone. Default: 512.
	MinBytes int `json:"min_bytes,omitempty"`
	// Leave reads alone that a later read of the same file covers, unless both say the same. Default: false.
	ExactOnly bool `json:"exact_only,omitempty"`
	Scope
}

// Rule returns the rule, or an [OptionErrors] for invalid options.
func (o Deduplication) Rule() (pare.Rule, error) {
	guard := o.compile()
	rule := pare.Rule{
		Name:   "deduplication",
		Doc:    "clear what a later call of the same tool returned again, and reads that a later read covers",
		Before: protectingRules(),
		Recent: true,
	}
	minBytes := minBytesOrDefault(o.MinBytes)
	if o.Mode == modeDrop {
		minBytes = 0 // short exchanges can be dropped, too
	}
	rule.Prepare = func(r *wire.Request) (pare.Process, error) {
		s := guard.view(r)
		return s.process(rule.Name, o.MinBytes, func() []uselessExchange {
			d, among := deduplicator{historyView: s}, s.exchangesOf(anyTool)
			d.findRepeats(among, minBytes)
			if !o.ExactOnly {
				d.findCovered(among)
			}
			return s.repeatedExchanges(sortFindings(d.found), o.Mode)
		}), nil
	}
	var wrong optionErrors
	wrong.checkMode(o.Mode, modeClear, modeDrop)
	wrong.checkMinimum("min_bytes", o.MinBytes, 0)
	wrong.checkScope(o.Scope)
	return rule, wrong.errorFor(rule)
}

type deduplicator struct {
	*historyView
	found []laterFinding
}

// equalityKey holds the cheap properties that equal exchanges share.
type equalityKey struct {
	tool, size int
	hash       uint64
	exchange   int
}

func (a equalityKey) compare(b equalityKey) int {
	switch {
	case a.size != b.size:
		return a.size - b.size
	case a.tool != b.tool:
		return a.tool - b.tool
	case a.hash != b.hash:
		return cmp.Compare(a.hash, b.hash)
	}
	return b.exchange - a.exchange
}

func (a equalityKey) equals(b equalityKey) bool {
	return a.tool == b.tool && a.size == b.size && a.hash == b.hash
}

type fileRead struct {
	tool     int
	path     string
	exchange int
	lines    lineRange
}

func (a fileRead) compare(b fileRead) int {
	switch {
	case a.tool != b.tool:
		return a.tool - b.tool
	case a.path != b.path:
		return strings.Compare(a.path, b.path)
	}
	return b.exchange - a.exchange
}

func (a fileRead) sameFile(b fileRead) bool { return a.tool == b.tool && a.path == b.path }

// readOf returns the lines of a file that a call reads, or false if the call does not read a part
// of one file.
func (s *historyView) readOf(k *numberedTool, x *transcript.Exchange) (callUse, bool) {
	if k.Kind != kindRead && k.Command == "" {
		return callUse{}, false
	}
	u := s.readCall(k, x)
	return u, u.kind == kindRead && u.file != "" && !u.hasOtherArguments && !u.isCleared
}

// eachRun sorts a list and yields every run of two or more equal elements.
func eachRun[T any](list []T, compare func(a, b T) int, equal func(a, b T) bool, yield func([]T)) {
	slices.SortFunc(list, compare)
	for len(list) > 0 {
		n := 1
		for n < len(list) && equal(list[0], list[n]) {
			n++
		}
		if n > 1 {
			yield(list[:n])
		}
		list = list[n:]
	}
}

// seed is fixed for the process: hashes only select the candidates for a comparison.
var seed = maphash.MakeSeed()

// findRepeats finds exchanges that are equal to a later one. It compares results only if their
// lengths are equal, then their beginnings, then all of them, and arguments only after that.
func (d *deduplicator) findRepeats(among []int, minBytes int) {
	const beginning = 64
	likely := make([]equalityKey, 0, len(among))
	for _, i := range among {
		x := &d.t.Exchanges()[i]
		// Decoding never makes a text longer.
		if n := d.t.Block(x.Results[0]).Body.Len(); n >= minBytes {
			likely = append(likely, equalityKey{tool: d.lookUpTool(x.Tool).number, size: n, exchange: i})
		}
	}
	alike := func(group []equalityKey, hash func(exchange int) uint64, yield func([]equalityKey)) {
		for i := range group {
			group[i].hash = hash(group[i].exchange)
		}
		eachRun(group, equalityKey.compare, equalityKey.equals, yield)
	}
	eachRun(withoutUnique(likely), equalityKey.compare, equalityKey.equals, func(sized []equalityKey) {
		alike(sized, func(i int) uint64 { r := d.result(i); return maphash.Bytes(seed, r[:min(len(r), beginning)]) }, func(begun []equalityKey) {
			alike(begun, func(i int) uint64 { return maphash.Bytes(seed, d.result(i)) }, func(answered []equalityKey) {
				alike(answered, func(i int) uint64 { return hashArguments(d.arguments(d.t.Exchanges()[i].Call)) }, d.findSameArguments)
			})
		})
	})
}

// withoutUnique removes exchanges whose size no other exchange of the tool has, which are most. A
// few remain because they share a slot with another size.
func withoutUnique(list []equalityKey) []equalityKey {
	const bits = 14
	var once, more [1 << bits / 64]uint64
	slot := func(l equalityKey) (int, uint64) {
		n := (uint64(l.size)*0x9e3779b97f4a7c15 + uint64(l.tool)*0xc2b2ae3d27d4eb4f) >> (64 - bits)
		return int(n / 64), 1 << (n % 64)
	}
	for _, l := range list {
		i, bit := slot(l)
		more[i] |= once[i] & bit
		once[i] |= bit
	}
	return slices.DeleteFunc(list, func(l equalityKey) bool {
		i, bit := slot(l)
		return more[i]&bit == 0
	})
}

// findSameArguments compares the arguments of exchanges that are most likely equal, latest first.
// Most are equal byte for byte; only the others are converted to canonical form.
func (d *deduplicator) findSameArguments(group []equalityKey) {
	written := make(map[string]int, 1)
	var meant map[string]int
	for _, l := range group {
		i := l.exchange
		x := &d.t.Exchanges()[i]
		args := d.arguments(x.Call)
		if isClearedArguments(args) || d.isResultCleared(x) {
			continue
		}
		by, ok := written[string(args)]
		switch {
		case !ok && len(written) == 0:
			by = i
		case !ok:
			if meant == nil {
				meant = make(map[string]int, 2)
				for only, by := range written {
					meant[string(dialect.Canonical([]byte(only)))] = by
				}
			}
			canonical := string(dialect.Canonical(args))
			if by, ok = meant[canonical]; !ok {
				by, meant[canonical] = i, i
			}
		}
		written[string(args)] = by
		if by != i && bytes.Equal(d.result(i), d.result(by)) {
			u := d.readCall(d.lookUpTool(x.Tool), x)
			d.found = append(d.found, laterFinding{i, by, true, subject{u.kind, u.file}})
		}
	}
}

// result returns the result of an exchange as JSON.
func (d *deduplicator) result(i int) []byte {
	return d.t.Bytes(d.t.Block(d.t.Exchanges()[i].Results[0]).Body)
}

// findCovered finds reads whose lines a later successful read shows.
func (d *deduplicator) findCovered(among []int) {
	var all []fileRead
	for _, i := range among {
		x := &d.t.Exchanges()[i]
		k := d.lookUpTool(x.Tool)
		if u, ok := d.readOf(k, x); ok {
			all = append(all, fileRead{k.number, u.file, i, u.lines})
		}
	}
	var starts []int
	var reach []fileRead
	whole := make(map[int]int) // by first line: the latest read without an end
	eachRun(all, fileRead.compare, fileRead.sameFile, func(reads []fileRead) {
		starts, reach = starts[:0], append(reach[:0], noReach)
		clear(whole)
		for _, r := range reads {
			starts = append(starts, r.lines.first)
		}
		slices.Sort(starts)
		starts = slices.Compact(starts)
		for range starts {
			reach = append(reach, noReach)
		}
		for _, r := range reads { // latest first
			rank, _ := slices.BinarySearch(starts, r.lines.first)
			rank++
			open := r.lines.sureEnd != r.lines.lastPossible // the tool stops at a limit of its own
			if by := furthestReach(reach, rank); by.lines.sureEnd >= r.lines.lastPossible {
				d.found = append(d.found, laterFinding{exchange: r.exchange, laterExchange: by.exchange, subject: subject{kindRead, r.path}})
			} else if by, ok := whole[r.lines.first]; ok && open {
				d.found = append(d.found, laterFinding{exchange: r.exchange, laterExchange: by, subject: subject{kindRead, r.path}})
			}
			if !d.showsContent(&d.t.Exchanges()[r.exchange]) {
				continue
			}
			extendReach(reach, rank, r)
			if _, ok := whole[r.lines.first]; !ok && open {
				whole[r.lines.first] = r.exchange
			}
		}
	})
}

// noReach is the reach of no read.
var noReach = fileRead{lines: lineRange{sureEnd: -1}}

// extendReach enters a read into a Fenwick tree over first lines. The tree stores how far the reads
// reach that begin at a line or before it.
func extendReach(reach []fileRead, rank int, r fileRead) {
	for ; rank < len(reach); rank += rank & -rank {
		if r.lines.sureEnd > reach[rank].lines.sureEnd {
			reach[rank] = r
		}
	}
}

// furthestReach returns the read that reaches furthest among those that begin at a rank or before
// it.
func furthestReach(reach []fileRead, rank int) fileRead {
	best := reach[0]
	for ; rank > 0; rank -= rank & -rank {
		if reach[rank].lines.sureEnd > best.lines.sureEnd {
			best = reach[rank]
		}
	}
	return best
}

// showsContent reports whether a read succeeded and its result contains the file.
func (s *historyView) showsContent(x *transcript.Exchange) bool {
	if s.outcome(x) != transcript.OutcomeSucceeded {
		return false
	}
	return s.t.Block(x.Results[0]).Body.Len() > shortResult || !refersToEarlier(s.resultHead(x.Results[0]))
}

// repeatedExchanges turns findings into votes.
func (s *historyView) repeatedExchanges(found []laterFinding, mode string) []uselessExchange {
	all := make([]uselessExchange, 0, len(found))
	for _, f := range found {
		// A failed read is cleared only if the very same failure follows.
		if s.isProtectedFile(f.subject.file) || !f.isExact && s.outcome(&s.t.Exchanges()[f.exchange]) == transcript.OutcomeFailed {
			continue
		}
		why := "the same was returned again by "
		if !f.isExact {
			why = "the file was read again by "
		}
		all = append(all, uselessExchange{
			exchange: f.exchange, subject: f.subject, reason: s.withLaterCall(why, f.laterExchange, ""), keepArguments: true,
			drop: mode == modeDrop && (f.subject.kind == kindRead || f.subject.kind == kindSearch),
		})
	}
	return all
}
