package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/wire"
)

// wordsIn returns the words of a talk in a text, in order: the letter of a kind, digits, and a w.
// It leaves out thinking (t), which dialects bind differently.
func wordsIn(text []byte) []string {
	var words []string
	for i := 0; i < len(text); i++ {
		if text[i] != 'w' {
			continue
		}
		from := i
		for from > 0 && '0' <= text[from-1] && text[from-1] <= '9' {
			from--
		}
		if i-from >= 3 && from > 0 && strings.IndexByte("uiscry", text[from-1]) >= 0 {
			words = append(words, string(text[from-1:i+1]))
		}
	}
	return words
}

// A wordCounter counts the words of a talk, so that a talk costs the same in every dialect.
type wordCounter struct{}

func (wordCounter) Count(text []byte) int            { return len(wordsIn(text)) }
func (wordCounter) CountJSON(raw []byte) int         { return len(wordsIn(raw)) }
func (wordCounter) Media(string, []byte, bool) int   { return 1 }
func (wordCounter) Overhead(messages, tools int) int { return 0 }

func parleyOf(seed uint64) parley {
	g := talker{r: rand.New(rand.NewPCG(seed, 50))}
	g.images, g.thoughts, g.long = g.chance(3), g.chance(3), g.chance(3)
	return g.parley()
}

// TestCrossClean checks that a complete talk is valid in every dialect.
func TestCrossClean(t *testing.T) {
	for seed := range uint64(historyCount(t) / 10) {
		k := parleyOf(seed)
		for _, h := range hands {
			body := h.body(t, k)
			if found := reading(t, h.d, body).Check(wire.CheckOptions{}); len(found) > 0 {
				t.Fatalf("seed %d, %s: %v\n%s\n%s", seed, h.name, found, k, body)
			}
		}
	}
}

// leftBy returns the words that remain of a trimmed talk, or the error.
func leftBy(t *testing.T, h hand, body []byte, w pare.Window) string {
	t.Helper()
	plan, err := planner.Trim(context.Background(), reading(t, h.d, body), w, pare.Options{Counter: wordCounter{}})
	var small *pare.WindowTooSmall
	if errors.As(err, &small) {
		return fmt.Sprintf("too small: %d %s", small.Minimum, small.Unit)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", h.name, err, body)
	}
	out, err := plan.Apply()
	if err != nil {
		t.Fatalf("%s: %v\n%s", h.name, err, body)
	}
	fresh := reading(t, h.d, out)
	if left := fresh.Check(wire.CheckOptions{}); len(left) > 0 {
		t.Fatalf("%s, %+v: refused: %v\nin  %s\nout %s", h.name, w, left, body, out)
	}
	for u, most := range map[string]int{"messages": w.Messages, "exchanges": w.Exchanges, "turns": w.Turns} {
		if n := size(u, fresh); most > 0 && n > most {
			t.Fatalf("%s: %d %s are left, the limit is %d\n%s", h.name, n, u, most, out)
		}
	}
	if n := fresh.Tokens(wordCounter{}); w.Tokens > 0 && n > w.Tokens {
		t.Fatalf("%s: %d tokens are left, the limit is %d\n%s", h.name, n, w.Tokens, out)
	}
	wholePairs(t, h.name, h.d, utterances(t, h.d, out))
	return remains(out)
}

// remains are the words of a talk in a body, each once, in order.
func remains(body []byte) string {
	all := wordsIn(body)
	slices.SortFunc(all, func(a, b string) int { return strings.Compare(a[1:], b[1:]) })
	return strings.Join(slices.Compact(all), " ")
}

// TestCrossTrim: a window that counts the same in every dialect keeps the same.
func TestCrossTrim(t *testing.T) {
	for seed := range uint64(historyCount(t) / 125) {
		k := parleyOf(seed)
		bodies := k.bodies(t)
		for _, u := range []string{"exchanges", "turns", "tokens"} {
			if u == "tokens" && k.has('t') {
				continue // a signature is counted where it stands for the thought
			}
			rnd := rand.New(rand.NewPCG(seed, 51))
			for _, n := range []int{1, 2, 3, 1 + rnd.IntN(len(k.beats)), 1 + rnd.IntN(len(k.beats))} {
				want := ""
				for i, h := range hands {
					got := leftBy(t, h, bodies[i], window(u, n))
					if i == 0 {
						want = got
					} else if got != want {
						t.Fatalf("seed %d, %d %s: %s\n%s: %s\n%s: %s\n%.3000s", seed, n, u, k, hands[0].name, want, h.name, got, bodies[i])
					}
				}
			}
		}
	}
}

func (k parley) has(is byte) bool {
	return slices.ContainsFunc(k.beats, func(b beat) bool { return b.is == is })
}

// bodies are the talk in every hand.
func (k parley) bodies(t testing.TB) [][]byte {
	t.Helper()
	var all [][]byte
	for _, h := range hands {
		all = append(all, h.body(t, k))
	}
	return all
}
