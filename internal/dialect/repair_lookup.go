package dialect

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// lookups are what a round of repairing finds out once. A turn, a message, a result or an id
// may have tens of thousands of blocks, each with a finding: what one of them asks about its
// surroundings, the others ask too.
type lookups struct {
	unnamed struct { // the message that was last asked for its role, and whether it has none
		at transcript.Span
		is bool
	}
	calls    map[string][]transcript.ExchangeID // with a call, by id; see callsOf
	asked    int                                // how often one was looked for without that
	twins    map[string][]twin                  // by id; see firstTwin
	waiting  map[waitKey]*freeList              // calls that nothing answers, by id, tool and family
	own      map[int]*ownTurn                   // by turn; see ownResult
	lone     map[int]transcript.BlockID         // by turn; see loneStray
	starts   map[int]transcript.BlockID         // by turn: its first call
	leading  map[int]int                        // by message: how many results it starts with
	last     map[int]int                        // by message: the place of its last result
	answered map[int]int                        // by turn: its last message with results
	runs     messageRuns
	spoken   map[transcript.BlockID]string                // what results say; see said
	spelled  map[transcript.Span]string                   // values in one spelling
	items    map[transcript.BlockID][]jsonspan.Span       // of results; see elements
	refs     map[transcript.BlockID]*refList              // what goes of lists inside of blocks; see listIn
	usedIDs  map[string]note                              // the first note about an item id that is used again
	tried    map[attempt]bool                             // what could not be done in this round
	flawed   map[jsonspan.FlawKind][]int                  // where flaws of a kind stand, in order
	way      way                                          // to the copies of keys; see dropCopy
	leads    map[transcript.BlockID][]transcript.BlockID  // by call: the reasoning that leads to it
	callees  map[transcript.BlockID][]transcript.BlockID  // by program: what it called, and the outputs
	inners   map[jsonspan.Span]map[string][]jsonspan.Span // of objects and lists that lose some; see innerOf
	home     map[transcript.BlockID]bool                  // calls that got a result back in this round
	retools  map[int]bool                                 // messages that change tools; see changesTools
	hoisted  map[string]bool                              // tools that the head got in this round
}

// An attempt is a repair of a message, turn or exchange as a whole.
type attempt struct {
	fault fault
	index int
}

// again reports whether a repair was tried before, and remembers that it is now: what could
// not be done for one finding of this round cannot be done for the next of the same kind.
func (m *repairer) again(f *Finding, index int) bool {
	a := attempt{f.fault, index}
	if m.tried[a] {
		return true
	}
	if m.tried == nil {
		m.tried = make(map[attempt]bool)
	}
	m.tried[a] = true
	return false
}

// A freeList is blocks in order, of which those that are not free any more are passed over
// for good: within a round nothing becomes free again.
type freeList struct {
	blocks []transcript.BlockID
	next   []int // by block: where to look on if it is not free
}

func (l *freeList) add(b transcript.BlockID) {
	l.blocks = append(l.blocks, b)
	l.next = append(l.next, len(l.blocks))
}

// behind returns the first free block behind b.
func (l *freeList) behind(b transcript.BlockID, free func(transcript.BlockID) bool) transcript.BlockID {
	if l == nil {
		return transcript.NoBlock
	}
	start, found := slices.BinarySearch(l.blocks, b)
	if found {
		start++
	}
	i := start
	for i < len(l.blocks) && !free(l.blocks[i]) {
		i = l.next[i]
	}
	for start < i { // the next one to come this way goes straight there
		start, l.next[start] = l.next[start], i
	}
	if i == len(l.blocks) {
		return transcript.NoBlock
	}
	return l.blocks[i]
}

// A waitKey is what a result must have in common with the call it belongs to.
type waitKey struct {
	id, tool string
	family   uint8
}

// A twin is a call of an id that others have too.
type twin struct {
	call  transcript.BlockID
	first transcript.BlockID // the call in front of it that it repeats; NoBlock: none
}

