package wire

import (
	"fmt"
	"slices"

	"github.com/pare-llm/pare/transcript"
)

// A Docket is what is done to the requests of a conversation, one after the other: the blocks that
// go, and what others say instead, both in the order of blocks. A scribe that has read it and reads
// it again looks at what has changed since. It changes in place, so that scribe must be one that
// lends. It is for one goroutine.
type Docket struct {
	Drop  []transcript.BlockID
	Edits []BlockEdit

	read    *Scribe              // nil: nobody remembers it
	stirred []transcript.BlockID // of which it says something else than when it was read
	drop    []transcript.BlockID // spare
	edits   []BlockEdit
}

// Change asks anew what is done to some blocks, which are in order: whether a text takes the place of
// what they say, and whether they go.
func (d *Docket) Change(blocks []transcript.BlockID, ask func(transcript.BlockID) (text string, edited, gone bool)) {
	if len(blocks) == 0 {
		return
	}
	was, said := behind(d.Drop, blocks[0]), editsBehind(d.Edits, blocks[0])
	d.Drop, d.Edits = d.Drop[:len(d.Drop)-len(was)], d.Edits[:len(d.Edits)-len(said)]
	d.drop, d.edits = append(d.drop[:0], was...), append(d.edits[:0], said...)
	was, said = d.drop, d.edits
	for _, b := range blocks {
		n, went := slices.BinarySearch(was, b)
		d.Drop, was = append(d.Drop, was[:n]...), was[n:]
		k := len(said) - len(editsBehind(said, b))
		d.Edits, said = append(d.Edits, said[:k]...), said[k:]
		text, edited, gone := ask(b)
		same := went == gone
		if went {
			was = was[1:]
		}
		if len(said) > 0 && said[0].Block == b {
			same, said = same && edited && said[0].Text == text, said[1:]
		} else {
			same = same && !edited
		}
		if gone {
			d.Drop = append(d.Drop, b)
		}
		if edited {
			d.Edits = append(d.Edits, BlockEdit{b, text})
		}
		if !same && d.read != nil {
			d.stirred = append(d.stirred, b)
		}
	}
	d.Drop, d.Edits = append(d.Drop, was...), append(d.Edits, said...)
}

// differing lists the blocks of which a docket says something else than what the scribe remembers,
// in order.
func (s *Scribe) differing(d *Docket) []transcript.BlockID {
	if d.read != s || s.docket != d {
		return s.compare(d)
	}
	slices.Sort(d.stirred)
	d.stirred = slices.Compact(d.stirred)
	if proveCarried {
		for _, b := range s.compare(d) {
			if _, known := slices.BinarySearch(d.stirred, b); !known {
				panic(fmt.Sprintf("wire: something else is done to block %d, and a docket does not know", b))
			}
		}
	}
	return d.stirred
}

// compare is differing for a docket of which nothing is known.
func (s *Scribe) compare(d *Docket) []transcript.BlockID {
	other := s.desk.other[:0]
	a, b := d.Drop, s.drop
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
			other, a = append(other, a[0]), a[1:]
		case len(a) == 0 || b[0] < a[0]:
			other, b = append(other, b[0]), b[1:]
		default:
			a, b = a[1:], b[1:]
		}
	}
	x, y := d.Edits, s.edits
	for len(x) > 0 || len(y) > 0 {
		switch {
		case len(y) == 0 || len(x) > 0 && x[0].Block < y[0].Block:
			other, x = append(other, x[0].Block), x[1:]
		case len(x) == 0 || y[0].Block < x[0].Block:
			other, y = append(other, y[0].Block), y[1:]
		default:
			if x[0].Text != y[0].Text {
				other = append(other, x[0].Block)
			}
			x, y = x[1:], y[1:]
		}
	}
	slices.Sort(other)
	s.desk.other = slices.Compact(other)
	return s.desk.other
}

// behind are the blocks from one on.
func behind(all []transcript.BlockID, from transcript.BlockID) []transcript.BlockID {
	n, _ := slices.BinarySearch(all, from)
	return all[n:]
}

// editsBehind are the edits of blocks from one on.
func editsBehind(all []BlockEdit, from transcript.BlockID) []BlockEdit {
	n, _ := slices.BinarySearchFunc(all, from, func(e BlockEdit, b transcript.BlockID) int { return int(e.Block - b) })
	return all[n:]
}
