package transcript

import "slices"

// partition ties calls to their results, adds the dialect's own ties and takes
// connected components.
func (t *Transcript) partition() {
	ties := t.Ties()
	root := make([]AtomID, len(t.blocks))
	for i := range root {
		root[i] = AtomID(i)
	}
	find := func(b BlockID) AtomID {
		for root[b] != AtomID(b) {
			root[b] = root[root[b]]
			b = BlockID(root[b])
		}
		return AtomID(b)
	}
	for _, tie := range ties {
		if !tie.Mutual {
			continue
		}
		// The earlier block is the root, so atoms are numbered in block order.
		a, b := find(tie.From), find(tie.To)
		root[max(a, b)] = min(a, b)
	}
	t.number(root, find)
	for _, tie := range ties {
		if a, b := t.atom[tie.From], t.atom[tie.To]; !tie.Mutual && a != b {
			t.atoms[a].Needs = append(t.atoms[a].Needs, b)
		}
	}
	for i := range t.atoms {
		if n := t.atoms[i].Needs; len(n) > 1 {
			slices.Sort(n)
			t.atoms[i].Needs = slices.Compact(n)
		}
	}
}

// number turns roots into atoms. Their block lists share one array.
func (t *Transcript) number(root []AtomID, find func(BlockID) AtomID) {
	sizes := make([]int, len(t.blocks))
	atoms := 0
	for b := range t.blocks {
		r := find(BlockID(b))
		root[b] = r
		if sizes[r]++; sizes[r] == 1 {
			atoms++
		}
	}
	t.atom = make([]AtomID, len(t.blocks))
	t.atoms = make([]Atom, 0, atoms)
	all := make([]BlockID, len(t.blocks))
	next := 0
	for b := range t.blocks {
		r := root[b]
		if r == AtomID(b) {
			t.atom[b] = AtomID(len(t.atoms))
			n := sizes[b]
			m := t.blocks[b].Message
			t.atoms = append(t.atoms, Atom{Blocks: all[next : next : next+n], First: m, Last: m})
			next += n
		}
		id := t.atom[r]
		t.atom[b] = id
		a := &t.atoms[id]
		a.Blocks = append(a.Blocks, BlockID(b))
		a.Last = max(a.Last, t.blocks[b].Message)
	}
}
