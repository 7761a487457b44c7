package wire_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// TestScribeStretches: what goes or changes in front of messages, between them and behind them leaves
// those as they were, and nobody words them again. All tests of this package prove that the result is
// what rewriting all of it gives.
func TestScribeStretches(t *testing.T) {
	t.Parallel()
	const whole, gone, shorter, other, part = 1, 2, 3, 4, 5
	steps := []struct {
		what      string
		way       int // in which messages come out; 0: nothing changes
		from, end int // these messages, from the end if they are negative; 0: up to the end
		also      []int
		more      int // messages, of which the request has more than the one before
	}{
		{"some go, two by themselves", gone, 5, 8, []int{12, 14}, 0},
		{"a part of one goes", part, 10, 11, nil, 0},
		{"parts of what is behind it", part, 15, -3, nil, 0},
		{"an edit in front of all that", shorter, 2, 3, nil, 0},
		{"another one", other, 2, 3, nil, 0},
		{"more", 0, 0, 0, nil, 3},
		{"one in front goes", gone, 1, 2, nil, 0},
		{"the first ones go", gone, 0, 3, nil, 1},
		{"and come back", whole, 0, 3, nil, 0},
		{"the last ones go", gone, -3, -1, nil, 0},
		{"the very last one, too", gone, -1, 0, nil, 0},
		{"an edit in front of what goes up to the end", shorter, 3, 4, nil, 0},
		{"more behind what went at the end", 0, 0, 0, nil, 2},
		{"less, so that it goes at the end again", whole, 3, 4, nil, -2},
		{"far less", other, 3, 4, nil, -7},
		{"more than ever", gone, 4, 5, []int{9, 13}, 12},
		{"all from one on go", gone, 4, 0, nil, 0},
		{"an edit in front of nothing", shorter, 2, 3, nil, 0},
		{"the first one goes, too", gone, 0, 1, nil, 0},
		{"some come back", whole, 0, 6, []int{9, 11}, 0},
		{"all from the middle on come back", whole, 6, 0, nil, 0},
		{"edits around one", shorter, 7, 8, []int{5, 9}, 0},
		{"that goes", gone, 7, 8, nil, 0},
		{"an edit of the last", shorter, -1, 0, nil, 0},
		{"an edit of the first", shorter, 0, 1, nil, 0},
		{"all are edited", other, 0, 0, nil, 0},
		{"but one", gone, 8, 9, nil, 0},
		{"as before", 0, 0, 0, nil, 0},
	}
	for _, d := range wire.Dialects() {
		said, must := 0, 0
		for seed := range trial.Histories(60) {
			rng := rand.New(rand.NewPCG(uint64(seed), 11))
			body := paretest.Random(uint64(seed), paretest.GenOptions{Turns: 12, Steps: 4}).Render(d, paretest.RenderOptions{})
			usual := len(neighbours[d]) == 0 || seed%2 > 0
			if !usual {
				body = odd(rng, d)
			}
			r, err := wire.Parse(body, wire.Options{Dialect: d})
			if err != nil {
				t.Fatalf("%s, seed %d: %v", d, seed, err)
			}
			all, err := r.Beginnings(wire.Options{Dialect: d, Model: r.Model(), Structural: true})
			if err != nil {
				t.Fatalf("%s, seed %d: %v", d, seed, err)
			}
			s := wire.Scribe{Lend: seed%3 > 0}
			messages := len(r.Transcript().Messages())
			ways, before := make([]int, messages), make([]int, messages)
			var ends []int // of requests that are known to be beginnings of one history
			for n := 1; n <= messages; n++ {
				if q, err := all.At(n); err == nil && (!usual || q.Transcript().Continues(r.Transcript())) {
					ends = append(ends, n)
				}
			}
			last := len(ends) * 2 / 3
			was := 0
			for _, step := range steps {
				last = max(0, min(last+step.more, len(ends)-1))
				n := ends[last]
				place := func(i int) int { // from the end or not
					if i < 0 {
						i += n
					}
					return max(0, min(i, n))
				}
				from, end := place(step.from), place(step.end)
				if step.end == 0 {
					end = n
				}
				for i := from; i < end && step.way > 0; i++ {
					ways[i] = step.way
				}
				for _, i := range step.also {
					ways[place(i)%n] = step.way
				}
				q, err := all.At(n)
				if err != nil {
					t.Fatalf("%s, seed %d: %v", d, seed, err)
				}
				var drop []transcript.BlockID
				var edits []wire.BlockEdit
				for i, m := range q.Transcript().Messages() {
					for b := m.First; b < m.End; b++ {
						switch {
						case ways[i] == gone || ways[i] == part && b == m.First:
							drop = append(drop, b)
						case (ways[i] == shorter || ways[i] == other) && q.Editable(b):
							edits = append(edits, wire.BlockEdit{Block: b, Text: fmt.Sprintf(`{"note":"%d"}`, ways[i])})
						}
					}
					if blocks := int(m.End - m.First); usual && (i >= was || ways[i] != before[i]) {
						must += blocks
					}
				}
				next, _, err := s.Rewrite(q, q, drop, edits)
				if err != nil {
					t.Fatalf("%s, seed %d, %s: %v", d, seed, step.what, err)
				}
				next.Check(wire.CheckOptions{}) // which is proved, too
				copy(before, ways)
				was = n
			}
			if usual { // others are seldom known to begin as the one before
				said += s.Said()
			}
		}
		t.Logf("%s: %d blocks were worded, %d are in messages that changed", d, said, must)
		if said > must {
			t.Errorf("%s: %d blocks were worded, %d are in messages that changed", d, said, must)
		}
	}
}
