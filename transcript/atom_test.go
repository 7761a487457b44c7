package transcript

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
)

// atoms describes t's atoms: blocks, messages touched, needs.
func atoms(t *Transcript) string {
	var all []string
	for _, a := range t.Atoms() {
		line := fmt.Sprintf("%v@%d-%d", a.Blocks, a.First, a.Last)
		if a.Needs != nil {
			line += fmt.Sprintf(" needs %v", a.Needs)
		}
		all = append(all, line)
	}
	return strings.Join(all, ", ")
}

// cuts lists t's cuts, with i where they lie inside a run of tool use.
func cuts(t *Transcript) string {
	var all []string
	for c := range t.Cuts() {
		line := fmt.Sprint(c.Before())
		if c.Inside() {
			line += "i"
		}
		all = append(all, line)
	}
	return strings.Join(all, " ")
}

func TestAtomsAndCuts(t *testing.T) {
	for _, c := range []struct {
		name, in    string
		ties        []Tie
		atoms, cuts string
	}{
		{"texts stand alone", "! t | t | ! t", nil, "[0]@0-0, [1]@1-1, [2]@2-2", "0 1i 2"},
		{"call and result are one", "! t | c:1 | r:1 | ! t", nil, "[0]@0-0, [1 2]@1-2, [3]@3-3", "0 1i 3"},
		{"parallel pairs stay apart", "c:1 c:2 | r:2 r:1", nil, "[0 3]@0-1, [1 2]@0-1", "0"},
		{"between the steps of a loop", "! t | c:1 | r:1 | c:2 | r:2", nil, "[0]@0-0, [1 2]@1-2, [3 4]@3-4", "0 1i 3i"},
		{"a displaced result holds all between", "! t | c:1 | ! t | t | r:1 | ! t", nil, "[0]@0-0, [1 4]@1-4, [2]@2-2, [3]@3-3, [5]@5-5", "0 1i 5"},
		{"all results of a call", "c:1 | r:1 r:1 | ! t", nil, "[0 1 2]@0-1, [3]@2-2", "0 2"},
		{"orphans stand alone", "c:1 | r:2 | ! t", nil, "[0]@0-0, [1]@1-1, [2]@2-2", "0 1i 2"},
		{"a turn is not cut", "! t | c:1 | + c:2 | r:1 | + r:2 | ! t", nil, "[0]@0-0, [1 3]@1-3, [2 4]@2-4, [5]@5-5", "0 1i 5"},
		{"mutual ties join", "k k c:1 | r:1", []Tie{{0, 1, true}}, "[0 1]@0-0, [2 3]@0-1", "0"},
		{"one-way ties are needs", "k c:1 c:2 | r:1 r:2", []Tie{{1, 0, false}, {2, 0, false}}, "[0]@0-0, [1 3]@0-1 needs [0], [2 4]@0-1 needs [0]", "0"},
		{"a need twice is one", "k c:1 | r:1", []Tie{{1, 0, false}, {1, 0, false}, {2, 0, false}}, "[0]@0-0, [1 2]@0-1 needs [0]", "0"},
		{"a need inside an atom is none", "c:1 | r:1", []Tie{{1, 0, false}}, "[0 1]@0-1", "0"},
		{"a need forbids the cut between", "k | t | c:1 | r:1 | ! t", []Tie{{2, 0, false}}, "[0]@0-0, [1]@1-1, [2 3]@2-3 needs [0], [4]@4-4", "0 4"},
		{"a need forwards does not", "k | t | c:1 | r:1 | ! t", []Tie{{0, 2, false}}, "[0]@0-0 needs [2], [1]@1-1, [2 3]@2-3, [4]@4-4", "0 1i 2i 4"},
		{"ties chain", "t | t | t | t", []Tie{{3, 2, true}, {1, 0, true}, {2, 1, true}}, "[0 1 2 3]@0-3", "0"},
		{"messages without blocks", "! | | ! t", nil, "[0]@2-2", "0 1i 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := index(c.in, NextTurn)
			x.Ties = c.ties
			tr := New(x)
			if got := atoms(tr); got != c.atoms {
				t.Errorf("atoms: got %s, want %s", got, c.atoms)
			}
			if got := cuts(tr); got != c.cuts {
				t.Errorf("cuts: got %s, want %s", got, c.cuts)
			}
			for b := range tr.Blocks() {
				if !slices.Contains(tr.Atoms()[tr.AtomOf(BlockID(b))].Blocks, BlockID(b)) {
					t.Errorf("block %d is not in its atom", b)
				}
			}
		})
	}
}

func TestCutsStop(t *testing.T) {
	n := 0
	for range New(index("! t | t | ! t", NextTurn)).Cuts() {
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		t.Errorf("%d cuts, want 2", n)
	}
}

// TestEmpty: an index of nothing is a transcript of nothing.
func TestEmpty(t *testing.T) {
	tr := New(Index{})
	if len(tr.Exchanges())+len(tr.Atoms())+tr.turns != 0 || cuts(tr) != "" {
		t.Errorf("exchanges %v, atoms %v, %d turns, cuts %s", tr.Exchanges(), tr.Atoms(), tr.turns, cuts(tr))
	}
}

// A growing index is built message by message.
type growing struct{ Index }

