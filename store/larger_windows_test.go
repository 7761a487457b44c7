package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/store"
)

// marked returns a random session in which every text, call and result has its own marker.
func marked(r *rand.Rand, n int) (raws [][]byte) {
	text := func(mark string, most int) string {
		return "<" + mark + ">" + strings.Repeat(" as it was", 1+r.IntN(most))
	}
	raws = append(raws, user(text("u0", 5)))
	for i := 1; len(raws) < n; i++ {
		switch id := fmt.Sprint("c", i); r.IntN(6) {
		case 0:
			raws = append(raws, user(text(fmt.Sprint("u", i), 60)))
		case 1:
			raws = append(raws, assistant(text(fmt.Sprint("a", i), 60)))
		default:
			raws = append(raws, call(id), result(id, text(fmt.Sprint("r", i), 200)))
		}
	}
	return raws
}

// TestLargerWindowsKeepMore checks that a larger window begins no later and keeps all user text
// that a smaller one keeps. Results, and texts of the model before its calls, may be shortened
// differently.
func TestLargerWindowsKeepMore(t *testing.T) {
	st := open(t, filepath.Join(t.TempDir(), "pare.db"))
	windows, cut := 0, 0
	lost := map[byte]int{}
	for seed := range uint64(max(2, trial.Size(6))) {
		r := rand.New(rand.NewPCG(seed, 3))
		key := create(t, st, fmt.Sprint("s", seed))
		raws := marked(r, 30+r.IntN(250))
		put(t, st, key, raws...)
		var before map[string]bool
		from, least := int64(0), 0
		for limit := 300; limit < 12_000; limit += 1 + limit/(8+r.IntN(20)) {
			w, err := st.Window(ctx, key, store.WindowOptions{Policy: &pare.Policy{Window: &pare.Window{Tokens: limit}}})
			if small := new(pare.WindowTooSmall); errors.As(err, &small) {
				continue
			} else if err != nil {
				t.Fatal(err)
			}
			if windows++; w.From > 1 {
				cut++
			}
			if from > 0 && w.From > from {
				t.Errorf("seed %d: a window of %d tokens begins with entry %d, one of %d with %d", seed, limit, w.From, least, from)
			}
			kept := make(map[string]bool)
			for _, part := range strings.Split(string(w.Body), "<")[1:] {
				mark, _, _ := strings.Cut(part, ">")
				kept[mark] = true
			}
			for mark := range before {
				if kept[mark] {
					continue
				}
				if lost[mark[0]]++; mark[0] == 'u' {
					t.Errorf("seed %d: a window of %d tokens keeps %s, one of %d does not", seed, least, mark, limit)
				}
			}
			before, from, least = kept, w.From, limit
		}
	}
	t.Logf("%d windows, %d of them cut; lost %v", windows, cut, lost)
	if cut < windows/4 {
		t.Errorf("only %d of %d windows are cut", cut, windows)
	}
}
