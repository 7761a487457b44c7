package planner

import (
	"slices"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Archive returns everything that the plan drops or edits, as it was: messages that are dropped
// completely, and blocks of other messages. Placeholders of a window with Archive set name these
// items. The handles of summaries name further items, which list the items that the summary
// replaces; see [archive.Recall].
func (p *Plan) Archive() []archive.Item {
	return append(itemsOfSteps(p.input(), p.steps), p.indexes...)
}

// itemsOfSteps returns everything that steps drop or edit, with its path in the input.
func itemsOfSteps(input *wire.Request, steps []Step) (items []archive.Item) {
	for _, s := range steps {
		items = append(items, itemsOfStep(input, s)...)
	}
	return items
}

// itemsOfStep returns everything that a step drops or edits.
func itemsOfStep(input *wire.Request, s Step) (items []archive.Item) {
	t := s.From.Transcript()
	isDropped := func(b transcript.BlockID) bool {
		_, found := slices.BinarySearch(s.Drops, b)
		return found
	}
	isEdited := func(b transcript.BlockID) bool {
		_, found := slices.BinarySearchFunc(s.Edits, b, func(e wire.BlockEdit, b transcript.BlockID) int { return int(e.Block - b) })
		return found
	}
	if len(s.Drops)+len(s.Edits) == 0 {
		return nil
	}
	for i, m := range t.Messages() {
		isGone := m.First < m.End
		for b := m.First; b < m.End; b++ {
			isGone = isGone && isDropped(b)
		}
		if isGone {
			items = append(items, archive.New(dialect.MessagePathIn(s.From, input, i), t.Bytes(m.Span)))
			continue
		}
		for b := m.First; b < m.End; b++ {
			if isDropped(b) || isEdited(b) {
				items = append(items, archive.New(dialect.PathIn(s.From, input, b), t.Bytes(t.Block(b).Span)))
			}
		}
	}
	return items
}
