package transcript

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
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
	if len(tr.Exchanges())+len(tr.Atoms())+tr.Turns() != 0 || cuts(tr) != "" {
		t.Errorf("exchanges %v, atoms %v, %d turns, cuts %s", tr.Exchanges(), tr.Atoms(), tr.Turns(), cuts(tr))
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

// TestGrowth: whatever the shape, a hundred thousand halves are paired in a
// moment; see many.
func TestGrowth(t *testing.T) {
	if testing.Short() {
		t.Skip("large histories")
	}
	names, others := make([]string, many), make([]string, many)
	for i := range names {
		names[i], others[i] = fmt.Sprint("n", i), fmt.Sprint("o", i)
	}
	call := func(id, tool string) Block { return Block{Kind: Call, CallID: id, Tool: tool} }
	result := func(id, tool string) Block { return Block{Kind: Result, CallID: id, Tool: tool} }
	shapes := []struct {
		name string
		pair func(i int) (call, result Block)
	}{
		{"one id", func(int) (Block, Block) { return call("x", ""), result("x", "") }},
		{"distinct ids", func(i int) (Block, Block) { return call(names[i], ""), result(names[many-1-i], "") }},
		{"all orphans", func(i int) (Block, Block) { return call(names[i], ""), result(others[i], "") }},
		{"one name", func(int) (Block, Block) { return call("", "f"), result("", "f") }},
		{"names that do not match", func(i int) (Block, Block) { return call("", names[i]), result("", others[i]) }},
		{"names reversed", func(i int) (Block, Block) { return call("", names[i]), result("", names[many-1-i]) }},
		{"results without name or id", func(i int) (Block, Block) { return call(names[i], "f"), result("", "") }},
		{"one result many times", func(int) (Block, Block) { return Block{Kind: Text}, result("x", "") }},
		{"server calls of one id", func(int) (Block, Block) {
			return Block{Kind: ServerCall, CallID: "x"}, Block{Kind: ServerResult, CallID: "x"}
		}},
		{"server calls without ids", func(int) (Block, Block) { return Block{Kind: ServerCall}, Block{Kind: ServerResult} }},
	}
	for _, s := range shapes {
		var batch, turns, late growing
		turns.grow(2 * many)
		late.grow(2*many + 1)
		calls, results := make([]Block, many), make([]Block, many)
		for i := range many {
			calls[i], results[i] = s.pair(i)
			turns.add(calls[i])
			turns.add(results[i])
			late.add(calls[i])
		}
		batch.add(calls...)
		batch.add(results...)
		late.add(Block{Kind: Text})
		for _, r := range results {
			late.add(r)
		}
		soon(t, s.name+", in one batch", batch.Index)
		soon(t, s.name+", turn by turn", turns.Index)
		soon(t, s.name+", all results late", late.Index)
		late.Discipline = Anywhere
		soon(t, s.name+", all results late", late.Index)
	}
}

func TestGrowthOfBatches(t *testing.T) {
	var x growing
	large := make([]Block, many)
	for i := range large {
		large[i] = Block{Kind: Call, CallID: fmt.Sprint(i)}
	}
	x.add(large...)
	for i := range many / fewCalls {
		small, answers := make([]Block, fewCalls), make([]Block, fewCalls)
		for j := range small {
			id := fmt.Sprint(i, j)
			small[j], answers[j] = Block{Kind: Call, CallID: id}, Block{Kind: Result, CallID: id}
		}
		x.add(small...)
		x.add(answers...)
	}
	soon(t, "a large batch, then many small ones", x.Index)
}

func TestGrowthOfTies(t *testing.T) {
	var chain growing
	chain.add(make([]Block, 2*many)...)
	for i := 2*many - 1; i > 0; i-- {
		chain.Ties = append(chain.Ties, Tie{BlockID(i), BlockID(i - 1), true})
	}
	soon(t, "a chain of ties, from the end", chain.Index)

	var needs growing
	needs.add(make([]Block, 4*many)...)
	for i := range 2 * many {
		needs.Ties = append(needs.Ties, Tie{0, BlockID(i), true}, Tie{BlockID(i), BlockID(2*many + i), false})
	}
	soon(t, "one atom with many needs", needs.Index)
}

// soon makes a transcript of x and walks its cuts. What is quadratic takes many
// seconds; a busy machine gets a second chance.
func soon(t *testing.T, name string, x Index) {
	t.Helper()
	var took time.Duration
	for range 2 {
		start := time.Now()
		for range New(x).Cuts() {
		}
		if took = time.Since(start); took < 2*time.Second {
			return
		}
	}
	t.Errorf("%s, discipline %d: %d blocks take %s", name, x.Discipline, len(x.Blocks), took.Round(time.Millisecond))
}
