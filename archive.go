package pare

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/pare-llm/pare/transcript"
)

// An Item is something that was taken out of a history, byte for byte. Its ID is made
// from its bytes: the same ones have the same ID everywhere.
type Item struct {
	ID   string `json:"id"`
	Path string `json:"path"` // where it stood in the original; "" if a repair had made it
	Raw  []byte `json:"-"`    // JSON: a message, or a block of one
}

// NewItem returns the item of some bytes.
func NewItem(path string, raw []byte) Item { return Item{itemID(raw), path, raw} }

// Genuine reports whether the ID is that of the bytes.
func (i Item) Genuine() bool { return i.ID == itemID(i.Raw) }

func itemID(raw []byte) string {
	sum := sha256.Sum256(raw)
	return "pare-" + hex.EncodeToString(sum[:8])
}

// ArchiveID names several items: it is made from their IDs.
func ArchiveID(items []Item) string {
	var ids []byte
	for _, i := range items {
		ids = append(append(ids, i.ID...), '\n')
	}
	return itemID(ids)
}

// Archive returns everything that the plan drops, clears or shortens, as it was:
// messages that go as a whole, and blocks of those that stay. Placeholders of a window
// with Archive set name these items.
func (p *Plan) Archive() []Item {
	t := p.mended.Transcript()
	all := slices.Clip(p.earlier)
	for i, m := range t.Messages() {
		whole := m.First < m.End
		for b := m.First; b < m.End; b++ {
			whole = whole && p.action(b) == ActionDrop
		}
		if whole {
			path := p.mended.MessagePathIn(p.in, i)
			all = append(all, NewItem(path, t.Bytes(m.Span)))
			continue
		}
		for b := m.First; b < m.End; b++ {
			if p.action(b) == ActionDrop || p.edited[b] {
				all = append(all, NewItem(p.mended.PathIn(p.in, b), t.Bytes(t.Block(b).Span)))
			}
		}
	}
	return all
}

// action is what the plan does with the atom of a block.
func (p *Plan) action(b transcript.BlockID) Action {
	if len(p.decisions) == 0 {
		return ActionKeep
	}
	return p.decisions[p.mended.Transcript().AtomOf(b)].Action
}
