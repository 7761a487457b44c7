package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/pgtest"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/store"
)

// chat makes a session of so many messages, as agents write them, in large appends.
func chat(t testing.TB, st *store.Store, key store.Key, n int) *talk {
	t.Helper()
	k := &talk{r: rand.New(rand.NewPCG(uint64(n), 1))}
	for done := 0; done < n; {
		var list []store.Entry
		for range min(2000, n-done) {
			list = append(list, store.Message(fmt.Sprintf("m%d", done), k.next()))
			done++
		}
		if _, err := st.Append(ctx, key, store.Anywhere, list...); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

// A window costs the database as much behind a hundred times as many messages: rows that
// PostgreSQL reads, pages that SQLite looks at. Summaries and reverts make no difference.
func TestWindowCostDoesNotGrow(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		lengths, tokens := []int{400, 4000}, 10_000
		if trial.Soak() {
			lengths, tokens = []int{1000, 10_000, 100_000}, 100_000
		}
		ask := store.Ask{Policy: &pare.Policy{Window: &pare.Window{Tokens: tokens, Low: tokens * 7 / 10}}}
		var costs []int
		for _, n := range lengths {
			key := create(t, st, fmt.Sprintf("h%d", n))
			k := chat(t, st, key, n)
			if _, err := st.Revert(ctx, key, store.Anywhere, fmt.Sprintf("m%d", n-5)); err != nil {
				t.Fatal(err)
			}
			put(t, st, key, user(k.words(30)))
			cost, err := store.WindowWork(st, key, ask)
			if err != nil {
				t.Fatal(err)
			}
			costs = append(costs, cost)
		}
		t.Logf("behind %v messages a window of %d tokens costs %v rows or pages", lengths, tokens, costs)
		for i, cost := range costs {
			if 2*cost > 3*costs[0] || cost == 0 {
				t.Errorf("behind %d messages a window costs %d, behind %d it costs %d", lengths[i], cost, lengths[0], costs[0])
			}
		}
	})
}

// No statement is compiled by PostgreSQL: that takes longer than to run it.
func TestNothingIsCompiled(t *testing.T) {
	st := open(t, pgtest.DSN(t))
	for name, want := range map[string]string{"jit": "off", "enable_seqscan": "off", "plan_cache_mode": "force_generic_plan"} {
		if n := st.Count(`SELECT count(*) FROM pg_settings WHERE name = ? AND setting = ?`, name, want); n != 1 {
			t.Errorf("%s is not %s", name, want)
		}
	}
}
