package store_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/store"
)

// TestHandlesLastAsLongAsTheirSession deletes, compacts and collects random sessions and forks with
// shared results. Parts that the newest window has cleared must stay recallable as long as the
// session exists.
func TestHandlesLastAsLongAsTheirSession(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		for round := range trial.Size(4) {
			r := rand.New(rand.NewPCG(2, uint64(round)))
			live := make(map[store.Key][]string) // handles of the newest window
			var keys []store.Key
			looked := 0
			look := func(key store.Key) {
				t.Helper()
				ask := store.WindowOptions{Policy: &pare.Policy{Window: &pare.Window{Tokens: 1500, Recent: 1}}}
				if r.IntN(4) == 0 {
					ask.Policy.Archive = st.Archive(key) // which keeps bytes, not references
				}
				w, err := st.Window(ctx, key, ask)
				if err != nil {
					t.Fatal(err)
				}
				live[key] = nil
				for _, item := range w.Plan.Archive() {
					live[key] = append(live[key], item.ID)
				}
			}
			add := func(key store.Key, n int) {
				for range n {
					session, err := st.Session(ctx, key)
					if err != nil {
						t.Fatal(err)
					}
					file := session.Head // so that sessions have the same blocks
					id := fmt.Sprintf("toolu_%d", file)
					put(t, st, key, call(id), result(id, strings.Repeat(fmt.Sprintf("line of file %d. ", file), 60)))
				}
				put(t, st, key, assistant("done"), user("go on"))
			}
			for i := range 3 {
				key := create(t, st, fmt.Sprintf("s%d-%d", round, i))
				put(t, st, key, user("task"))
				add(key, 10)
				keys = append(keys, key)
				look(key)
			}
			for step := range 12 {
				if len(keys) == 0 {
					break
				}
				i := r.IntN(len(keys))
				key := keys[i]
				switch r.IntN(6) {
				case 0:
					if err := st.Delete(ctx, key); err != nil {
						t.Fatal(err)
					}
					keys = append(keys[:i:i], keys[i+1:]...)
					delete(live, key)
				case 1:
					fork := store.ID(fmt.Sprintf("f%d-%d", round, step))
					page, err := st.Page(ctx, key, store.Page{Last: true, Limit: 1 + r.IntN(8)})
					if err != nil {
						t.Fatal(err)
					}
					if _, err := st.Fork(ctx, key, page.Entries[len(page.Entries)-1].ID, fork); err != nil {
						t.Fatal(err)
					}
					keys = append(keys, fork)
					look(fork)
				case 2:
					if _, err := st.Compact(ctx, key, &pare.Compactor{MinKeep: 12, Summarize: says("before")}); err != nil {
						t.Fatal(err)
					}
					look(key)
				case 3:
					if _, err := st.Collect(ctx, "", store.Retention{Originals: 1, Tombstones: 1}); err != nil {
						t.Fatal(err)
					}
				default:
					add(key, 1+r.IntN(3))
					look(key)
				}
				for key, handles := range live {
					for _, handle := range handles {
						looked++
						if _, err := st.Recall(ctx, "", handle); err != nil {
							t.Fatalf("round %d, step %d, %s: %v", round, step, key, err)
						}
					}
				}
			}
			if looked == 0 {
				t.Fatal("nothing was cleared")
			}
			for _, key := range keys {
				if err := st.Delete(ctx, key); err != nil {
					t.Fatal(err)
				}
			}
			if n := st.Count(`SELECT count(*) FROM archive`); n != 0 {
				t.Errorf("%d rows of deleted sessions are left in the archive", n)
			}
		}
	})
}
