package transcript

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
)

// index builds an index from a short notation: messages are parted by |, blocks
// by blanks. A message that begins with + belongs to the turn before it; one that
// begins with ! is a person's. Blocks are t (text), k (thinking) and
// c:id:tool:family calls, r:… results, g:… results that go on, C:… server calls, R:… server
// results, p compactions, where what is missing at the end is empty.
func index(notation string, d Discipline) Index {
	x := Index{Discipline: d}
	turn := -1
	for i, message := range strings.Split(notation, "|") {
		words := strings.Fields(message)
		m := Message{Role: Assistant, First: BlockID(len(x.Blocks))}
		turn++
		for len(words) > 0 && (words[0] == "+" || words[0] == "!") {
			if words[0] == "+" {
				turn--
			} else {
				m.Role, m.Begins = User, true
			}
			words = words[1:]
		}
		m.Turn = turn
		for _, w := range words {
			x.Blocks = append(x.Blocks, block(w, i))
		}
		m.End = BlockID(len(x.Blocks))
		x.Messages = append(x.Messages, m)
	}
	return x
}

func block(word string, message int) Block {
	f := append(strings.Split(word, ":"), "", "", "")
	kinds := map[string]Kind{"t": Text, "k": Thinking, "c": Call, "r": Result, "g": Result, "C": ServerCall, "R": ServerResult, "p": Compaction}
	b := Block{Message: message, Kind: kinds[f[0]], Continues: f[0] == "g", CallID: f[1], Tool: f[2]}
	if f[3] != "" {
		b.Family = f[3][0]
	}
	return b
}

// exchanges describes t's exchanges, one word each for the call's block, the
// results' blocks and what is odd.
func exchanges(t *Transcript) []string {
	all := []string{}
	for _, x := range t.Exchanges() {
		line := x.State.String()
		if x.Call != NoBlock {
			line += fmt.Sprintf(" %d", x.Call)
		}
		for _, r := range x.Results {
			line += fmt.Sprintf(">%d", r)
		}
		for _, note := range []struct {
			is   bool
			name string
		}{{x.Guessed, "guessed"}, {x.Repeats, "repeats"}, {x.Server, "server"}} {
			if note.is {
				line += " " + note.name
			}
		}
		all = append(all, line)
	}
	return all
}

