package planner

import (
	"cmp"
	"maps"
	"slices"
	"sort"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/transcript"
)

// layOutKeeping starts a new chain with the steps that drop nothing except by the votes of rules.
func (s *windowSearch) layOutKeeping(u unit) {
	s.chain.begin(atomsBefore(s.t, s.limits.end))
	s.layOutRules()
	if u == unitTokens {
		s.layOutClear(false)
		s.layOutShorten(level16K, false)
		s.layOutShorten(level4K, false)
		s.layOutClear(true)
	}
	s.chain.position = s.chain.end()
}

// layOutDropping adds the remaining steps to the chain.
func (s *windowSearch) layOutDropping(u unit) {
	if u != unitTurns {
		s.layOutExchanges()
	}
	if u != unitExchanges {
		s.layOutTurns()
	}
	if u == unitTokens {
		s.layOutShorten(level1K, true)
		s.layOutClearPinned()
	}
	s.chain.position = s.chain.end()
}

// layOutAll starts a new chain with all steps.
func (s *windowSearch) layOutAll(u unit) {
	s.layOutKeeping(u)
	s.layOutDropping(u)
}

// layOutClearing starts a new chain that ends with the step that clears old results.
func (s *windowSearch) layOutClearing() {
	s.chain.begin(atomsBefore(s.t, s.limits.end))
	s.layOutRules()
	s.layOutClear(false)
	s.chain.position = s.chain.end()
}

// layOutOnlyRules starts a new chain with only the votes of rules.
func (s *windowSearch) layOutOnlyRules() {
	s.chain.begin(atomsBefore(s.t, s.limits.end))
	s.layOutRules()
	s.chain.position = s.chain.end()
}

// layOutRules adds the votes of the rules, as one transition.
func (s *windowSearch) layOutRules() {
	limits := s.limits
	for a, isDropped := range limits.votes.drop {
		if isDropped && s.t.Atoms()[a].First < limits.end {
			s.chain.drop(limits, transcript.AtomID(a), stepRules)
		}
	}
	for _, b := range slices.Sorted(maps.Keys(limits.votes.edits)) {
		if int(b) < limits.blocks() && !limits.locked.has(s.t.AtomOf(b)) {
			s.chain.raise(b, levelEdited, stepRules)
		}
	}
	s.chain.endTransition(stepRules)
}

// layOutClear clears old results, one transition each: those that the agent works by, such as
// instructions and plans, or all others.
func (s *windowSearch) layOutClear(guidance bool) {
	exchanges := s.inOrder(oldExchanges(s.limits.exchanges(), s.p.w.recent()))
	for i := range exchanges {
		if s.isGuidance(&exchanges[i]) == guidance {
			s.clearResults(&exchanges[i], stepClear)
		}
	}
}

// layOutClearPinned clears the results that are pinned.
func (s *windowSearch) layOutClearPinned() {
	exchanges := s.limits.exchanges()
	for i := min(s.chain.goneExchanges, len(exchanges)); i < len(exchanges); i++ {
		s.clearResults(&exchanges[i], stepSqueeze)
	}
}

// clearResults clears the results of an exchange, one transition each.
func (s *windowSearch) clearResults(x *transcript.Exchange, step windowStep) {
	for _, b := range x.Results {
		if s.isClearable(b, step == stepSqueeze) {
			s.chain.raise(b, levelCleared, step)
			s.chain.endTransition(step)
		}
	}
}

// isClearable reports whether a placeholder may replace a block that is pinned, or not pinned.
func (s *windowSearch) isClearable(b transcript.BlockID, pinned bool) bool {
	v := s.chain.levels[b]
	if !s.chain.facts[b].clearable || v == levelEdited || v >= levelCleared {
		return false
	}
	a := s.t.AtomOf(b)
	return !s.limits.locked.has(a) && s.limits.pinned.has(a) == pinned
}

