package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/pgtest"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/store"
)

// createChat creates a session of n messages like those of agents, in large appends.
func createChat(t testing.TB, st *store.Store, key store.Key, n int) *talk {
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

// TestWindowCostDoesNotGrow compares the rows or pages that a window reads in a history a hundred
// times as long, also with compactions and reverts.
func TestWindowCostDoesNotGrow(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		lengths, tokens := []int{400, 4000}, 10_000
		if trial.Soak() {
			lengths, tokens = []int{1000, 10_000, 100_000}, 100_000
		}
		ask := store.WindowOptions{Policy: &pare.Policy{Window: &pare.Window{Tokens: tokens, Low: tokens * 7 / 10}}}
		var costs []int
		for _, n := range lengths {
			key := create(t, st, fmt.Sprintf("h%d", n))
			k := createChat(t, st, key, n)
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

// TestPostgresCompilesNothing checks that PostgreSQL compiles no statement, because that takes
// longer than running it.
func TestPostgresCompilesNothing(t *testing.T) {
	st := open(t, pgtest.DSN(t))
	for name, want := range map[string]string{"jit": "off", "enable_seqscan": "off", "plan_cache_mode": "force_generic_plan"} {
		if n := st.Count(`SELECT count(*) FROM pg_settings WHERE name = ? AND setting = ?`, name, want); n != 1 {
			t.Errorf("%s is not %s", name, want)
		}
	}
}

// TestAppendReadsFewRows checks that appends to long sessions use the right index, also with tables
// that were never analyzed and plans from when they were empty.
func TestAppendReadsFewRows(t *testing.T) {
	st := open(t, pgtest.DSN(t))
	key := create(t, st, "long")
	put(t, st, key, call("first")) // every statement of below is planned
	n := 3000
	if trial.Soak() {
		n = 100_000
	}
	many := func(name string) (list []store.Entry) {
		for i := range 100 {
			list = append(list, store.Message(fmt.Sprintf("%s%d", name, i), user("hello")))
		}
		return list
	}
	appends := map[string][]store.Entry{
		"one":                      {store.Message("", user("hello"))},
		"many":                     many("a"),
		"many that are there":      many("a"),
		"the oldest result":        {store.Message("", result("first", "done"))},
		"a result of no call":      {store.Message("", result("none", "done"))},
		"a result that comes late": {store.Message("", result("toolu_00000000", "done"))},
	}
	for i := range 3 {
		if i == 1 {
			createChat(t, st, key, n)
		}
		for _, name := range []string{"one", "many", "many that are there", "the oldest result", "a result of no call", "a result that comes late"} {
			rows, err := store.AppendRows(st, key, appends[name]...)
			if err != nil {
				t.Fatal(err)
			}
			if rows > 300 {
				t.Errorf("%s, time %d, behind %d entries: %d rows are read", name, i, n, rows)
			}
		}
	}
}

// TestFindSeqByWeight checks the search for a weight with any distribution of weights and after
// reverts.
func TestFindSeqByWeight(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		r := rand.New(rand.NewPCG(3, 5))
		for shape, words := range map[string]func(i int) int{
			"even":     func(int) int { return 20 },
			"front":    func(i int) int { return 20 + 80000/(i*i*i+1) },
			"back":     func(i int) int { return max(1, i-880) * 40 },
			"wild":     func(int) int { return int(3 / (r.Float64() + 0.0005)) },
			"reverted": func(int) int { return r.IntN(50) },
		} {
			key := create(t, st, shape)
			k := &talk{r: r}
			var list []store.Entry
			for i := range 900 {
				list = append(list, store.Message(fmt.Sprintf("m%d", i), user(k.words(words(i)))))
			}
			for i, part := range [][]store.Entry{list[:300], list[300:500], list[500:]} {
				if _, err := st.Append(ctx, key, store.Anywhere, part...); err != nil {
					t.Fatal(err)
				}
				if shape == "reverted" && i < 2 {
					if _, err := st.Revert(ctx, key, store.Anywhere, []string{"m150", "m320"}[i]); err != nil {
						t.Fatal(err)
					}
				}
			}
			session, err := st.Session(ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			all, err := store.Weights(st, session)
			if err != nil {
				t.Fatal(err)
			}
			for range 60 {
				cum := r.Int64N(store.Weight(session))
				want := slices.IndexFunc(all, func(e [2]int64) bool { return e[1] > cum })
				if got, err := store.SeqAt(st, session, cum); err != nil || got != all[want][0] {
					t.Errorf("%s: the weight %d of %d is reached with %d, expected %d (%v)", shape, cum, store.Weight(session), got, all[want][0], err)
				}
			}
		}
	})
}
