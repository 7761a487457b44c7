package wire

import (
	"fmt"
	"slices"
	"sort"

	"github.com/pare-llm/pare/transcript"
)

// A Docket is what is done to the requests of a conversation, one after the other: the blocks that
// go, and what others say instead, both in the order of blocks. A scribe that has read it and reads
// it again looks at what has changed since. It changes in place, so that scribe must be one that
// lends. It is for one goroutine.
type Docket struct {
	Drop  []transcript.BlockID
	Edits []BlockEdit

	read    *Scribe                    // nil: nobody remembers it
	stirred []transcript.BlockID       // of which it says something else than when it was read
	drop    []turn[transcript.BlockID] // spare
	edits   []turn[BlockEdit]
}

// Change asks anew what is done to some blocks, which are in order: whether a text takes the place of
// what they say, and whether they go.
func (d *Docket) Change(blocks []transcript.BlockID, ask func(transcript.BlockID) (text string, edited, gone bool)) {
	d.drop, d.edits = d.drop[:0], d.edits[:0]
	at, k := 0, 0
	for _, b := range blocks {
		at, k = len(d.Drop)-len(behind(d.Drop[at:], b)), len(d.Edits)-len(editsBehind(d.Edits[k:], b))
		went, said := at < len(d.Drop) && d.Drop[at] == b, k < len(d.Edits) && d.Edits[k].Block == b
		text, edited, gone := ask(b)
		if went == gone && said == edited && (!said || d.Edits[k].Text == text) {
			continue
		}
		if went != gone {
			d.drop = append(d.drop, turn[transcript.BlockID]{at, gone, b})
		}
		switch {
		case said && edited:
			d.Edits[k].Text = text
		case said || edited:
			d.edits = append(d.edits, turn[BlockEdit]{k, edited, BlockEdit{b, text}})
		}
		if d.read != nil {
			d.stirred = append(d.stirred, b)
		}
	}
	d.Drop, d.Edits = turned(d.Drop, d.drop), turned(d.Edits, d.edits)
}

// A turn puts something in front of a place in a list, or takes away what stands there.
type turn[T any] struct {
	at    int
	comes bool
	what  T
}

func (t *turn[T]) by() int {
	if t.comes {
		return 1
	}
	return -1
}

// turned returns a list with some turns, which are in order. What stands between two of them moves
// once, or not at all: first what moves to the front, then what moves to the back, from its end on.
func turned[T any](all []T, turns []turn[T]) []T {
	if len(turns) == 0 {
		return all
	}
	n, shift := len(all), 0
	between := func(i int) (from, end int) {
		if from, end = turns[i].at, n; !turns[i].comes {
			from++
		}
		if i+1 < len(turns) {
			end = turns[i+1].at
		}
		return from, end
	}
	for i := range turns {
		if shift += turns[i].by(); shift < 0 {
			from, end := between(i)
			copy(all[from+shift:], all[from:end])
		}
	}
	all = slices.Grow(all, max(shift, 0))[:n+max(shift, 0)]
	last := n + shift
	for i := len(turns) - 1; i >= 0; i-- {
		if shift > 0 {
			from, end := between(i)
			copy(all[from+shift:], all[from:end])
		}
		if shift -= turns[i].by(); turns[i].comes {
			all[turns[i].at+shift] = turns[i].what
		}
	}
	clear(all[last:])
	return all[:last]
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
	return all[sort.Search(len(all), func(i int) bool { return all[i] >= from }):]
}

// editsBehind are the edits of blocks from one on.
func editsBehind(all []BlockEdit, from transcript.BlockID) []BlockEdit {
	return all[sort.Search(len(all), func(i int) bool { return all[i].Block >= from }):]
}