func TestPair(t *testing.T) {
	// What is wanted where the answer must stand in the next turn, and where it may
	// stand anywhere: = is the same, - is not asked for.
	for _, c := range []struct{ name, in, next, anywhere string }{
		{"nothing", "", "", "="},
		{"no calls", "! t | t | ! t", "", "="},
		{"whole", "! t | c:1 | r:1", "whole 1>2", "="},
		{"open", "! t | c:1", "open 1", "="},
		{"open behind an answered one of its id", "c:1 | r:1 | c:1", "whole 0>1, open 2", "="},
		{"orphan call", "c:1 | ! t", "orphan call 0", "="},
		{"orphan result", "! t | r:1", "orphan result>1", "="},
		{"a result never answers a later call", "r:1 | c:1", "orphan result>0, open 1", "="},
		{"nor one of its own turn", "c:1 r:1 | t", "orphan call 0, orphan result>1", "whole 0>1"},
		{"displaced", "c:1 | ! t | r:1", "displaced 0>2", "whole 0>2"},
		{"displaced by far", "c:1 | t | t | t | r:1", "displaced 0>4", "whole 0>4"},
		{"duplicate result", "c:1 | r:1 r:1", "duplicate 0>1>2", "="},
		{"three results are one exchange", "c:1 | r:1 r:1 r:1", "duplicate 0>1>2>3", "="},
		{"a second result comes late", "c:1 | r:1 | t | r:1", "whole 0>1, orphan result>3", "="},
		{"duplicate call, one result", "c:1 c:1 | r:1", "whole 0>2, duplicate 1 repeats", "="},
		{"parallel calls of one id, both answered", "c:1 c:1 | r:1 r:1", "whole 0>2, duplicate 1>3 repeats", "="},
		{"and answered a third time", "c:1 c:1 | r:1 r:1 r:1", "whole 0>2, duplicate 1>3>4 repeats", "="},
		{"an id reused in every turn", "c:0 | r:0 | c:0 | r:0 | c:0 | r:0", "whole 0>1, whole 2>3, whole 4>5", "="},
		{"reused while open: the later turn is answered", "c:0 | t | c:0 | r:0", "orphan call 0, whole 2>3", "orphan call 0, duplicate 2>3 repeats"},
		{"reused, a late result goes to the latest open call", "c:0 | t | c:0 | t | r:0", "orphan call 0, displaced 2>4", "orphan call 0, duplicate 2>4 repeats"},
		{"and the next late one to the one before", "c:0 | t | c:0 | t | r:0 | t | r:0", "displaced 0>6, displaced 2>4", "whole 0>6, duplicate 2>4 repeats"},
		{"late results of a batch of one id are taken in order", "c:0 c:0 | t | r:0 r:0", "displaced 0>3, duplicate 1>4 repeats", "whole 0>3, duplicate 1>4 repeats"},
		{"parallel calls answered in another order", "c:1 c:2 c:3 | r:3 r:1 r:2", "whole 0>4, whole 1>5, whole 2>3", "="},
		{"results in several messages of one turn", "c:1 c:2 | r:1 | + r:2", "whole 0>2, whole 1>3", "="},
		{"calls in several messages of one turn", "c:1 | + c:2 | r:2 r:1", "whole 0>3, whole 1>2", "="},
		{"another family does not answer", "c:1::a | r:1::b", "orphan call 0, orphan result>1", "="},
		{"families with one id", "c:1::a c:1::b | r:1::b r:1::a", "whole 0>3, whole 1>2", "="},
		{"first in, first out by name", "c::f c::g c::f | r::f r::f r::g", "whole 0>3 guessed, whole 1>5 guessed, whole 2>4 guessed", "="},
		{"a name that nobody called", "c::f | r::g", "orphan call 0, orphan result>1", "="},
		{"a result without a name", "c::f c::g | r r", "whole 0>2 guessed, whole 1>3 guessed", "="},
		{"a call without a name", "c | r::g", "whole 0>1 guessed", "="},
		{"only the call has an id", "c:1:f | r::f", "whole 0>1 guessed", "orphan call 0, orphan result>1"},
		{"without ids in two turns", "c::f | r | c::f c::g | r r | r", "whole 0>1 guessed, whole 2>4 guessed, whole 3>5 guessed, orphan result>6", "="},
		{"the first of two is lost", "c::f | t | c::g | r | t", "orphan call 0, whole 2>3 guessed", "="},
		{"only the result has an id", "c::f | r:1:f", "whole 0>1 guessed", "orphan call 0, orphan result>1"},
		{"two ids are never guessed to be one", "c:1:f | r:2:f", "orphan call 0, orphan result>1", "="},
		{"a late response without id", "c::f | t | r::f", "displaced 0>2 guessed", "-"},
		{"one response too many", "c::f | r::f r::f", "duplicate 0>1>2 guessed", "-"},
		{"equal ids: the name decides in the answering turn", "c:1:f c:1:g | r:1:g r:1:f", "whole 0>3, duplicate 1>2 repeats", "="},
		{"and whose turn is over", "c:1:g | t | c:1:f | r:1:g r:1:f", "displaced 0>3, whole 2>4", "whole 0>3, duplicate 2>4 repeats"},
		{"and behind both turns", "c:1:g | t | c:1:f | t | r:1:g", "displaced 0>4, orphan call 2", "whole 0>4, duplicate 2 repeats"},
		{"and behind both turns, both", "c:1:g | t | c:1:f | t | r:1:f r:1:g", "displaced 0>5, displaced 2>4", "whole 0>5, duplicate 2>4 repeats"},
		{"what one tool answered is no late answer of another", "c:1:f | t | c:1:g | r:1:g | t | r:1:g", "orphan call 0, whole 2>3, orphan result>5", "orphan call 0, duplicate 2>3 repeats, orphan result>5"},
		{"the other way round", "c:1:g | r:1:g | c:1:f | t | r:1:g", "whole 0>1, orphan call 2, orphan result>4", "="},
		{"nor a call's without id behind which it stands", "c:1:f | t | c::g | r:1:g", "orphan call 0, whole 2>3 guessed", "whole 0>3, orphan call 2"},
		{"a late result moves to no call of another name", "c:1:f | t | r:1:g", "orphan call 0, orphan result>2", "whole 0>2"},
		{"nor one that a result does not have", "c:1:g | t | c:1:f | t | r:1", "orphan call 0, displaced 2>4", "orphan call 0, duplicate 2>4 repeats"},
		{"the answer that has the name is the call's, whichever stands first", "c:1:f | r:1:g r:1:f", "whole 0>2, orphan result>1", "-"},
		{"a stray keeps its place among the others", "c:1:f | r:1:f r:1:g r:2 c:3:h C:4 r:1:g r:5 R:4 | r:3", "whole 0>1, orphan result>2, orphan result>3, whole 4>9, whole 5>8 server, orphan result>6, orphan result>7", "-"},
		{"and the other joins none that has it", "c:1:f | r:1:f r:1:g", "whole 0>1, orphan result>2", "-"},
		{"a wrong name alone is the call's", "c:1:f | r:1:g", "whole 0>1", "="},
		{"a wrong name twice is a duplicate", "c:1:f | r:1:g r:1:h", "duplicate 0>1>2", "-"},
		{"a wrong name takes what is left", "c:1:f c:1:f | r:1:g r:1:f", "whole 0>3, duplicate 1>2 repeats", "-"},
		{"the name decides behind the answering turn, too", "c:1:f | t | r:1:g r:1:f", "displaced 0>3, orphan result>2", "-"},
		{"server pair in one turn", "C:1 R:1", "whole 0>1 server", "="},
		{"server pair across turns", "C:1 c:2 | r:2 | R:1", "whole 0>3 server, whole 1>2", "="},
		{"server halves alone", "C:1 | R:2 | t", "orphan call 0 server, orphan result>1 server", "="},
		{"a paused server call", "t | C:1", "open 1 server", "="},
		{"code execution has no ids", "C R C R", "whole 0>1 guessed server, whole 2>3 guessed server", "="},
		{"a server's id used again in a later turn", "C:1 c:2 | r:2 | C:1 R:1", "orphan call 0 server, whole 1>2, whole 3>4 server", "="},
		{"a server's id used again after somebody spoke", "C:1 | t | C:1 | R:1", "orphan call 0 server, whole 2>3 server", "="},
		{"server calls of one turn with one id", "C:1 C:1 R:1 R:1", "whole 0>2 server, whole 1>3 server", "="},
		{"server calls of one turn with one id, answered late", "C:1 C:1 c:2 | r:2 | R:1 R:1", "whole 0>4 server, whole 1>5 server, whole 2>3", "="},
		{"code execution that was broken off and begun again", "C | t | C R", "orphan call 0 server, whole 2>3 guessed server", "="},
		{"a guess does not leave its call waiting", "C:1 | R | R:1", "whole 0>1 guessed server, orphan result>2 server", "="},
		{"a client's result does not answer a server's call", "C:1 | r:1", "orphan call 0 server, orphan result>1", "="},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(exchanges(New(index(c.in, NextTurn))), ", "); got != c.next {
				t.Errorf("in the next turn: got %s, want %s", got, c.next)
			}
			if c.anywhere == "-" {
				return
			}
			if c.anywhere == "=" {
				c.anywhere = c.next
			}
			if got := strings.Join(exchanges(New(index(c.in, Anywhere))), ", "); got != c.anywhere {
				t.Errorf("anywhere: got %s, want %s", got, c.anywhere)
			}
		})
	}
}

