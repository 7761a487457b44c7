package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/pare-llm/pare/internal/pgtest"
	"github.com/pare-llm/pare/store"
)

// TestExecModes checks fast appends and transactions in all execution modes that an address may set
// for poolers.
func TestExecModes(t *testing.T) {
	dsn := pgtest.Copy(t, ready(t))
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			st := open(t, dsn+"&default_query_exec_mode="+mode)
			one, two := create(t, st, mode+"-1"), create(t, st, mode+"-2")
			var want []string
			add := func(key store.Key, n int, text string) {
				t.Helper()
				var list []store.Entry
				for i := range n {
					list = append(list, store.Message(fmt.Sprintf("%s-%d", text, i), user(fmt.Sprintf("%s %d höher 'quoted' \\ ?", text, i))))
				}
				if _, err := st.Append(ctx, key, store.Anywhere, list...); err != nil {
					t.Fatal(err)
				}
				for i := range n {
					if key == one {
						want = append(want, fmt.Sprintf("%s-%d", text, i))
					}
				}
			}
			// Single and multiple entries, often enough that marks are written.
			for i := range 30 {
				add(one, []int{1, 2, 4, 5, 9}[i%5], fmt.Sprint("a", i))
			}
			for i, n := range []int{1, 3, 9} {
				var list []store.Entry
				for j := range n {
					id := fmt.Sprintf("q%d-%d", i, j)
					list, want = append(list, store.Message(id, user(id))), append(want, id)
				}
				if !store.FastAppend(st, one, list...) {
					t.Errorf("%d entries take a transaction of their own", n)
				}
			}
			// Appends of several sessions share a statement.
			var wait sync.WaitGroup
			for n := range 8 {
				wait.Go(func() {
					key := create(t, st, fmt.Sprint(mode, "-many-", n))
					for i := range 20 {
						if _, err := st.Append(ctx, key, store.Anywhere, store.Message(fmt.Sprint("m", i), user(fmt.Sprint(i)))); err != nil {
							t.Error(err)
						}
					}
					if got := len(texts(t, st, key)); got != 20 {
						t.Errorf("%d of 20 entries", got)
					}
				})
			}
			wait.Wait()
			if _, err := st.Append(ctx, two, store.Anywhere, store.Message("c", call("c1")), store.Message("r", result("c1", "out")), store.Message("p", []byte(fmt.Sprintf(
				`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}}]}`, picture(30_000, 1))))); err != nil {
				t.Fatal(err)
			}
			if got := len(texts(t, st, one)); got != len(want) {
				t.Errorf("%d of %d entries", got, len(want))
			}
			// The same bytes under the same id count once, others are refused.
			add2 := func(text string) error {
				_, err := st.Append(ctx, one, store.Anywhere, store.Message("a0-0", user(text)))
				return err
			}
			if err := add2("a0 0 höher 'quoted' \\ ?"); err != nil {
				t.Error(err)
			}
			var dup *store.DuplicateError
			if err := add2("other"); !errors.As(err, &dup) {
				t.Errorf("other bytes under the same id: %v", err)
			}
			if body, err := st.Window(ctx, two, store.WindowOptions{}); err != nil || len(body.Body) < 30_000 {
				t.Errorf("a window: %v", err)
			}
			if hits, err := st.Search(ctx, one, "höher a3", 100); err != nil || len(hits) == 0 {
				t.Errorf("search: %d hits, %v", len(hits), err)
			}
			if _, err := st.RevertTurns(ctx, one, store.Anywhere, 1); err != nil {
				t.Error(err)
			}
			if found, err := st.Fsck(ctx, false); err != nil || len(found) > 0 {
				t.Errorf("fsck: %v %v", found, err)
			}
		})
	}
}
