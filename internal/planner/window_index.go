package planner

import (
	"slices"
	"sort"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/needs"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// minClearedBytes is the size of the shortest result that a placeholder may replace.
const minClearedBytes = 400

// A historyIndex lists the places of a history that a window looks for.
type historyIndex struct {
	blocks        []blockFact
	held          []heldMessage // in order
	spoken        []int         // messages in which the user speaks, in order
	empty         []int         // messages without blocks, in order
	turns         []userTurn    // without the first one, in order
	reach         []int         // by atom: the last message of this atom and all earlier ones
	longExchanges []int         // the exchanges with a block that may be shortened, in order
	runs          []roleRun     // in order
	runOf         []int         // by message
	needs         *needs.Graph
	isGuidance    []bool // by exchange: whether the agent works by its text
}

// A blockFact has the facts about a block that a window uses.
type blockFact struct {
	message   int32
	kind      transcript.Kind
	clearable bool // a placeholder may replace it
}

// A roleRun is a sequence of messages of one role.
type roleRun struct {
	calls    int
	lastCall transcript.BlockID
}

// A heldMessage is a message of the system, or with a summary.
type heldMessage struct {
	message   int
	isSummary bool
}

// A userTurn begins where the user speaks.
type userTurn struct {
	message int
	atoms   transcript.AtomID // the number of atoms that begin before it
}

func newHistoryIndex(r *wire.Request) *historyIndex {
	t := r.Transcript()
	index := &historyIndex{
		needs:      needs.New(t, nil),
		isGuidance: guidanceExchanges(r),
		blocks:     make([]blockFact, 0, len(t.Blocks())),
		runOf:      make([]int, 0, len(t.Messages())),
	}
	for i := range t.Messages() {
		index.addMessage(r, i)
	}
	last := 0
	for _, a := range t.Atoms() {
		last = max(last, a.Last)
		index.reach = append(index.reach, last)
	}
	for i, x := range t.Exchanges() {
		isLong := x.Call != transcript.NoBlock && t.Blocks()[x.Call].Body.Len() > level4K.maxBytes()
		for _, b := range x.Results {
			isLong = isLong || t.Blocks()[b].Body.Len() > level4K.maxBytes()
		}
		if isLong {
			index.longExchanges = append(index.longExchanges, i)
		}
	}
	return index
}

func (x *historyIndex) addMessage(r *wire.Request, i int) {
	t := r.Transcript()
	messages := t.Messages()
	m := &messages[i]
	if i == 0 || m.Role != messages[i-1].Role {
		x.runs = append(x.runs, roleRun{})
	}
	x.runOf = append(x.runOf, len(x.runs)-1)
	run := &x.runs[len(x.runs)-1]
	hasSummary := false
	for b := m.First; b < m.End; b++ {
		block := &t.Blocks()[b]
		if isCall(block.Kind) {
			run.calls, run.lastCall = run.calls+1, b
		}
		hasSummary = hasSummary || m.Role == transcript.User && isSummary(r, b)
		isLongResult := block.Kind == transcript.Result && block.Body != block.Span && block.Body.Len() >= minClearedBytes
		x.blocks = append(x.blocks, blockFact{int32(i), block.Kind, isLongResult && dialect.Editable(r, b)})
	}
	if hasSummary || m.Role == transcript.System {
		x.held = append(x.held, heldMessage{i, hasSummary})
	}
	if UserSpeaks(*m) {
		x.spoken = append(x.spoken, i)
		if i > 0 && !UserSpeaks(messages[i-1]) {
			x.turns = append(x.turns, userTurn{i, atomsBefore(t, i)})
		}
	}
	if m.First == m.End {
		x.empty = append(x.empty, i)
	}
}

func isCall(k transcript.Kind) bool { return k == transcript.Call || k == transcript.ServerCall }

// heldBefore returns the held messages among the first messages.
func (x *historyIndex) heldBefore(end int) []heldMessage {
	return x.held[:sort.Search(len(x.held), func(i int) bool { return x.held[i].message >= end })]
}

// turnsBefore returns the turns that begin in the first messages.
func (x *historyIndex) turnsBefore(end int) []userTurn {
	return x.turns[:sort.Search(len(x.turns), func(i int) bool { return x.turns[i].message >= end })]
}

// numbersBefore returns the numbers of a sorted list that are less than end.
func numbersBefore(sorted []int, end int) []int { return sorted[:sort.SearchInts(sorted, end)] }

// atomsBefore returns how many atoms begin in the first messages.
func atomsBefore(t *transcript.Transcript, end int) transcript.AtomID {
	atoms := t.Atoms() // in the order of their first messages
	return transcript.AtomID(sort.Search(len(atoms), func(i int) bool { return atoms[i].First >= end }))
}

// unfinishedAtoms returns the atoms that begin before a message and end in it or later.
func (x *historyIndex) unfinishedAtoms(t *transcript.Transcript, end int) (unfinished []transcript.AtomID) {
	for a := atomsBefore(t, end) - 1; a >= 0 && x.reach[a] >= end; a-- {
		if t.Atoms()[a].Last >= end {
			unfinished = append(unfinished, a)
		}
	}
	return unfinished
}

// longExchangesIn returns the long ones of exchanges from to end.
func (x *historyIndex) longExchangesIn(from, end int) []int {
	first, _ := slices.BinarySearch(x.longExchanges, from)
	last, _ := slices.BinarySearch(x.longExchanges, end)
	return x.longExchanges[first:max(first, last)]
}
