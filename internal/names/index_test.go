package names_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pare-llm/pare/internal/names"
)

// TestIndexAnswersForEveryBeginning compares an index of all texts with reading each beginning anew.
func TestIndexAnswersForEveryBeginning(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	texts := make([]string, 30)
	for i := range texts {
		for range rng.IntN(12) {
			texts[i] += fmt.Sprintf("plain name_%d ", rng.IntN(25))
		}
	}
	x := names.NewIndex(len(texts), func(i int) string { return texts[i] })
	for n := 1; n <= len(texts); n++ {
		for i := range n {
			count := make(map[string]int)
			for _, name := range all(texts[i]) {
				if !slices.ContainsFunc(texts[i+1:n], func(later string) bool { return slices.Contains(all(later), name) }) {
					count[name]++
				}
			}
			want := names.Frequent(count)
			if got := x.Last(i, n, texts[i]); !slices.Equal(got, want) || x.CountLast(i, n) != len(want) {
				t.Fatalf("text %d of the first %d: %v, %d, want %v", i, n, got, x.CountLast(i, n), want)
			}
		}
	}
}
