package planner

import (
	"errors"
	"math"
	"slices"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A windowSearch finds the first state of a chain that fits a window. It is used once, by one
// goroutine.
//
// The exact size of a state is known only after it is carried out, finished and measured, because
// finishing may add fillers and drop thinking. So stateSizes, which are cheap, choose the first
// state to try, and measuring decides. A limit works if it is at least the estimated and the
// measured size of some state. For messages, only the measured size counts, because no estimate
// knows which neighbors will be joined.
type windowSearch struct {
	p *windowPlanner
	r *wire.Request // repaired
	t *transcript.Transcript

	reserve    int  // tokens to reserve for a summary when content is lost
	markTokens int  // tokens of the mark that replaces lost content; 0: there is no mark
	probing    bool // only whether the window fits matters, and not the smallest limit

	index     *historyIndex // nil until the history is found not to fit, like chain
	chain     *chain
	limits    *constraints // of the history that the chain begins with
	meter     *tokenMeter
	texts     *replacementTexts
	batches   []trimBatch
	coldVotes func(beginning) (windowVotes, error)
	// stopsAtLoss makes meet return errLosesContent instead of a state that loses content.
	stopsAtLoss bool
}

// errLosesContent is the error for a window that only states without some content fit.
var errLosesContent = errors.New("content is lost")

func newWindowSearch(p *windowPlanner, reserve, markTokens int) *windowSearch {
	r := p.base.result()
	texts := newReplacementTexts(r, p.w.Archive)
	return &windowSearch{
		p: p, r: r, t: r.Transcript(), reserve: reserve, markTokens: markTokens,
		texts: texts, meter: newTokenMeter(r, p.o.Counter, texts), coldVotes: p.coldVoter(),
	}
}

// run meets one limit after the other. The error is a *WindowTooSmall if nothing fits.
//
// If content is lost and a mark replaces it, run meets a limit that is smaller by the tokens of the
// mark, but not smaller than the smallest that works. So the smallest limit is the same as without
// a mark, and a larger limit still keeps everything that a smaller one keeps.
func (s *windowSearch) run() (attempt, error) {
	limits := s.p.w.limits()
	if s.p.w.Low == 0 && s.isWithinAll(s.r, limits) {
		a, err := s.p.attempt(s, nil)
		if err != nil || !s.p.unended || s.isWithinAll(a.result(), limits) {
			return a, err
		}
	}
	s.index = newHistoryIndex(s.r)
	tokens := slices.IndexFunc(limits, func(l limit) bool { return l.unit == unitTokens })
	if s.markTokens == 0 || tokens < 0 {
		return s.meetAll(limits)
	}
	s.stopsAtLoss = true
	a, err := s.meetAll(limits)
	s.stopsAtLoss = false
	losesContent := err == errLosesContent || err == nil && s.chain.lostBlocks > 0
	if !losesContent {
		return a, err
	}
	return s.meetWithMark(limits, tokens)
}

// meetWithMark meets limits with room for a mark below the limit of tokens, which is
// limits[tokens].
func (s *windowSearch) meetWithMark(limits []limit, tokens int) (attempt, error) {
	full, marked := limits[tokens], slices.Clone(limits)
	marked[tokens].most = max(full.most-s.markTokens, s.p.w.Low+1)
	a, err := s.meetAll(marked)
	var tooSmall *WindowTooSmall
	if !errors.As(err, &tooSmall) {
		return a, err
	}
	if tooSmall.Unit == string(unitTokens) {
		if tooSmall.Minimum > full.most {
			return attempt{}, newWindowTooSmall(full, tooSmall.Minimum)
		}
		full.most = tooSmall.Minimum
	}
	marked[tokens] = full
	return s.meetAll(marked)
}

// meetAll meets limits, beginning with the history as it is.
func (s *windowSearch) meetAll(limits []limit) (a attempt, err error) {
	s.batches = nil
	if s.limits, err = s.constraintsAt(len(s.t.Messages()), false); err != nil {
		return attempt{}, err
	}
	s.chain = newChain(s.t, s.index.blocks)
	for i, l := range limits {
		if a, err = s.meet(l, limits[:i]); err != nil {
			return attempt{}, err
		}
	}
	return a, nil
}

// meet finds the first state that is within a limit and the earlier ones, and in which nothing is
// wrong.
func (s *windowSearch) meet(l limit, earlier []limit) (attempt, error) {
	isStable := l.unit == unitTokens && s.p.w.Low > 0
	if isStable {
		if err := s.replay(l.most); err != nil {
			return attempt{}, err
		}
	}
	if s.stopsAtLoss && l.unit == unitTokens && s.chain.lostBlocks > 0 {
		return attempt{}, errLosesContent
	}
	if a, fits, err := s.tryCurrent(l, earlier); fits || err != nil {
		return a, err
	}
	smallest := 0
	if !s.p.w.AllowTiny {
		smallest = s.smallestExchange(l)
	}
	s.layOutKeeping(l.unit)
	if smallest <= l.most {
		if a, fits, err := s.tryKeeping(l, earlier); fits || err != nil {
			return a, err
		}
	}
	s.layOutDropping(l.unit)
	sizes := s.newStateSizes(l.unit)
	if sizes.at(s.chain.end()) <= l.most && smallest <= l.most {
		if s.stopsAtLoss && l.unit == unitTokens && s.losesContentAt(sizes.firstWithin(l.most)) {
			return attempt{}, errLosesContent
		}
		if a, fits, err := s.tryAll(sizes, l, earlier); fits || err != nil {
			return a, err
		}
	}
	if s.probing && l.unit != unitMessages {
		return attempt{}, newWindowTooSmall(l, 0)
	}
	return s.meetSmallest(sizes, l, earlier, smallest)
}

// meetSmallest returns the state with the smallest size or, if that is above the limit, a
// *WindowTooSmall.
func (s *windowSearch) meetSmallest(sizes *stateSizes, l limit, earlier []limit, smallest int) (attempt, error) {
	minimum, at, err := s.minimum(sizes, earlier)
	if err != nil {
		return attempt{}, err
	}
	minimum = max(minimum, smallest)
	if l.unit == unitMessages && minimum <= l.most {
		return s.tryAt(at)
	}
	if l.unit == unitTokens && s.p.w.Low > 0 {
		minimum = s.stableMinimum(l, minimum)
	}
	return attempt{}, newWindowTooSmall(l, minimum)
}

// maxTries is how many states are tried one by one. Estimated and measured sizes hardly ever
// differ, and hardly ever is anything wrong with a state. If they do for a whole history, later
// tries skip states, so that the time stays linear.
const maxTries = 16

// stride returns the distance to the next state after some tries.
func stride(tries int) int {
	if tries <= maxTries {
		return 1
	}
	return 1 << min(tries-maxTries, 30)
}

// tryCurrent tries the current state.
func (s *windowSearch) tryCurrent(l limit, earlier []limit) (a attempt, fits bool, err error) {
	isUnchanged := s.chain.changedBlocks() == 0
	if isUnchanged && !s.isWithin(s.r, l) {
		return attempt{}, false, nil
	}
	if a, err = s.p.attempt(s, nil); err != nil {
		return attempt{}, false, err
	}
	fits = isUnchanged && len(earlier) == 0 && !s.p.unended || s.fits(a, l, earlier)
	return a, fits, nil
}

// tryKeeping tries the states that drop nothing, if one of them may be within a limit of tokens. It
// tries none of them if a later state may be larger: if a pinned block can grow by being shortened,
// or a summary needs room.
func (s *windowSearch) tryKeeping(l limit, earlier []limit) (a attempt, fits bool, err error) {
	if l.unit != unitTokens || s.reserve > 0 || !s.fitsWithoutDropping(l.most) || !s.squeezingSaves() {
		return attempt{}, false, nil
	}
	sizes := s.newStateSizes(unitTokens)
	tries := 0
	for k := sizes.firstWithin(l.most); k <= s.chain.end() && tries < maxTries; k++ {
		if !s.isWorthTrying(sizes, k) {
			continue
		}
		tries++
		if a, err = s.tryAt(k); err != nil {
			return attempt{}, false, err
		}
		if s.fits(a, l, earlier) {
			return a, true, nil
		}
	}
	s.chain.moveTo(s.chain.end())
	return attempt{}, false, nil
}

// tryAll tries states, beginning with the first one whose estimated size is within the limit.
func (s *windowSearch) tryAll(sizes *stateSizes, l limit, earlier []limit) (a attempt, fits bool, err error) {
	end, tries := s.chain.end(), 0
	for k := sizes.firstWithin(l.most); k <= end; k++ {
		if !s.isWorthTrying(sizes, k) {
			continue
		}
		tries++
		if tries > maxTries {
			k = min(k+stride(tries), end)
		}
		if a, err = s.tryAt(k); err != nil {
			return attempt{}, false, err
		}
		if s.fits(a, l, earlier) {
			return a, true, nil
		}
	}
	if tries <= maxTries {
		return attempt{}, false, nil
	}
	// A state that was skipped may fit.
	minimum, k, err := s.minimum(sizes, earlier)
	if err != nil || minimum > l.most {
		return attempt{}, false, err
	}
	a, err = s.tryAt(k)
	return a, err == nil, err
}

// isWorthTrying reports whether a state can be smaller than the one before it. If the end of the
// history may go, no estimate knows the message that finishing would add after it.
func (s *windowSearch) isWorthTrying(sizes *stateSizes, k int) bool {
	return s.p.unended || sizes.isSmaller(k)
}

// losesContentAt reports whether state k has lost content.
func (s *windowSearch) losesContentAt(k int) bool {
	s.chain.moveTo(k)
	return s.chain.lostBlocks > 0
}

func (s *windowSearch) tryAt(k int) (attempt, error) {
	s.chain.moveTo(k)
	return s.p.attempt(s, nil)
}

// fits reports whether the attempt at the current state is sound and within limits.
func (s *windowSearch) fits(a attempt, l limit, earlier []limit) bool {
	return a.isSound() && s.measureAttempt(a, l.unit, l.most) <= l.most && s.isWithinAll(a.result(), earlier)
}

// minimum returns the smallest limit that works, and a state that is within it. It tries states
// from the last one on, as long as an earlier one could be smaller.
func (s *windowSearch) minimum(sizes *stateSizes, earlier []limit) (minimum, at int, err error) {
	minimum = math.MaxInt
	tries := 0
	for k := s.chain.end(); k >= 0 && sizes.at(k) < minimum; k-- {
		if !s.isWorthTrying(sizes, k) {
			continue
		}
		a, err := s.tryAt(k)
		if err != nil {
			return 0, 0, err
		}
		if !a.isSound() || !s.isWithinAll(a.result(), earlier) {
			tries++
			if tries > maxTries {
				k = min(k, max(k-stride(tries), 1))
			}
			continue
		}
		size := s.measureAttempt(a, sizes.unit, math.MaxInt)
		if sizes.unit != unitMessages {
			size = max(size, sizes.at(k))
		}
		if size < minimum {
			minimum, at = size, k
		}
	}
	first, works, err := s.sizeOfFirst(sizes.unit, minimum, earlier)
	if err != nil {
		return 0, 0, err
	}
	if works && first < minimum {
		return first, 0, nil
	}
	return minimum, at, nil
}

// sizeOfFirst returns the measured size of the first state, which can be smaller than a later
// estimate. It stops measuring above enough.
func (s *windowSearch) sizeOfFirst(u unit, enough int, earlier []limit) (size int, works bool, err error) {
	s.chain.moveTo(0)
	if s.chain.changedBlocks() == 0 && !s.p.unended {
		return s.measure(s.r, u, enough), s.isWithinAll(s.r, earlier), nil
	}
	a, err := s.p.attempt(s, nil)
	if err != nil {
		return 0, false, err
	}
	return s.measureAttempt(a, u, enough), a.isSound() && s.isWithinAll(a.result(), earlier), nil
}

// smallestExchange returns the size of the smallest exchange of the history at its shortest. If one
// is within the limit, it may return any size within the limit.
func (s *windowSearch) smallestExchange(l limit) int {
	smallest := 0
	for _, x := range s.t.Exchanges()[compactedExchanges(s.t):] {
		size := 1
		switch l.unit {
		case unitMessages:
			atom := s.t.Atoms()[s.t.AtomOf(firstBlock(&x))]
			size = min(atom.Last-atom.First+1, 2)
		case unitTokens:
			size = s.shortestTokens(x)
		}
		if smallest == 0 || size < smallest {
			smallest = size
		}
		if smallest <= l.most {
			return smallest
		}
	}
	return smallest
}

// shortestTokens returns the tokens of an exchange with shortened arguments and cleared results.
func (s *windowSearch) shortestTokens(x transcript.Exchange) int {
	n := 0
	for _, b := range append([]transcript.BlockID{x.Call}, x.Results...) {
		if b != transcript.NoBlock {
			n += s.meter.frame + s.meter.tokensAt(b, s.shortestLevel(b))
		}
	}
	return n
}

func (s *windowSearch) shortestLevel(b transcript.BlockID) level {
	block := s.t.Block(b)
	isFixed := !dialect.Editable(s.r, b) || block.Body == block.Span || s.limits.locked.has(s.t.AtomOf(b))
	switch {
	case isFixed:
		return levelFull
	case block.Kind == transcript.Result && block.Body.Len() >= minClearedBytes:
		return levelCleared
	case block.Kind == transcript.Call && block.Body.Len() > level1K.maxBytes()*3/2:
		return level1K
	}
	return levelFull
}

// stepOf returns the step that changed a block last, and whether the block is gone.
func (s *windowSearch) stepOf(b transcript.BlockID) (step windowStep, isGone bool) {
	if s.chain == nil {
		return stepNone, false
	}
	return s.chain.steps[b], s.chain.levels[b] == levelGone
}

// blockChanges returns the blocks that the current state drops and edits, in order.
func (s *windowSearch) blockChanges() (drops []transcript.BlockID, edits []wire.BlockEdit) {
	if s.chain == nil {
		return nil, nil
	}
	drops = make([]transcript.BlockID, 0, s.chain.goneBlocks)
	for i, v := range s.chain.levels {
		b := transcript.BlockID(i)
		switch {
		case s.chain.steps[b] == stepNone:
		case v == levelGone:
			drops = append(drops, b)
		default:
			edits = append(edits, wire.BlockEdit{Block: b, Text: s.texts.text(b, v)})
		}
	}
	return drops, edits
}

// isLocked reports whether every byte of an atom stays.
func (s *windowSearch) isLocked(a transcript.AtomID) bool {
	return s.limits != nil && s.limits.locked.has(a)
}

// lostBlocks returns the blocks that the current state drops and that a summary should replace, by
// the batch that dropped them.
func (s *windowSearch) lostBlocks() [][]transcript.BlockID {
	if s.chain == nil || s.chain.lostBlocks == 0 {
		return nil
	}
	batchOf := make(map[transcript.BlockID]int)
	for i, batch := range s.batches {
		for _, b := range batch.dropped {
			if _, found := batchOf[b]; !found {
				batchOf[b] = i
			}
		}
	}
	lost := make([][]transcript.BlockID, len(s.batches)+1)
	for i, v := range s.chain.levels {
		b := transcript.BlockID(i)
		if v != levelGone || !s.chain.steps[b].losesContent() {
			continue
		}
		batch, found := batchOf[b]
		if !found {
			batch = len(s.batches) // after the last batch
		}
		lost[batch] = append(lost[batch], b)
	}
	return slices.DeleteFunc(lost, func(blocks []transcript.BlockID) bool { return len(blocks) == 0 })
}
