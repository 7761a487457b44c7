// Package needs says which atoms need which, and lets marks spread along that: what is
// protected protects what it needs, what is dropped drops what needs it.
package needs

import "github.com/pare-llm/pare/transcript"

// A Graph knows what each atom needs, and what needs it. The nil Graph is the one in
// which nothing needs anything. Many goroutines may read it.
type Graph struct{ needs, by [][]transcript.AtomID }

// New returns the graph of a history: its own needs, and those that rules demand, each
// from the first atom to the second.
func New(t *transcript.Transcript, demands [][2]transcript.AtomID) *Graph {
	atoms := t.Atoms()
	var g *Graph
	need := func(a, n transcript.AtomID) {
		if g == nil {
			g = &Graph{make([][]transcript.AtomID, len(atoms)), make([][]transcript.AtomID, len(atoms))}
		}
		g.needs[a] = append(g.needs[a], n)
	}
	if t.HasNeeds() {
		for a := range atoms {
			for _, n := range atoms[a].Needs {
				need(transcript.AtomID(a), n)
			}
		}
	}
	for _, d := range demands {
		need(d[0], d[1])
	}
	if g == nil {
		return nil
	}
	for a, list := range g.needs {
		for _, n := range list {
			g.by[n] = append(g.by[n], transcript.AtomID(a))
		}
	}
	return g
}

// Of lists what an atom needs.
func (g *Graph) Of(a transcript.AtomID) []transcript.AtomID {
	if g == nil {
		return nil
	}
	return g.needs[a]
}

// By lists what needs an atom.
func (g *Graph) By(a transcript.AtomID) []transcript.AtomID {
	if g == nil {
		return nil
	}
	return g.by[a]
}

// Protect spreads a mark from atoms to what they need. Mark is called with an atom and
// the one that pulled it in, and reports whether it had no mark before.
func (g *Graph) Protect(from []transcript.AtomID, mark func(a, via transcript.AtomID) bool) {
	if g != nil {
		spread(g.needs, from, mark)
	}
}

// Drop spreads a mark from atoms to what needs them.
func (g *Graph) Drop(from []transcript.AtomID, mark func(a, via transcript.AtomID) bool) {
	if g != nil {
		spread(g.by, from, mark)
	}
}

// spread visits what can be reached, the nearest first.
func spread(edges [][]transcript.AtomID, queue []transcript.AtomID, mark func(a, via transcript.AtomID) bool) {
	for len(queue) > 0 {
		a := queue[0]
		queue = queue[1:]
		for _, n := range edges[a] {
			if mark(n, a) {
				queue = append(queue, n)
			}
		}
	}
}
