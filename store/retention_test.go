package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/store"
)

// TestRetentionKeepsWindows checks that retention changes no window.
func TestRetentionKeepsWindows(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		for i := range 20 {
			id := fmt.Sprintf("c%d", i)
			put(t, st, key, user(fmt.Sprintf("turn %d %s", i, strings.Repeat("and so on ", 30))), call(id), result(id, "x"), assistant("fine"))
		}
		if _, err := st.Compact(ctx, key, &pare.Compactor{MinKeep: 6, Summarize: says("they talked")}); err != nil {
			t.Fatal(err)
		}
		put(t, st, key, user("now"))
		before, err := st.Window(ctx, key, store.WindowOptions{})
		if err != nil {
			t.Fatal(err)
		}
		done, err := st.Collect(ctx, "", store.Retention{Originals: 1})
		if err != nil || done.Entries == 0 {
			t.Fatalf("%+v, %v", done, err)
		}
		after, err := st.Window(ctx, key, store.WindowOptions{})
		if err != nil || string(after.Body) != string(before.Body) {
			t.Errorf("%v: the window changed", err)
		}
		checkStore(t, st, key)
		if done, err = st.Collect(ctx, "", store.Retention{Idle: 1}); err != nil || done.Sessions != 1 {
			t.Errorf("%+v, %v", done, err)
		}
	})
}

// TestRetentionKeepsForks checks that retention keeps entries that a fork reads.
func TestRetentionKeepsForks(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		for i := range 12 {
			turn(t, st, key, i)
		}
		fork := store.ID("f")
		if _, err := st.Fork(ctx, key, "", fork); err != nil {
			t.Fatal(err)
		}
		before, all := window(t, st, fork, store.WindowOptions{}), texts(t, st, fork)
		compact(t, st, key, "they talked")
		turn(t, st, key, 12)
		if _, err := st.Collect(ctx, "", store.Retention{Originals: 1}); err != nil {
			t.Fatal(err)
		}
		if after := window(t, st, fork, store.WindowOptions{}); after != before || !slices.Equal(texts(t, st, fork), all) {
			t.Errorf("the fork changed: %.300s", after)
		}
		checkStore(t, st, key, fork)
	})
}

// TestRetentionIsFinal checks that deleted originals cannot be in force again, and that everything
// else works.
func TestRetentionIsFinal(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		shot := fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":"the task"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}}]}`, picture(30_000, 1))
		put(t, st, key, []byte(shot), assistant("I see"))
		for i := range 12 {
			turn(t, st, key, i)
		}
		compaction := compact(t, st, key, "they talked")
		turn(t, st, key, 12)
		if hits, err := st.Search(ctx, key, "answer", 0); err != nil || len(hits) == 0 {
			t.Fatal(hits, err)
		}
		before := window(t, st, key, store.WindowOptions{})
		if done, err := st.Collect(ctx, "", store.Retention{Originals: 1}); err != nil || done.Entries == 0 || done.Media != 0 {
			t.Fatalf("%+v, %v", done, err)
		}
		if after := window(t, st, key, store.WindowOptions{}); after != before || !strings.Contains(after, picture(30_000, 1)) {
			t.Error("the window changed")
		}
		for name, err := range map[string]error{
			"revert": second(st.RevertTurns(ctx, key, store.Anywhere, 6)),
			"undo":   second(st.Undo(ctx, key)),
			"window": second(st.Window(ctx, key, store.WindowOptions{Head: 10})),
			"fork":   second(st.Fork(ctx, key, "", store.ID("f"))),
		} {
			if name != "fork" && !errors.Is(err, store.ErrExpired) || name == "fork" && err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := st.Recall(ctx, "", compaction.Archive); err == nil {
			t.Error("what was let go of was recalled")
		}
		if got := texts(t, st, key); !strings.Contains(got[len(compaction.Prefix)-1], "they talked") || got[0] != shot {
			t.Errorf("an export begins with what stands for the rest: %.300s", got)
		}
		page, err := st.Page(ctx, key, store.Page{Limit: 3})
		if err != nil || !page.Entries[0].Gone || page.Entries[0].Raw != nil {
			t.Errorf("%v: %+v", err, page.Entries[0])
		}
		if hits, err := st.Search(ctx, key, "answer", 0); err != nil || len(hits) == 0 || hits[0].Seq <= compaction.To {
			t.Errorf("%v: %v", err, hits)
		}
		into := create(t, st, "b")
		if n, err := st.Merge(ctx, key, into); err != nil || n == 0 {
			t.Error(n, err)
		}
		checkStore(t, st, key, store.ID("f"), into)
	})
}

