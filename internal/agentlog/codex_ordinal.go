package agentlog

import (
	"slices"
	"strconv"

	"github.com/pare-llm/pare/wire"
)

// maxOrdinal bounds the numbers of records: Codex keeps them in 64 bits, and so many lines no
// rollout has. A larger one is damage, and counted like none.
const maxOrdinal = 1 << 53

// ordinalOf returns the number of a record.
func ordinalOf(o object) (n int, ok bool) {
	n, err := strconv.Atoi(string(o.Value("ordinal")))
	return n, err == nil && n >= 0 && n < maxOrdinal
}

// fillGaps puts what was added behind a call where the lost output was: at the next gap, if only
// other calls and outputs of the step and events lie between. So no line has to be counted up.
func fillOrdinalGaps(e *edits) {
	gap, free := -1, 0             // the unit in front of that gap, and how many numbers are free in it
	fill := make(map[int][][]byte) // by the unit in front of a gap, the last line first
	for i := len(e.file.units) - 2; i >= 0; i-- {
		o := e.file.object(i + 1)
		n, ok := ordinalOf(e.file.object(i))
		next, numbered := ordinalOf(o)
		switch {
		case !ok || !numbered || e.dropped(i+1) || next <= n:
			gap = -1
		case next > n+1:
			gap, free = i, next-n-1
			if y := e.units[i+1]; y != nil {
				free -= len(y.before)
			}
		case !isWithinStep(o):
			gap = -1
		}
		x := e.units[i]
		if x == nil || len(x.after) == 0 || gap < 0 {
			continue
		}
		k := max(min(free, len(x.after)), 0)
		free -= k
		for ; gap > i && k > 0; k-- {
			last := len(x.after) - 1
			fill[gap], x.after = append(fill[gap], x.after[last]), x.after[:last]
		}
	}
	for i, lines := range fill {
		slices.Reverse(lines)
		x := e.unit(i)
		x.after = append(lines, x.after...)
	}
}

// withinStep reports whether a record may lie between a call and its output.
func isWithinStep(o object) bool {
	kind := o.Object("payload").Text("type")
	switch o.Text("type") {
	case "response_item":
		return codexCalls[kind] || codexResults[kind]
	case "event_msg":
		return kind != rolledBackEvent && kind != "user_message"
	}
	return false
}

// renumber numbers the records that are new, and returns where records that had a number got
// another one. Codex reads a paginated rollout only as far as its records are counted without
// a gap, and does not open one whose last record has no number.
//
// A new record takes the next number. Those behind it are counted up only until a number is
// free, and counted down where a record goes, up to the next gap: a gap that was there before
// is the place of a record that was lost, and stays unless a new record takes its number.
func renumberOrdinals(e *edits) (moved map[int]int) {
	moved = make(map[int]int)
	moves := len(e.prepended) > 0
	for _, x := range e.units {
		moves = moves || x.drop || len(x.before)+len(x.after) > 0
	}
	last := -1 // the highest number so far
	some := false
	number := func(lines [][]byte) {
		for k := 0; some && k < len(lines); k++ {
			last++
			lines[k] = setMembers(lines[k], "ordinal", last)
		}
	}
	for i := range e.file.units {
		if _, some = ordinalOf(e.file.object(i)); some {
			break
		}
	}
	number(e.prepended)
	some = some && len(e.prepended) > 0
	before, gone := -1, 0 // the number of the record in front; how many went since the last gap
	for i, u := range e.file.units {
		n, numbered := ordinalOf(e.file.object(i))
		some = some || numbered
		x := e.units[i]
		if x != nil {
			number(x.before)
		}
		if numbered {
			if n != before+1 {
				gone = 0
			}
			before = n
			switch {
			case x != nil && x.drop:
				gone++
			case moves:
				to := max(n-gone, last+1)
				last = to
				if to != n {
					moved[n] = to
					e.setMembers(i, "ordinal", to)
					e.addChange(Change{Line: u.line}, wire.ActionEdit, "relink", nil, 0, "its number follows its place")
				}
			default:
				last = max(last, n)
			}
		}
		if x != nil {
			number(x.after)
		}
	}
	number(e.appended)
	return moved
}