// callsOf lists the exchanges that have a call of that id, in order. Nearly always few are
// looked for, and that is quicker than to know where all are.
func (m *repairer) callsOf(id string) []transcript.ExchangeID {
	const few = 8
	all := m.t.Exchanges()
	if m.asked++; m.asked <= few {
		var found []transcript.ExchangeID
		for i := range all {
			if all[i].CallID == id && all[i].Call != transcript.NoBlock {
				found = append(found, transcript.ExchangeID(i))
			}
		}
		return found
	}
	if m.calls == nil {
		m.calls = make(map[string][]transcript.ExchangeID, len(all))
		ones := make([]transcript.ExchangeID, len(all)) // an id mostly has one call
		for i := range all {
			if all[i].Call == transcript.NoBlock {
				continue
			}
			found := m.calls[all[i].CallID]
			if found == nil {
				found = ones[i : i : i+1]
			}
			m.calls[all[i].CallID] = append(found, transcript.ExchangeID(i))
		}
	}
	return m.calls[id]
}

// earlier is how many of some exchanges, which are in order, stand in front of x.
func earlier(all []transcript.ExchangeID, x transcript.ExchangeID) int {
	n, _ := slices.BinarySearch(all, x)
	return n
}

// asks reports whether any call has that id.
func (m *repairer) asks(id string) bool {
	return id != "" && len(m.callsOf(id)) > 0
}

// firstTwin returns the call in front of another one whose id it repeats.
func (m *repairer) firstTwin(x transcript.Exchange) transcript.BlockID {
	all, known := m.twins[x.CallID]
	if !known {
		for _, id := range m.callsOf(x.CallID) {
			o := m.t.Exchanges()[id]
			t := twin{call: o.Call, first: transcript.NoBlock}
			if !o.Repeats {
				t.first = o.Call // for those behind it
			}
			all = append(all, t)
		}
		slices.SortFunc(all, func(a, b twin) int { return int(a.call - b.call) })
		before := transcript.NoBlock
		if len(all) > 0 {
			before = all[0].call
		}
		for i := range all {
			own := all[i].first
			all[i].first = before
			if own != transcript.NoBlock {
				before = own
			}
		}
		if m.twins == nil {
			m.twins = make(map[string][]twin)
		}
		m.twins[x.CallID] = all
	}
	i, ok := slices.BinarySearchFunc(all, x.Call, func(t twin, b transcript.BlockID) int { return int(t.call - b) })
	if !ok || all[i].first >= x.Call {
		return transcript.NoBlock
	}
	return all[i].first
}

// laterCall returns a later call of the same id and tool that nothing answers.
func (m *repairer) laterCall(x transcript.Exchange) transcript.BlockID {
	if m.waiting == nil {
		m.waiting = make(map[waitKey]*freeList)
		for _, o := range m.t.Exchanges() {
			if o.Call == transcript.NoBlock || o.State != transcript.OrphanCall && o.State != transcript.Open {
				continue
			}
			k := waitKey{o.CallID, o.Tool, uint8(m.t.Block(o.Call).Family)}
			if m.waiting[k] == nil {
				m.waiting[k] = new(freeList)
			}
			m.waiting[k].add(o.Call)
		}
		for _, l := range m.waiting {
			slices.Sort(l.blocks)
		}
	}
	return m.waiting[waitKey{x.CallID, x.Tool, uint8(m.t.Block(x.Call).Family)}].behind(x.Call, m.free)
}

// An ownTurn is a turn of the assistant with results in it, by what tells them apart.
type ownTurn struct {
	results map[waitKey]*freeList
	calls   map[waitKey][]transcript.BlockID // that nothing answers
}

// ownKey is by what a result in the assistant's turn belongs to a call.
func (m *repairer) ownKey(b transcript.BlockID) waitKey {
	blk := m.t.Block(b)
	k := waitKey{id: blk.CallID, family: uint8(blk.Family)}
	if k.id == "" {
		k.tool = blk.Tool
	}
	return k
}