// TestMediaCollectionDuringWrites deletes unused media while writers store the same media again.
func TestMediaCollectionDuringWrites(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		raw := func(i int) []byte {
			return []byte(fmt.Sprintf(`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}}]}`, picture(8000, byte(i%2))))
		}
		stop := make(chan struct{})
		var wait sync.WaitGroup
		wait.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := st.Collect(ctx, "", store.Retention{Tombstones: 1}); err != nil {
					t.Error(err)
					return
				}
			}
		})
		for w := range 3 {
			wait.Go(func() {
				for i := range trial.Size(30) {
					key := store.ID(fmt.Sprintf("%d-%d", w, i))
					if _, err := st.Create(ctx, key, anthropic); err != nil {
						t.Error(err)
						return
					}
					put(t, st, key, raw(i))
					if _, err := st.Page(ctx, key, store.Page{}); err != nil {
						t.Error(err)
					}
					if err := st.Delete(ctx, key); err != nil {
						t.Error(err)
					}
				}
				if w == 0 {
					close(stop)
				}
			})
		}
		wait.Wait()
		checkStore(t, st)
	})
}

// TestReceiptsAreBounded checks that retention deletes receipts, that fsck verifies them, and that
// summaries stay.
func TestReceiptsAreBounded(t *testing.T) {
	engines(t, func(t *testing.T, dsn string) {
		now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
		st, err := store.OpenWith(ctx, dsn, store.Options{Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		r := st.Receipts()
		st.Memory().Store("receipt/old", "a summary may have any name")
		for day := range 40 {
			if err := r.Store(fmt.Sprintf("r%d", day), fmt.Sprintf(`{"day":%d}`, day)); err != nil {
				t.Fatal(err)
			}
			now = now.Add(24 * time.Hour)
		}
		if err := r.Store("r39", `{"day":"another"}`); err != nil {
			t.Fatal(err)
		}
		if text, ok := r.Load("r39"); !ok || text != `{"day":39}` {
			t.Errorf("%v: %s", ok, text)
		}
		if err := r.Store("torn", `{"day":`); err == nil {
			t.Error("a receipt that is no JSON was kept")
		}
		if done, err := st.Collect(ctx, "", store.Retention{}); err != nil || done.Receipts != 0 {
			t.Errorf("%+v, %v", done, err)
		}
		if done, err := st.Collect(ctx, "", store.Retention{Receipts: 30 * 24 * time.Hour}); err != nil || done.Receipts != 10 {
			t.Errorf("%+v, %v", done, err)
		}
		if n, err := r.Forget(ctx, now.Add(-20*24*time.Hour)); err != nil || n != 10 {
			t.Errorf("%d, %v", n, err)
		}
		if n := st.Count(`SELECT count(*) FROM receipts`); n != 20 {
			t.Errorf("%d receipts are left", n)
		}
		if _, ok := r.Load("r19"); ok {
			t.Error("an old receipt is still there")
		}
		if text, ok := st.Memory().Load("receipt/old"); !ok || text == "" {
			t.Error("a summary went along")
		}
		checkStore(t, st)
		if err := st.Exec(`UPDATE receipts SET text = 'torn' WHERE id = 'r30'`); err != nil {
			t.Fatal(err)
		}
		for _, repair := range []bool{false, true} {
			problems, err := st.Fsck(ctx, repair)
			if err != nil || len(problems) != 1 || problems[0].String() != "receipt r30 is no JSON" || problems[0].Repaired != repair {
				t.Errorf("%v, %v", problems, err)
			}
		}
		checkStore(t, st)
	})
}

// TestSummariesAreBounded checks that the memory keeps a limited number of recently used summaries,
// for three months.
func TestSummariesAreBounded(t *testing.T) {
	engines(t, func(t *testing.T, dsn string) {
		day := 24 * time.Hour
		now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
		st, err := store.OpenWith(ctx, dsn, store.Options{Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		st.Memory().Store("used", "they talked")
		st.Memory().Store("unused", "they talked, too")
		for range 10 {
			now = now.Add(20 * day)
			if text, ok := st.Memory().Load("used"); !ok || text != "they talked" {
				t.Fatal(ok, text)
			}
		}
		// As many as a busy server writes in years, the newest of them today.
		err = st.Exec(`INSERT INTO summaries (key, text, at)
			WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 30000) SELECT 'n' || i, 'text', CAST(? AS BIGINT) - i FROM n`, now.UnixMicro())
		if err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
		for i := range 600 { // it looks now and then
			st.Memory().Store(fmt.Sprintf("s%d", i), "text")
		}
		if n := st.Count(`SELECT count(*) FROM summaries`); n > 20_000+600 || n < 20_000 {
			t.Errorf("%d summaries are kept", n)
		}
		for key, want := range map[string]bool{"used": true, "unused": false, "n0": true, "n10000": true, "n29999": false, "s0": true, "s599": true} {
			if _, ok := st.Memory().Load(key); ok != want {
				t.Errorf("%s: %v", key, ok)
			}
		}
	})
}

// TestOldDatabaseIsRefused checks that a database of a version before the first release is refused
// with a hint, and stays unchanged.
func TestOldDatabaseIsRefused(t *testing.T) {
	engines(t, func(t *testing.T, dsn string) {
		st := open(t, dsn)
		for _, query := range []string{`DELETE FROM goose_db_version WHERE version_id > 9`, `UPDATE goose_db_version SET version_id = 8 WHERE version_id = 9`} {
			if err := st.Exec(query); err != nil {
				t.Fatal(err)
			}
		}
		again, err := store.Open(ctx, dsn)
		if err == nil {
			again.Close()
			t.Fatal("it was opened")
		}
		if !strings.Contains(err.Error(), "export its sessions with the pare that wrote it") {
			t.Error(err)
		}
		if n := st.Count(`SELECT max(version_id) FROM goose_db_version`); n != 8 {
			t.Errorf("it has version %d now", n)
		}
	})
}

// TestCollectChecksAgain checks that a session with new entries survives a collection that had
// listed it, and that a concurrent deletion is no error.
func TestCollectChecksAgain(t *testing.T) {
	engines(t, func(t *testing.T, dsn string) {
		now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
		var st *store.Store
		acted := false
		st, err := store.OpenWith(ctx, dsn, store.Options{Now: func() time.Time { return now }, Sink: func(e pare.Event) {
			if e.Type != "session_deleted" || acted {
				return
			}
			acted = true
			for i := range 3 { // in any order
				st.Append(ctx, store.ID(fmt.Sprintf("kept%d", i)), store.Anywhere, store.Message("late", user("still here")))
			}
			st.Append(ctx, store.Key{ID: "parent", Path: "agent"}, store.Anywhere, store.Message("late", user("still here")))
			st.Delete(ctx, store.ID("other"))
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		for _, key := range []store.Key{{ID: "kept0"}, {ID: "kept1"}, {ID: "kept2"}, {ID: "parent"}, {ID: "parent", Path: "agent"}, {ID: "other"}} {
			if _, err := st.Create(ctx, key, store.Create{}); err != nil {
				t.Fatal(err)
			}
			put(t, st, key, user("hello"))
		}
		now = now.Add(48 * time.Hour)
		done, err := st.Collect(ctx, "", store.Retention{Idle: 24 * time.Hour})
		if err != nil || done.Sessions != 1 {
			t.Errorf("%+v, %v", done, err)
		}
		left, err := st.Sessions(ctx, "", 0, nil)
		if err != nil || len(left) < 2 {
			t.Errorf("%d sessions are left: %v", len(left), err)
		}
		for _, session := range left {
			if session.Path == "" && session.ID != "parent" && session.Head != 2 {
				t.Errorf("%s: %+v", session.Key, session)
			}
		}
		checkStore(t, st)
	})
}