// TestManyCalls: with more calls than are looked at one by one, and with fewer,
// the same results find the same calls.
func TestManyCalls(t *testing.T) {
	for _, n := range []int{2, fewCalls - 1, fewCalls, fewCalls + 1, 3 * fewCalls} {
		for _, shape := range []struct {
			name         string
			call, result func(i int) string
			want         func(i int) string
		}{
			{"ids, reversed", func(i int) string { return fmt.Sprint("c:", i) }, func(i int) string { return fmt.Sprint("r:", n-1-i) },
				func(i int) string { return fmt.Sprintf("whole %d>%d", i, 2*n-1-i) }},
			{"one name", func(int) string { return "c::f" }, func(int) string { return "r::f" },
				func(i int) string { return fmt.Sprintf("whole %d>%d guessed", i, n+i) }},
			{"a name each, reversed", func(i int) string { return fmt.Sprint("c::f", i) }, func(i int) string { return fmt.Sprint("r::f", n-1-i) },
				func(i int) string { return fmt.Sprintf("whole %d>%d guessed", i, 2*n-1-i) }},
			{"no names", func(i int) string { return fmt.Sprint("c::f", i) }, func(int) string { return "r" },
				func(i int) string { return fmt.Sprintf("whole %d>%d guessed", i, n+i) }},
			{"only results have ids", func(int) string { return "c::f" }, func(i int) string { return fmt.Sprintf("r:%d:f", i) },
				func(i int) string { return fmt.Sprintf("whole %d>%d guessed", i, n+i) }},
			{"only calls have ids", func(i int) string { return fmt.Sprintf("c:%d:f", i) }, func(int) string { return "r::f" },
				func(i int) string { return fmt.Sprintf("whole %d>%d guessed", i, n+i) }},
			{"calls without names", func(int) string { return "c" }, func(i int) string { return fmt.Sprint("r::f", i) },
				func(i int) string { return fmt.Sprintf("whole %d>%d guessed", i, n+i) }},
		} {
			var calls, results []string
			var want []string
			for i := range n {
				calls, results = append(calls, shape.call(i)), append(results, shape.result(i))
				want = append(want, shape.want(i))
			}
			in := strings.Join(calls, " ") + " | " + strings.Join(results, " ")
			if got := exchanges(New(index(in, NextTurn))); !slices.Equal(got, want) {
				t.Errorf("%d calls, %s: got %q, want %q", n, shape.name, got, want)
			}
		}
	}
}

