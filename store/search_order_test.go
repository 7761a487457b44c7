package store_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pare-llm/pare/store"
)

// TestSearchOrder checks that both databases order hits by the last change of sessions and the
// newest entry.
func TestSearchOrder(t *testing.T) {
	engines(t, func(t *testing.T, dsn string) {
		var tick atomic.Int64
		st, err := store.OpenWith(ctx, dsn, store.Options{Now: func() time.Time { return time.UnixMicro(tick.Add(1)) }})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		a, b := create(t, st, "a"), create(t, st, "b")
		for i, times := range []int{1, 5, 2, 4, 3, 0, 1} {
			if i == 4 {
				if _, err := st.Fork(ctx, b, "", store.ID("c")); err != nil {
					t.Fatal(err)
				}
			}
			put(t, st, b, user(fmt.Sprintf("%d %s%s", i, strings.Repeat("heron ", times), strings.Repeat("and more ", 7-i))))
		}
		put(t, st, a, user("heron heron"), user("none"), user("a heron"))
		put(t, st, store.ID("c"), user("c heron"))
		got := func(key store.Key, limit int) string {
			t.Helper()
			hits, err := st.Search(ctx, key, "heron", limit)
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, h := range hits {
				all = append(all, fmt.Sprintf("%s%d", h.Key.ID, h.Seq))
			}
			return strings.Join(all, " ")
		}
		for _, c := range []struct {
			key   store.Key
			limit int
			want  string
		}{
			{b, 0, "b7 b5 b4 b3 b2 b1"},
			{b, 2, "b7 b5"},
			{store.ID("c"), 0, "c5 c4 c3 c2 c1"},
			{store.Key{}, 0, "c5 c4 c3 c2 c1 a3 a1 b7 b5"},
			{store.Key{}, 6, "c5 c4 c3 c2 c1 a3"},
		} {
			if g := got(c.key, c.limit); g != c.want {
				t.Errorf("%v, %d: %s, want %s", c.key, c.limit, g, c.want)
			}
		}
	})
}