// ownOf looks a turn through once for results that stand in it although the assistant speaks
// there; nil if there are none, which is the rule.
func (m *repairer) ownOf(turn int) *ownTurn {
	own, known := m.own[turn]
	if known {
		return own
	}
	for b, end := m.turnBlocks(turn); b < end; b++ {
		if blk := m.t.Block(b); blk.Kind != transcript.Result || m.t.Messages()[blk.Message].Role != transcript.Assistant {
			continue
		}
		if own == nil {
			own = &ownTurn{make(map[waitKey]*freeList), make(map[waitKey][]transcript.BlockID)}
		}
		k := m.ownKey(b)
		if own.results[k] == nil {
			own.results[k] = new(freeList)
		}
		own.results[k].add(b)
	}
	for b, end := m.turnBlocks(turn); own != nil && b < end; b++ {
		if m.t.Block(b).Kind != transcript.Call {
			continue
		}
		if x := m.t.Exchanges()[m.t.ExchangeOf(b)]; len(x.Results) == 0 && x.State != transcript.Duplicate {
			k := m.ownKey(b)
			own.calls[k] = append(own.calls[k], b)
		}
	}
	if m.own == nil {
		m.own = make(map[int]*ownTurn)
	}
	m.own[turn] = own
	return own
}

// ownResult returns the result of a call that stands in the assistant's own turn.
func (m *repairer) ownResult(x transcript.Exchange) transcript.BlockID {
	own := m.ownOf(m.t.Messages()[m.t.Block(x.Call).Message].Turn)
	if own == nil {
		return transcript.NoBlock
	}
	k := waitKey{id: x.CallID, family: uint8(m.t.Block(x.Call).Family)}
	if k.id == "" {
		k.tool = x.Tool
	}
	r := own.results[k].behind(x.Call, m.free)
	if r != transcript.NoBlock && m.namedOtherwise(x, r) {
		return transcript.NoBlock
	}
	return r
}

// namedOtherwise reports whether a result names another tool than a call.
func (m *repairer) namedOtherwise(x transcript.Exchange, result transcript.BlockID) bool {
	name := m.t.Block(result).Tool
	return name != "" && x.Tool != "" && name != x.Tool
}

// isHomeless reports whether the result stands in the assistant's turn behind a
// call of its own that nothing answers.
func (m *repairer) isHomeless(b transcript.BlockID) bool {
	msg := m.t.Messages()[m.t.Block(b).Message]
	if msg.Role != transcript.Assistant || !m.g.nested {
		return false
	}
	own := m.ownOf(msg.Turn)
	if own == nil {
		return false
	}
	// Of all calls in front of it, the nearest has the fewest results in between.
	calls := own.calls[m.ownKey(b)]
	i, _ := slices.BinarySearch(calls, b)
	return i > 0 && m.ownResult(m.t.Exchanges()[m.t.ExchangeOf(calls[i-1])]) == b
}

// awaitsRelink reports whether the result will be given to the call before it.
func (m *repairer) awaitsRelink(b transcript.BlockID) bool {
	turn := m.t.Messages()[m.t.Block(b).Message].Turn - 1
	first, known := m.starts[turn]
	if !known {
		first = transcript.NoBlock
		for c, end := m.turnBlocks(turn); c < end && first == transcript.NoBlock; c++ {
			if m.t.Block(c).Kind == transcript.Call {
				first = c
			}
		}
		if m.starts == nil {
			m.starts = make(map[int]transcript.BlockID)
		}
		m.starts[turn] = first
	}
	if first == transcript.NoBlock {
		return false
	}
	x := m.t.Exchanges()[m.t.ExchangeOf(first)]
	return x.State == transcript.OrphanCall && x.CallID != "" && m.loneStray(x) == b
}

