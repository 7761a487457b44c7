package planner

import (
	"slices"

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
	marked        []markedMessage // in order
	longExchanges []int           // the exchanges with a block that may be shortened, in order
	runs          []roleRun       // in order
	runOf         []int           // by message
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

// A markedMessage is a message that may be pinned wherever it is: of the system, of the user, or
// with a summary.
type markedMessage struct {
	message   int
	isSummary bool
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
	if hasSummary || m.Role == transcript.System || UserSpeaks(*m) {
		x.marked = append(x.marked, markedMessage{i, hasSummary})
	}
}

func isCall(k transcript.Kind) bool { return k == transcript.Call || k == transcript.ServerCall }

// markedBefore returns the marked messages among the first messages.
func (x *historyIndex) markedBefore(end int) []markedMessage {
	n := len(x.marked)
	for n > 0 && x.marked[n-1].message >= end {
		n--
	}
	return x.marked[:n]
}

// longExchangesIn returns the long ones of exchanges from to end.
func (x *historyIndex) longExchangesIn(from, end int) []int {
	first, _ := slices.BinarySearch(x.longExchanges, from)
	last, _ := slices.BinarySearch(x.longExchanges, end)
	return x.longExchanges[first:max(first, last)]
}
