package transcript

import "slices"

// partition ties calls to their results, adds the dialect's own ties and takes
// connected components.
func (t *Transcript) partition() {
	root := make([]AtomID, len(t.blocks)) // becomes the list of atoms by block
	for i := range root {
		root[i] = AtomID(i)
	}
	for i := range t.exchanges {
		x := &t.exchanges[i]
		all, first := x.Results, x.Call
		if first == NoBlock {
			first, all = all[0], all[1:]
		}
		for _, r := range all {
			join(root, first, r)
		}
	}
	oneWay := false
	for _, tie := range t.given {
		if tie.Mutual {
			join(root, tie.From, tie.To)
		} else {
			oneWay = true
		}
	}
	t.number(root)
	if !oneWay {
		return
	}
	for _, tie := range t.given {
		if a, b := t.atom[tie.From], t.atom[tie.To]; !tie.Mutual && a != b {
			t.atoms[a].Needs, t.needy = append(t.atoms[a].Needs, b), true
		}
	}
	for i := range t.atoms {
		if n := t.atoms[i].Needs; len(n) > 1 {
			slices.Sort(n)
			t.atoms[i].Needs = slices.Compact(n)
		}
	}
}

// join joins what two blocks are parts of. The earlier block is the root, so atoms are
// numbered in block order.
func join(root []AtomID, x, y BlockID) {
	a, b := find(root, x), find(root, y)
	root[max(a, b)] = min(a, b)
}

func find(root []AtomID, b BlockID) AtomID {
	for root[b] != AtomID(b) {
		root[b] = root[root[b]]
		b = BlockID(root[b])
	}
	return AtomID(b)
}

// number turns roots into atoms, in their place. The lists of blocks share one array.
func (t *Transcript) number(root []AtomID) {
	var few [256]int32
	sizes := few[:]
	if len(root) > len(few) {
		sizes = make([]int32, len(root))
	}
	atoms := 0
	for b, r := range root {
		r = root[r] // no block comes before its root, so that one knows its own already
		root[b] = r
		if sizes[r]++; sizes[r] == 1 {
			atoms++
		}
	}
	t.atom, t.atoms = root, make([]Atom, 0, atoms)
	all := make([]BlockID, len(root))
	next := 0
	for b, r := range root {
		m := t.blocks[b].Message
		if r == AtomID(b) {
			root[b] = AtomID(len(t.atoms))
			n := int(sizes[b])
			all[next] = BlockID(b)
			t.atoms = append(t.atoms, Atom{Blocks: all[next : next+1 : next+n], First: m, Last: m})
			next += n
			continue
		}
		id := root[r]
		root[b] = id
		a := &t.atoms[id]
		a.Blocks = append(a.Blocks, BlockID(b))
		a.Last = max(a.Last, m)
	}
}
