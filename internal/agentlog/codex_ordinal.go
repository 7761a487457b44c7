package agentlog

import (
	"slices"
	"strconv"

	"github.com/pare-llm/pare/wire"
)

// maxOrdinal bounds the numbers of records. Codex stores them in 64 bits, and no rollout has that
// many lines. A larger number is damage and counts as missing.
const maxOrdinal = 1 << 53

func ordinalOf(o object) (n int, ok bool) {
	n, err := strconv.Atoi(string(o.Value("ordinal")))
	return n, err == nil && n >= 0 && n < maxOrdinal
}

// fillOrdinalGaps moves lines that were added after a call to the place of the lost output: the
// next gap in the numbers, if only other calls, outputs and events of the step come between. This
// way no later record needs a new number.
func fillOrdinalGaps(e *edits) {
	gap, free := -1, 0             // the unit before the gap, and the number of free ordinals in it
	fill := make(map[int][][]byte) // by the unit before a gap, last line first
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

// isWithinStep reports whether a record may come between a call and its output.
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

// renumberOrdinals numbers new records and returns the new numbers of records that were renumbered.
// Codex reads a paginated rollout only up to a gap in the numbers, and does not open one whose last
// record has no number.
//
// A new record takes the next number. Later records are counted up only until a number is free, and
// counted down where a record was removed, up to the next gap. An existing gap marks a lost record
// and stays unless a new record takes its number.
func renumberOrdinals(e *edits) (moved map[int]int) {
	moved = make(map[int]int)
	moves := len(e.prepended) > 0
	for _, edit := range e.units {
		moves = moves || edit.drop || len(edit.before)+len(edit.after) > 0
	}
	last := -1 // the highest number so far
	isNumbered := false
	number := func(lines [][]byte) {
		for k := 0; isNumbered && k < len(lines); k++ {
			last++
			lines[k] = setMembers(lines[k], "ordinal", last)
		}
	}
	for i := range e.file.units {
		if _, isNumbered = ordinalOf(e.file.object(i)); isNumbered {
			break
		}
	}
	number(e.prepended)
	isNumbered = isNumbered && len(e.prepended) > 0
	before, removed := -1, 0 // the previous number; the number of records removed since the last gap
	for i, u := range e.file.units {
		ordinal, numbered := ordinalOf(e.file.object(i))
		isNumbered = isNumbered || numbered
		edit := e.units[i]
		if edit != nil {
			number(edit.before)
		}
		if numbered {
			if ordinal != before+1 {
				removed = 0
			}
			before = ordinal
			switch {
			case edit != nil && edit.drop:
				removed++
			case moves:
				to := max(ordinal-removed, last+1)
				last = to
				if to != ordinal {
					moved[ordinal] = to
					e.setMembers(i, "ordinal", to)
					e.addChange(Change{Line: u.line, Change: wire.Change{Action: wire.ActionEdit, Rule: "relink"}}, "its number follows its place")
				}
			default:
				last = max(last, ordinal)
			}
		}
		if edit != nil {
			number(edit.after)
		}
	}
	number(e.appended)
	return moved
}