// layOutShorten shortens results and arguments that are longer than a level, one transition each.
// It skips results that the agent works by, which are cleared later. With pinnedOnly, it shortens
// only pinned blocks, including these results.
func (s *windowSearch) layOutShorten(to level, pinnedOnly bool) {
	step := stepShorten
	if pinnedOnly {
		step = stepSqueeze
	}
	exchanges := s.limits.exchanges()
	shorten := func(x *transcript.Exchange) {
		isPinned := s.limits.pinned.has(s.t.AtomOf(firstBlock(x)))
		if pinnedOnly && !isPinned || !pinnedOnly && s.isGuidance(x) {
			return
		}
		s.shortenBlock(x.Call, to, step)
		for _, b := range x.Results {
			s.shortenBlock(b, to, step)
		}
	}
	if s.isOldestFirst() && to < level1K {
		for _, i := range s.index.longExchangesIn(s.chain.goneExchanges, len(exchanges)) {
			shorten(&exchanges[i])
		}
		return
	}
	exchanges = s.inOrder(exchanges)
	for i := range exchanges {
		shorten(&exchanges[i])
	}
}

func (s *windowSearch) shortenBlock(b transcript.BlockID, to level, step windowStep) {
	if b != transcript.NoBlock && s.isShortenable(b, to) {
		s.chain.raise(b, to, step)
		s.chain.endTransition(step)
	}
}

// isShortenable reports whether a block may be shortened to a level. A block that is only a little
// longer stays.
func (s *windowSearch) isShortenable(b transcript.BlockID, to level) bool {
	block := &s.t.Blocks()[b]
	if block.Kind != transcript.Call && block.Kind != transcript.Result {
		return false
	}
	maxBytes := to.maxBytes()
	if block.Body == block.Span || block.Body.Len() <= maxBytes+maxBytes/2 {
		return false
	}
	v := s.chain.levels[b]
	if v == levelEdited || v >= levelCleared || s.limits.locked.has(s.t.AtomOf(b)) {
		return false
	}
	return dialect.Editable(s.r, b) && !hasMedia(s.r, b)
}

// isGuidance reports whether the agent works by the text of an exchange.
func (s *windowSearch) isGuidance(x *transcript.Exchange) bool {
	return s.index.isGuidance[s.t.ExchangeOf(firstBlock(x))]
}

// fitsWithoutDropping reports whether the current state, in which nothing was dropped, is within a
// limit of tokens. It counts from the newest message, which stays longest, and only as far as
// necessary.
func (s *windowSearch) fitsWithoutDropping(most int) bool {
	n, messages := s.meter.headTokens(), s.t.Messages()
	for i := s.limits.end - 1; i >= s.t.StartMessage() && n <= most; i-- {
		n += s.meter.frame
		for b := messages[i].First; b < messages[i].End; b++ {
			n += s.meter.tokensAt(b, s.chain.levels[b])
		}
	}
	return n <= most
}

// squeezingSaves reports whether every pinned block gets smaller with each step that shortens or
// clears it. A placeholder can be longer than the block.
func (s *windowSearch) squeezingSaves() bool {
	blocks := transcript.BlockID(s.limits.blocks())
	for _, a := range s.limits.pinned.list {
		for _, b := range s.t.Atoms()[a].Blocks {
			x := s.t.ExchangeOf(b)
			isInHistory := x != transcript.NoExchange && firstBlock(&s.t.Exchanges()[x]) < blocks
			if isInHistory && !s.squeezingSavesOn(b) {
				return false
			}
		}
	}
	return true
}

func (s *windowSearch) squeezingSavesOn(b transcript.BlockID) bool {
	from := s.levelBeforeDropping(b)
	tokens := s.meter.tokensAt(b, from)
	for _, to := range []level{level1K, levelCleared} {
		isPossible := to > from
		if to == level1K {
			isPossible = isPossible && s.isShortenable(b, to)
		} else {
			isPossible = isPossible && s.isClearable(b, true)
		}
		if !isPossible {
			continue
		}
		smaller := s.meter.tokensAt(b, to)
		if smaller > tokens {
			return false
		}
		tokens = smaller
	}
	return true
}

// levelBeforeDropping returns the level of a pinned block after the steps that drop nothing.
func (s *windowSearch) levelBeforeDropping(b transcript.BlockID) level {
	v := s.chain.levels[b]
	if x := s.t.ExchangeOf(b); x != transcript.NoExchange && s.isGuidance(&s.t.Exchanges()[x]) {
		return v
	}
	if v < level4K && s.isShortenable(b, level4K) {
		return level4K
	}
	return v
}

