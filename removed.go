package pare

import (
	"slices"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Archive returns everything that the plan drops, clears or shortens, as it was:
// messages that go as a whole, and blocks of those that stay. Placeholders of a window
// with Archive set name these items. The handles of summaries are those of further items, which
// say what belongs to them: see [archive.Recall].
func (p *Plan) Archive() []archive.Item { return append(p.taken(), p.indexes...) }

// taken is everything that the plan takes out.
func (p *Plan) taken() []archive.Item {
	if p.clean != nil {
		return nil
	}
	t := p.repaired.Transcript()
	all := slices.Clip(p.earlier)
	for i, m := range t.Messages() {
		whole := m.First < m.End
		for b := m.First; b < m.End; b++ {
			whole = whole && p.action(b) == wire.ActionDrop
		}
		if whole {
			all = append(all, archive.New(wirex.MessagePathIn(p.repaired, p.in, i), t.Bytes(m.Span)))
			continue
		}
		for b := m.First; b < m.End; b++ {
			if p.action(b) == wire.ActionDrop || p.edited(b) {
				all = append(all, archive.New(wirex.PathIn(p.repaired, p.in, b), t.Bytes(t.Block(b).Span)))
			}
		}
	}
	return all
}

// action is what the plan does with the atom of a block.
func (p *Plan) action(b transcript.BlockID) wire.Action {
	all := p.verdicts()
	if len(all) == 0 {
		return wire.ActionKeep
	}
	return all[p.repaired.Transcript().AtomOf(b)].Action
}
