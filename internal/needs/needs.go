// Package needs spreads marks over the atoms of a history: protection spreads to everything that a
// protected atom needs, and a drop spreads to everything that needs a dropped atom. A Graph is safe
// for use by several goroutines.
package needs

import "github.com/pare-llm/pare/transcript"

// A Graph contains the atoms that each atom needs. In the nil Graph, no atom needs another.
type Graph struct {
	needs      [][]transcript.AtomID // by atom
	dependents [][]transcript.AtomID // by atom: the atoms that need it
}

// New returns the graph of a history, with its own needs and the needs that rules demand: the first
// atom of each pair needs the second.
func New(t *transcript.Transcript, demands [][2]transcript.AtomID) *Graph {
	atoms := t.Atoms()
	if !t.HasNeeds() && len(demands) == 0 {
		return nil
	}
	g := &Graph{make([][]transcript.AtomID, len(atoms)), make([][]transcript.AtomID, len(atoms))}
	for a := range atoms {
		g.needs[a] = append(g.needs[a], atoms[a].Needs...)
	}
	for _, d := range demands {
		g.needs[d[0]] = append(g.needs[d[0]], d[1])
	}
	for a, needed := range g.needs {
		for _, n := range needed {
			g.dependents[n] = append(g.dependents[n], transcript.AtomID(a))
		}
	}
	return g
}

// Of returns the atoms that an atom needs.
func (g *Graph) Of(a transcript.AtomID) []transcript.AtomID {
	if g == nil {
		return nil
	}
	return g.needs[a]
}

// Dependents returns the atoms that need an atom.
func (g *Graph) Dependents(a transcript.AtomID) []transcript.AtomID {
	if g == nil {
		return nil
	}
	return g.dependents[a]
}

// Protect spreads a mark from some atoms to everything that they need. It calls mark with an atom
// and the atom that needs it; mark reports whether the atom was unmarked.
func (g *Graph) Protect(from []transcript.AtomID, mark func(a, via transcript.AtomID) bool) {
	if g != nil {
		spread(g.needs, from, mark)
	}
}

// Drop spreads a mark from some atoms to everything that needs them. It calls mark with an atom and
// the atom that it needs; mark reports whether the atom was unmarked.
func (g *Graph) Drop(from []transcript.AtomID, mark func(a, via transcript.AtomID) bool) {
	if g != nil {
		spread(g.dependents, from, mark)
	}
}

// spread visits all atoms that can be reached along edges, the nearest first.
func spread(edges [][]transcript.AtomID, queue []transcript.AtomID, mark func(a, via transcript.AtomID) bool) {
	for len(queue) > 0 {
		a := queue[0]
		queue = queue[1:]
		for _, next := range edges[a] {
			if mark(next, a) {
				queue = append(queue, next)
			}
		}
	}
}