// loneStray returns the only result behind the only call of a turn, if it answers
// no call of the whole history by its id: it can belong nowhere else.
func (m *repairer) loneStray(x transcript.Exchange) transcript.BlockID {
	turn := m.t.Messages()[m.t.Block(x.Call).Message].Turn
	lone, known := m.lone[turn]
	if !known {
		lone = m.findLoneStray(x, turn)
		if m.lone == nil {
			m.lone = make(map[int]transcript.BlockID)
		}
		m.lone[turn] = lone
	}
	return lone
}

func (m *repairer) findLoneStray(x transcript.Exchange, turn int) transcript.BlockID {
	if m.g.discipline == transcript.Anywhere {
		return transcript.NoBlock
	}
	calls, results, stray := 0, 0, transcript.NoBlock
	for b, end := m.turnBlocks(turn); b < end && calls < 2; b++ {
		if m.t.Block(b).Kind == transcript.Call {
			calls++
		}
	}
	for b, end := m.turnBlocks(turn + 1); b < end && results < 2 && calls == 1; b++ {
		if m.t.Block(b).Kind == transcript.Result {
			results++
			stray = b
		}
	}
	if calls != 1 || results != 1 || m.t.Exchanges()[m.t.ExchangeOf(stray)].State != transcript.OrphanResult || m.asks(m.t.Block(stray).CallID) {
		return transcript.NoBlock
	}
	if m.t.Block(stray).Family != m.t.Block(x.Call).Family {
		return transcript.NoBlock
	}
	if m.namedOtherwise(x, stray) {
		return transcript.NoBlock
	}
	return stray
}

// firstItem returns the first note about an item id that is used again.
func (m *repairer) firstItem(id string) (note, bool) {
	if m.usedIDs == nil {
		m.usedIDs = make(map[string]note)
		for _, n := range m.notes {
			if _, known := m.usedIDs[n.arg]; n.fault == repeatedItemID && !known {
				m.usedIDs[n.arg] = n
			}
		}
	}
	n, ok := m.usedIDs[id]
	return n, ok
}

// flawsIn lists where in a span flaws of a kind stand.
func (m *repairer) flawsIn(s transcript.Span, kind jsonspan.FlawKind) []int {
	if m.flawed == nil {
		m.flawed = make(map[jsonspan.FlawKind][]int)
		for _, flaw := range m.flaws {
			m.flawed[flaw.Kind] = append(m.flawed[flaw.Kind], flaw.Offset)
		}
		for _, all := range m.flawed {
			slices.Sort(all)
		}
	}
	all := m.flawed[kind]
	first, _ := slices.BinarySearch(all, s.Start)
	end, _ := slices.BinarySearch(all, s.End)
	return all[first:end]
}

// halvesIn lists where in a span halves of surrogate pairs stand.
func (m *repairer) halvesIn(s transcript.Span) []int { return m.flawsIn(s, jsonspan.LoneSurrogate) }

// flawOffset is the byte that a finding about the text itself names.
func flawOffset(f *Finding) (int, bool) {
	at, _, _ := strings.Cut(strings.TrimPrefix(f.arg, "byte "), ";")
	offset, err := strconv.Atoi(at)
	return offset, err == nil
}

// calleesOf lists what a program called, and the outputs of that.
func (m *repairer) calleesOf(program transcript.BlockID) []transcript.BlockID {
	if m.callees == nil {
		m.callees = make(map[transcript.BlockID][]transcript.BlockID)
		callees(m.t.Blocks(), m.notes, func(callee, program transcript.BlockID) {
			m.callees[program] = append(m.callees[program], callee)
		})
	}
	return m.callees[program]
}

// dismiss lets what a program called stand for itself: the program goes.
func (m *repairer) dismiss(f *Finding, program transcript.BlockID) {
	for _, b := range m.calleesOf(program) {
		if m.free(b) && m.removeMember(m.t.Block(b).Span, "caller") {
			m.logMember(f, b, "caller", "caller removed: the program is gone that called")
		}
	}
}