// inOrder sorts exchanges by the order in which the window removes them.
func (s *windowSearch) inOrder(exchanges []transcript.Exchange) []transcript.Exchange {
	if s.isOldestFirst() {
		return exchanges[min(s.chain.goneExchanges, len(exchanges)):]
	}
	order := sortedByRank(len(exchanges), func(i int) int {
		return s.rank(s.t.AtomOf(firstBlock(&exchanges[i])), i, len(exchanges))
	})
	sorted := make([]transcript.Exchange, len(exchanges))
	for i, from := range order {
		sorted[i] = exchanges[from]
	}
	return sorted
}

func (s *windowSearch) isOldestFirst() bool { return !s.p.w.MiddleOut && s.p.w.Priority == nil }

// rank returns the rank of item i of n, which is an atom or contains one. The lowest rank is
// removed first.
func (s *windowSearch) rank(a transcript.AtomID, i, n int) int {
	if s.p.w.MiddleOut {
		return max(2*i-n+1, n-1-2*i) // twice the distance from the middle
	}
	return s.p.w.Priority(s.r, a)
}

// sortedByRank returns the numbers below n, sorted by rank.
func sortedByRank(n int, rank func(int) int) []int {
	ranks, order := make([]int, n), make([]int, n)
	for i := range n {
		ranks[i], order[i] = rank(i), i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ranks[a], ranks[b]) })
	return order
}

// layOutExchanges drops exchanges, one transition each.
func (s *windowSearch) layOutExchanges() {
	goneCalls := s.goneCallsByRun()
	exchanges := s.inOrder(s.limits.exchanges())
	for i := range exchanges {
		s.dropExchange(&exchanges[i], goneCalls)
	}
}

// dropExchange drops an exchange. When the last call of a run of messages goes, the preceding text
// of the model goes with it, because it announces calls that are gone. It updates goneCalls.
func (s *windowSearch) dropExchange(x *transcript.Exchange, goneCalls []int) {
	c := s.chain
	first := len(c.changes)
	s.dropUnlessNeeded(s.t.AtomOf(firstBlock(x)), stepDropExchanges)
	for i := first; i < len(c.changes); i++ { // dropPrecedingText adds changes
		fact := &c.facts[c.changes[i].block]
		if c.changes[i].to != levelGone || !isCall(fact.kind) {
			continue
		}
		run := s.index.runOf[fact.message]
		goneCalls[run]++
		if goneCalls[run] == s.index.runs[run].calls {
			s.dropPrecedingText(s.index.runs[run].lastCall)
		}
	}
	c.endTransition(stepDropExchanges)
}

// goneCallsByRun returns how many calls of each run are gone. It skips the runs before the first
// exchange that is not gone.
func (s *windowSearch) goneCallsByRun() []int {
	gone := make([]int, len(s.index.runs))
	exchanges := s.t.Exchanges()[s.chain.goneExchanges:]
	if len(exchanges) == 0 || s.chain.goneBlocks == 0 {
		return gone
	}
	first := int(s.chain.facts[firstBlock(&exchanges[0])].message)
	for first > 0 && s.index.runOf[first-1] == s.index.runOf[first] {
		first--
	}
	for b := blockCount(s.t, first); b < len(s.chain.levels); b++ {
		fact := &s.chain.facts[b]
		if s.chain.levels[b] == levelGone && isCall(fact.kind) {
			gone[s.index.runOf[fact.message]]++
		}
	}
	return gone
}

// dropPrecedingText drops the text and thinking of the model before the last call of a run.
func (s *windowSearch) dropPrecedingText(lastCall transcript.BlockID) {
	for b := lastCall - 1; b >= 0; b-- {
		fact := &s.chain.facts[b]
		if s.t.Messages()[fact.message].Role != transcript.Assistant {
			return
		}
		if fact.kind == transcript.Text || fact.kind == transcript.Thinking {
			s.chain.drop(s.limits, s.t.AtomOf(b), stepDropExchanges)
		}
	}
}

// layOutTurns drops the rest of turns, one transition each: the turns before the newest one, then
// the content of the newest one that is not pinned.
func (s *windowSearch) layOutTurns() {
	if s.limits.end == 0 {
		return
	}
	if s.isOldestFirst() {
		s.layOutOldestTurns()
	} else {
		s.layOutRankedTurns()
	}
	s.dropPostponed(stepDropTurns)
}

