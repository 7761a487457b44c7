package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/store"
)

// TestLargeAppendPairsLikeSmallOnes compares the pairs of one large append with those of many small
// ones, including repeated ids, calls without ids and orphan results.
func TestLargeAppendPairsLikeSmallOnes(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		r := rand.New(rand.NewPCG(7, 7))
		for round := range trial.Size(2) {
			gemini := round%2 == 1
			name := func(n int) string { return fmt.Sprintf("t%d", n%3) }
			var list []store.Entry
			for i := range 300 {
				n := r.IntN(6)
				raw := user(fmt.Sprint(i))
				switch {
				case gemini && i%3 == 1:
					raw = []byte(fmt.Sprintf(`{"role":"model","parts":[{"functionCall":{"name":%q,"args":{}}},{"functionCall":{"name":%q,"args":{}}}]}`, name(n), name(n+1)))
				case gemini && i%3 == 2:
					raw = []byte(fmt.Sprintf(`{"role":"user","parts":[{"functionResponse":{"name":%q,"response":{"x":1}}}]}`, name(n)))
				case gemini:
					raw = []byte(fmt.Sprintf(`{"role":"user","parts":[{"text":"%d"}]}`, i))
				case r.IntN(3) == 0:
					raw = call(fmt.Sprintf("c%d", n))
				case r.IntN(2) == 0:
					raw = result(fmt.Sprintf("c%d", n), "out")
				}
				list = append(list, store.Message(fmt.Sprintf("m%d", i), raw))
			}
			dialect := store.Create{Dialect: "anthropic"}
			if gemini {
				dialect.Dialect = "gemini"
			}
			var want []store.Entry
			for _, cut := range [][]int{nil, {150}, {40, 150}, {1, 2, 90, 150}} {
				key := store.ID(fmt.Sprintf("s%d-%v", round, cut))
				if _, err := st.Create(ctx, key, dialect); err != nil {
					t.Fatal(err)
				}
				if cut == nil {
					for i := range list {
						cut = append(cut, i+1)
					}
				}
				from := 0
				var got []store.Entry
				for _, to := range cut {
					result, err := st.Append(ctx, key, store.Anywhere, list[from:to]...)
					if err != nil {
						t.Fatal(err)
					}
					got, from = append(got, result.Entries...), to
				}
				if want == nil {
					want = got
				}
				for i := range got {
					if !slices.Equal(got[i].Answers, want[i].Answers) {
						t.Fatalf("round %d, parted at %v: entry %d answers %v, one by one %v", round, cut, i+1, got[i].Answers, want[i].Answers)
					}
				}
				checkStore(t, st)
				if err := st.Delete(ctx, key); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
