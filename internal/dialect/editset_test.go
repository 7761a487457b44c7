package dialect

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// TestEditSet compares with the plain way: a sorted slice.
func TestEditSet(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		n, room := 1+rnd.IntN(3000), 1+rnd.IntN(20_000)
		var set editSet
		var plain []jsonspan.Edit
		for range n {
			e := jsonspan.Edit{Span: jsonspan.Span{Start: rnd.IntN(room)}}
			e.End = e.Start + rnd.IntN(4)
			ok := true
			i, _ := slices.BinarySearchFunc(plain, e, compareEdits)
			for _, o := range plain[max(0, i-1):min(len(plain), i+1)] {
				ok = ok && !clash(e, o)
			}
			if ok {
				plain = slices.Insert(plain, i, e)
			}
			if set.insert(e) != ok {
				t.Fatalf("seed %d: %v: inserted is %v, want %v", seed, e, !ok, ok)
			}
		}
		if !slices.EqualFunc(set.all(), plain, func(a, b jsonspan.Edit) bool { return a.Span == b.Span }) {
			t.Fatalf("seed %d: not the same edits", seed)
		}
	}
}