func (s *windowSearch) layOutOldestTurns() {
	turns, end := s.index.turnsBefore(s.limits.end), atomsBefore(s.t, s.limits.end)
	current := 0
	for _, a := range s.chain.living.list {
		if a >= end {
			break
		}
		turn := sort.Search(len(turns), func(i int) bool { return turns[i].atoms > a })
		if turn != current {
			s.chain.endTransition(stepDropTurns)
			current = turn
		}
		s.dropUnlessNeeded(a, stepDropTurns)
	}
	s.chain.endTransition(stepDropTurns)
}

func (s *windowSearch) layOutRankedTurns() {
	ends := s.turnEnds()
	older := len(ends) - 1
	start := func(i int) transcript.AtomID {
		if i == 0 {
			return 0
		}
		return ends[i-1]
	}
	rank := func(i int) int { return s.turnRank(start(i), ends[i], i, older) }
	for _, i := range append(sortedByRank(older, rank), older) {
		for a := start(i); a < ends[i]; a++ {
			s.dropUnlessNeeded(a, stepDropTurns)
		}
		s.chain.endTransition(stepDropTurns)
	}
}

// turnEnds returns, for each turn of the user, how many atoms begin before its end.
func (s *windowSearch) turnEnds() (ends []transcript.AtomID) {
	for _, next := range s.index.turnsBefore(s.limits.end) {
		ends = append(ends, next.atoms)
	}
	return append(ends, atomsBefore(s.t, s.limits.end))
}

// turnRank returns the highest rank of the atoms of a turn.
func (s *windowSearch) turnRank(first, end transcript.AtomID, i, n int) int {
	highest := 0
	for a := first; a < end; a++ {
		if rank := s.rank(a, i, n); a == first || rank > highest {
			highest = rank
		}
	}
	return highest
}

// dropUnlessNeeded drops an atom, unless an atom of another turn needs it: a search that declared a
// tool, for example, is old but still in use. Such an atom is postponed until the last atom that
// needs it goes.
func (s *windowSearch) dropUnlessNeeded(a transcript.AtomID, step windowStep) {
	c := s.chain
	if s.isNeeded(a) {
		c.postponed[a] = true
		return
	}
	first := len(c.changes)
	c.drop(s.limits, a, step)
	for i := first; i < len(c.changes) && len(c.postponed) > 0; i++ { // drop adds changes
		if c.changes[i].to != levelGone {
			continue
		}
		for _, needed := range s.limits.needs.Of(s.t.AtomOf(c.changes[i].block)) {
			if c.postponed[needed] && !s.isNeeded(needed) {
				c.drop(s.limits, needed, step)
			}
		}
	}
}

// isNeeded reports whether a remaining atom of another turn needs an atom, directly or not. Atoms
// that need each other are dropped together and do not count.
func (s *windowSearch) isNeeded(a transcript.AtomID) bool {
	graph := s.limits.needs
	if len(graph.Dependents(a)) == 0 {
		return false
	}
	turn := func(a transcript.AtomID) int { return s.t.Messages()[s.t.Atoms()[a].First].Turn }
	remains := func(a transcript.AtomID) bool {
		return s.t.Atoms()[a].First < s.limits.end && !s.chain.isGone(a)
	}
	queue, seen := []transcript.AtomID{a}, map[transcript.AtomID]bool{a: true}
	for i := 0; i < len(queue); i++ {
		for _, dependent := range slices.Backward(graph.Dependents(queue[i])) { // the newest ones remain longest
			if seen[dependent] || !remains(dependent) || slices.Contains(graph.Of(a), dependent) {
				continue
			}
			if turn(dependent) != turn(a) {
				return true
			}
			seen[dependent] = true
			queue = append(queue, dependent)
		}
	}
	return false
}

// dropPostponed drops the atoms that are still postponed, because they need each other in a circle.
func (s *windowSearch) dropPostponed(step windowStep) {
	for _, a := range slices.Sorted(maps.Keys(s.chain.postponed)) {
		s.chain.drop(s.limits, a, step)
	}
	s.chain.endTransition(step)
}
