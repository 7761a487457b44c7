package background_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/cmd/internal/background"
	"github.com/pare-llm/pare/internal/pgtest"
	"github.com/pare-llm/pare/store"
)

func TestMain(m *testing.M) {
	code := m.Run()
	pgtest.Stop()
	os.Exit(code)
}

var ctx = context.Background()

// heavy makes sessions that are over a limit, and one that is not.
func heavy(t *testing.T, st *store.Store, n int) (keys []store.Key) {
	t.Helper()
	for i := range n + 1 {
		key := store.Key{Scope: fmt.Sprint(i % 2), ID: fmt.Sprintf("s%d", i)}
		if _, err := st.Create(ctx, key, store.Create{Dialect: "anthropic", Model: "claude-sonnet-4-5"}); err != nil {
			t.Fatal(err)
		}
		turns := 30
		if i == n {
			turns = 2
		} else {
			keys = append(keys, key)
		}
		for j := range turns {
			// No two say the same: a summary of the same words would be found, not written again.
			text := fmt.Sprintf(`{"role":"user","content":"session %d, turn %d %s"}`, i, j, strings.Repeat("and so on ", 50))
			if _, err := st.Append(ctx, key, store.Anywhere, store.Message("", []byte(text)), store.Message("", []byte(`{"role":"assistant","content":"fine"}`))); err != nil {
				t.Fatal(err)
			}
		}
	}
	return keys
}

// Sessions that are over the limit are compacted, each by one process at a time, although
// three work on the same store and one of them ends in the middle. Others are left alone.
func TestHeavySessionsAreCompacted(t *testing.T) {
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			dsn := filepath.Join(t.TempDir(), "pare.db")
			if engine == "postgres" {
				dsn = pgtest.DSN(t)
			}
			st, err := store.Open(ctx, dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			keys := heavy(t, st, 6)
			var (
				mu    sync.Mutex
				under = make(map[string]int)
				runs  atomic.Int64
			)
			c := &pare.Compactor{MinKeep: 4, Summarize: func(_ context.Context, h pare.Removed) (pare.Summary, error) {
				name := fmt.Sprint(len(h.Blocks))
				mu.Lock()
				under[name]++
				mu.Unlock()
				runs.Add(1)
				return pare.Summary{Text: "they talked"}, nil
			}}
			replicas := 3
			if engine == "sqlite" {
				replicas = 1
			}
			var all []*background.Runner
			for range replicas {
				r, err := background.Start(ctx, st, dsn, background.Options{Above: 1500, Compactor: c, Every: time.Second})
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, r)
			}
			if replicas > 1 {
				all[0].Stop()
				all = all[1:]
			}
			for {
				left, err := st.NeedCompaction(ctx, 1500, 0, time.Now(), 100)
				if err != nil {
					t.Fatal(err)
				}
				if len(left) == 0 {
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
			for _, r := range all {
				r.Stop()
			}
			for _, key := range keys {
				w, err := st.Window(ctx, key, store.WindowOptions{})
				if err != nil || !strings.Contains(string(w.Body), "they talked") || strings.Count(string(w.Body), "they talked") != 1 {
					t.Errorf("%s: %v", key, err)
				}
			}
			if problems, err := st.Fsck(ctx, false); err != nil || len(problems) > 0 {
				t.Error(problems, err)
			}
			if n := runs.Load(); n < int64(len(keys)) || n > 2*int64(len(keys)) {
				t.Errorf("%d summaries for %d sessions", n, len(keys))
			}
		})
	}
}

// TestResting: a session that rests is worth a summary while the provider's cache still lives and is
// about to expire; not before, and not when it is too late.
func TestResting(t *testing.T) {
	st, err := store.Open(ctx, filepath.Join(t.TempDir(), "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	keys := heavy(t, st, 3)
	for pause, want := range map[time.Duration]int{0: 0, 3 * time.Minute: 0, 4*time.Minute + 20*time.Second: len(keys), 6 * time.Minute: 0, 24 * time.Hour: 0} {
		for resting, want := range map[int64]int{0: 0, 1500: want, 1 << 40: 0} {
			got, err := st.NeedCompaction(ctx, math.MaxInt64, resting, time.Now().Add(pause), 100)
			if err != nil || len(got) != want {
				t.Errorf("after %v, above %d: %d sessions, want %d, %v", pause, resting, len(got), want, err)
			}
		}
	}
	for _, o := range []background.Options{{Compactor: new(pare.Compactor)}, {Resting: 1}} {
		if _, err := background.Start(ctx, st, "", o); err == nil {
			t.Errorf("%+v starts", o)
		}
	}
}