// TestManyNames: calls of one id in one turn and in turns of their own find the late results
// of their names, however many there are.
func TestManyNames(t *testing.T) {
	for _, n := range []int{2, fewCalls, fewCalls + 2, 5 * fewCalls} {
		for _, between := range []string{" ", " | t | "} {
			var calls, results, want []string
			for i := range n {
				calls, results = append(calls, fmt.Sprintf("c:1:f%d", i)), append(results, fmt.Sprintf("r:1:f%d", n-1-i))
			}
			x := New(index(strings.Join(calls, between)+" | t | "+strings.Join(results, " "), NextTurn))
			for _, e := range x.Exchanges() {
				got := "nothing"
				if len(e.Results) == 1 {
					got = x.Block(e.Results[0]).Tool
				}
				if want = append(want, got); e.Call == NoBlock || got != x.Block(e.Call).Tool {
					t.Fatalf("%d calls parted by %q: %v is answered by %s", n, between, e, got)
				}
			}
			if len(want) != n {
				t.Errorf("%d calls parted by %q: %d exchanges", n, between, len(want))
			}
		}
	}
}

// TestFewAndMany lets few calls wait and, behind others that nothing answers, many: what
// answers what is the same.
func TestFewAndMany(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const strangers = fewCalls + 1
	for range trial.Size(2000) {
		var words []string
		for range 1 + rng.IntN(30) {
			half, end := "r", []string{"", " |", " | +"}[rng.IntN(3)]
			if rng.IntN(2) == 0 {
				half = "c"
			}
			words = append(words, fmt.Sprintf("%s:%s:%s:%s%s", half, []string{"", "a", "b", "c"}[rng.IntN(4)], []string{"", "x", "y"}[rng.IntN(3)], []string{"", "1"}[rng.IntN(2)], end))
		}
		history := strings.Join(words, " ")
		var front strings.Builder
		for i := range strangers {
			fmt.Fprintf(&front, "c:stranger%d ", i)
		}
		few, many := New(index("t | t |"+history, Anywhere)), New(index("t | "+front.String()+"|"+history, Anywhere))
		if len(few.exchanges)+strangers != len(many.exchanges) {
			t.Fatalf("%s: %d exchanges, %d behind others", history, len(few.exchanges), len(many.exchanges)-strangers)
		}
		for i, x := range few.exchanges {
			y := many.exchanges[strangers+i]
			if y.Call != NoBlock {
				y.Call -= strangers - 1
			}
			y.Results = slices.Clone(y.Results)
			for j := range y.Results {
				y.Results[j] -= strangers - 1
			}
			if !reflect.DeepEqual(x, y) {
				t.Fatalf("%s: %+v, behind others %+v", history, x, y)
			}
		}
	}
}

// TestGuessAmongMany: among many calls a result without id goes to the same call as among few:
// the first that has no answer and may be meant, named or not.
func TestGuessAmongMany(t *testing.T) {
	for _, two := range []string{"c c::f", "c::f c", "c:9:f c::f", "c c:9:f"} {
		few := New(index(two+" | r::f", NextTurn)).Exchanges()
		for _, others := range []int{fewCalls - 2, fewCalls, 3 * fewCalls} {
			many := New(index(strings.Repeat("c::g ", others)+two+" | r::f", NextTurn)).Exchanges()[others:]
			for i := range few {
				if len(few[i].Results) != len(many[i].Results) {
					t.Errorf("%s behind %d others: call %d has %d results, not %d", two, others, i, len(many[i].Results), len(few[i].Results))
				}
			}
		}
	}
}