// grow makes room for n messages of one block.
func (g *growing) grow(n int) {
	g.Messages, g.Blocks = slices.Grow(g.Messages, n), slices.Grow(g.Blocks, n)
}

// add appends a message that is a turn of its own.
func (g *growing) add(blocks ...Block) {
	m := Message{Turn: len(g.Messages), First: BlockID(len(g.Blocks))}
	for _, b := range blocks {
		b.Message = len(g.Messages)
		g.Blocks = append(g.Blocks, b)
	}
	m.End = BlockID(len(g.Blocks))
	g.Messages = append(g.Messages, m)
}

// many is how many calls, and results, the tests of growth have.
const many = 12_000

// TestGrowth: whatever the shape, pairing takes time by the number of halves.
func TestGrowth(t *testing.T) {
	names, others := make([]string, many), make([]string, many)
	for i := range names {
		names[i], others[i] = fmt.Sprint("n", i), fmt.Sprint("o", i)
	}
	call := func(id, tool string) Block { return Block{Kind: Call, CallID: id, Tool: tool} }
	result := func(id, tool string) Block { return Block{Kind: Result, CallID: id, Tool: tool} }
	shapes := []struct {
		name string
		pair func(i, n int) (call, result Block)
	}{
		{"one id", func(int, int) (Block, Block) { return call("x", ""), result("x", "") }},
		{"distinct ids", func(i, n int) (Block, Block) { return call(names[i], ""), result(names[n-1-i], "") }},
		{"all orphans", func(i, _ int) (Block, Block) { return call(names[i], ""), result(others[i], "") }},
		{"one name", func(int, int) (Block, Block) { return call("", "f"), result("", "f") }},
		{"names that do not match", func(i, _ int) (Block, Block) { return call("", names[i]), result("", others[i]) }},
		{"names reversed", func(i, n int) (Block, Block) { return call("", names[i]), result("", names[n-1-i]) }},
		{"results without name or id", func(i, _ int) (Block, Block) { return call(names[i], "f"), result("", "") }},
		{"one result many times", func(int, int) (Block, Block) { return Block{Kind: Text}, result("x", "") }},
		{"server calls of one id", func(int, int) (Block, Block) {
			return Block{Kind: ServerCall, CallID: "x"}, Block{Kind: ServerResult, CallID: "x"}
		}},
		{"server calls without ids", func(int, int) (Block, Block) { return Block{Kind: ServerCall}, Block{Kind: ServerResult} }},
	}
	for _, s := range shapes {
		halves := func(n int) (calls, results []Block) {
			calls, results = make([]Block, n), make([]Block, n)
			for i := range n {
				calls[i], results[i] = s.pair(i, n)
			}
			return calls, results
		}
		linear(t, s.name+", in one batch", many, func(n int) (batch growing) {
			calls, results := halves(n)
			batch.add(calls...)
			batch.add(results...)
			return batch
		})
		linear(t, s.name+", turn by turn", many, func(n int) (turns growing) {
			turns.grow(2 * n)
			calls, results := halves(n)
			for i := range n {
				turns.add(calls[i])
				turns.add(results[i])
			}
			return turns
		})
		for _, d := range []Discipline{0, Anywhere} {
			linear(t, fmt.Sprintf("%s, all results late, discipline %d", s.name, d), many, func(n int) (late growing) {
				late.grow(2*n + 1)
				late.Discipline = d
				calls, results := halves(n)
				for _, c := range calls {
					late.add(c)
				}
				late.add(Block{Kind: Text})
				for _, r := range results {
					late.add(r)
				}
				return late
			})
		}
	}
}

func TestGrowthOfBatches(t *testing.T) {
	linear(t, "a large batch, then many small ones", many, func(n int) (x growing) {
		large := make([]Block, n)
		for i := range large {
			large[i] = Block{Kind: Call, CallID: fmt.Sprint(i)}
		}
		x.add(large...)
		for i := range n / fewCalls {
			small, answers := make([]Block, fewCalls), make([]Block, fewCalls)
			for j := range small {
				id := fmt.Sprint(i, j)
				small[j], answers[j] = Block{Kind: Call, CallID: id}, Block{Kind: Result, CallID: id}
			}
			x.add(small...)
			x.add(answers...)
		}
		return x
	})
}

func TestGrowthOfTies(t *testing.T) {
	linear(t, "a chain of ties, from the end", 2*many, func(n int) (chain growing) {
		chain.add(make([]Block, n)...)
		for i := n - 1; i > 0; i-- {
			chain.Ties = append(chain.Ties, Tie{BlockID(i), BlockID(i - 1), true})
		}
		return chain
	})
	linear(t, "one atom with many needs", 2*many, func(n int) (needs growing) {
		needs.add(make([]Block, 2*n)...)
		for i := range n {
			needs.Ties = append(needs.Ties, Tie{0, BlockID(i), true}, Tie{BlockID(i), BlockID(n + i), false})
		}
		return needs
	})
}

// linear makes a transcript and walks its cuts.
func linear(t *testing.T, name string, n int, index func(n int) growing) {
	t.Helper()
	trial.Linear(t, name, n, func(n int) func() {
		x := index(n)
		return func() {
			for range New(x.Index).Cuts() {
			}
		}
	})
}
