package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/store"
)

// row returns a condition for one entry of a session.
func row(st *store.Store, key store.Key, seq int) string {
	sid := st.Count(`SELECT sid FROM sessions WHERE id = ?`, key.ID)
	return fmt.Sprintf(` WHERE pos = %d`, sid<<28|seq)
}

func damageEntry(t testing.TB, st *store.Store, key store.Key, seq int, set string, args ...any) {
	t.Helper()
	if err := st.Exec(`UPDATE entries SET `+set+row(st, key, seq), args...); err != nil {
		t.Fatal(err)
	}
	store.Forget(st, key)
}

// problems returns the findings of fsck that are neither repaired nor harmless.
func problems(t testing.TB, st *store.Store, repair bool) (open []string, quarantined int) {
	t.Helper()
	all, err := st.Fsck(ctx, repair)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.Quarantined {
			quarantined++
		}
		if !p.Repaired && !p.Harmless {
			open = append(open, p.String())
		}
	}
	return open, quarantined
}

// checkSessionWorks uses all operations on a session, and checks that a placeholder names the damaged entry
// once.
func checkSessionWorks(t testing.TB, st *store.Store, key store.Key, mark string) {
	t.Helper()
	body := window(t, st, key, store.WindowOptions{Policy: &pare.Policy{}})
	all := strings.Join(texts(t, st, key), "\n")
	for what, text := range map[string]string{"window": body, "export": all} {
		if n := strings.Count(text, mark); n != 1 {
			t.Errorf("%s: the mark %q is there %d times:\n%.3000s", what, mark, n, text)
		}
	}
	if _, err := st.Page(ctx, key, store.Page{Last: true}); err != nil {
		t.Error(err)
	}
	if _, _, err := st.Request(ctx, key); err != nil {
		t.Error(err)
	}
	if _, err := st.Search(ctx, key, "answer", 10); err != nil {
		t.Error(err)
	}
	put(t, st, key, user("go on"))
	if _, err := st.Window(ctx, key, store.WindowOptions{}); err != nil {
		t.Error(err)
	}
	fork := store.ID(key.ID + "-fork-" + store.NewID())
	if _, err := st.Fork(ctx, key, "", fork); err != nil {
		t.Error(err)
	}
	window(t, st, fork, store.WindowOptions{})
}

// TestDamagedEntryIsReplaced damages entries in many ways. A placeholder must replace each; repair
// must quarantine it and restore it when it is intact again.
func TestDamagedEntryIsReplaced(t *testing.T) {
	kinds := map[string]string{"bytes": `raw = ?`, "sum": `sum = ?`}
	for seq, what := range map[int]string{1: "task", 2: "call", 3: "result", 4: "reply", 8: "last"} {
		for kind, set := range kinds {
			t.Run(what+" "+kind, func(t *testing.T) {
				both(t, func(t *testing.T, st *store.Store) {
					key := create(t, st, "a")
					turn(t, st, key, 1)
					turn(t, st, key, 2)
					before := texts(t, st, key)
					column := strings.Fields(set)[0]
					if err := st.Exec(`CREATE TABLE saved AS SELECT ` + column + ` AS was FROM entries` + row(st, key, seq)); err != nil {
						t.Fatal(err)
					}
					damageEntry(t, st, key, seq, set, []byte("\x00\xffno"))
					mark := fmt.Sprintf("[pare: entry %d ", seq)
					checkSessionWorks(t, st, key, mark)
					if open, n := problems(t, st, false); len(open) != 1 || n != 0 {
						t.Errorf("fsck: %d quarantined, %v", n, open)
					}
					if open, n := problems(t, st, true); len(open) != 0 || n != 1 {
						t.Errorf("repair: %d quarantined, %v", n, open)
					}
					checkSessionWorks(t, st, key, mark)
					checkStore(t, st, key)
					if open, n := problems(t, st, true); len(open) != 0 || n != 1 {
						t.Errorf("repair again: %d quarantined, %v", n, open)
					}
					damageEntry(t, st, key, seq, column+` = (SELECT was FROM saved)`)
					if open, _ := problems(t, st, false); len(open) != 1 {
						t.Errorf("whole again, but in quarantine: %v", open)
					}
					if open, n := problems(t, st, true); len(open) != 0 || n != 0 {
						t.Errorf("restore: %d quarantined, %v", n, open)
					}
					if after := texts(t, st, key); strings.Join(after[:len(before)], "\n") != strings.Join(before, "\n") {
						t.Errorf("restored: %q, was %q", after, before)
					}
				})
			})
		}
	}
}

// TestDamagedPairs checks that damaged pairs prevent nothing and are repaired from the message.
func TestDamagedPairs(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		turn(t, st, key, 1)
		turn(t, st, key, 2)
		for _, seq := range []int{2, 3, 6, 7} {
			damageEntry(t, st, key, seq, `pairs = ?`, []byte{0xff, 0xff, 0xff})
			if _, err := st.Window(ctx, key, store.WindowOptions{}); err != nil {
				t.Error(err)
			}
			put(t, st, key, user("go on"))
		}
		problems(t, st, true)
		checkStore(t, st, key)
	})
}

// TestDamagedWeights checks that damaged weights and sums are repaired to their old values.
func TestDamagedWeights(t *testing.T) {
	for _, set := range []string{`cum = 9000000`, `cum = 0`, `cum = -5`, `weight = 7000`, `weight = -1`} {
		t.Run(set, func(t *testing.T) {
			both(t, func(t *testing.T, st *store.Store) {
				key := create(t, st, "a")
				for i := range 3 {
					turn(t, st, key, i)
				}
				sum := func() int { return st.Count(`SELECT sum(cum * 3 + weight) FROM entries`) }
				want := sum()
				for _, seq := range []int{1, 6, 12} {
					damageEntry(t, st, key, seq, set)
					if open, _ := problems(t, st, false); len(open) == 0 {
						t.Errorf("entry %d: fsck finds nothing", seq)
					}
					problems(t, st, true)
					if got := sum(); got != want {
						t.Errorf("entry %d: weights are %d, were %d", seq, got, want)
					}
					checkStore(t, st, key)
				}
			})
		})
	}
}

// TestDamagedCompaction checks that windows use the entries or the compaction before a damaged one,
// and that a new one can be made.
func TestDamagedCompaction(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		for i := range 12 {
			turn(t, st, key, i)
		}
		compact(t, st, key, "the first summary")
		for i := range 12 {
			turn(t, st, key, 12+i)
		}
		compact(t, st, key, "the second summary")
		head := st.Count(`SELECT max(pos) & 268435455 FROM entries`)
		damageEntry(t, st, key, head, `raw = ?`, []byte("no"))
		for _, repair := range []bool{false, true} {
			body := window(t, st, key, store.WindowOptions{Policy: &pare.Policy{}})
			if !strings.Contains(body, "the first summary") || strings.Contains(body, "the second summary") || !strings.Contains(body, "answer 13") {
				t.Errorf("%.3000s", body)
			}
			open, n := problems(t, st, repair)
			if repair == (len(open) > 0) || repair != (n == 1) {
				t.Errorf("repair %v: %d quarantined, %v", repair, n, open)
			}
		}
		checkStore(t, st, key)
		compact(t, st, key, "the third summary")
		if body := window(t, st, key, store.WindowOptions{}); !strings.Contains(body, "the third summary") {
			t.Errorf("%.3000s", body)
		}
		checkStore(t, st, key)
	})
}

// TestDamagedRevert checks that a damaged revert is restored from its checksum.
func TestDamagedRevert(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		turn(t, st, key, 1)
		turn(t, st, key, 2)
		page, err := st.Page(ctx, key, store.Page{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := st.Revert(ctx, key, store.Anywhere, page.Entries[3].ID); err != nil {
			t.Fatal(err)
		}
		damageEntry(t, st, key, 9, `raw = ?`, []byte("no"))
		if len(texts(t, st, key)) != 4 {
			t.Error("the revert is not in force any more")
		}
		if open, n := problems(t, st, true); len(open) != 0 || n != 0 {
			t.Errorf("%d quarantined, %v", n, open)
		}
		checkStore(t, st, key)
		if _, err := st.Undo(ctx, key); err != nil {
			t.Error(err)
		}
		if len(texts(t, st, key)) != 8 {
			t.Error("the undo did not bring back what was reverted")
		}
	})
}

// TestDamagedImage checks that windows work without a missing image.
func TestDamagedImage(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		put(t, st, key, user("look at this"), []byte(`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`+picture(40<<10, 1)+`"}}]}`), assistant("a cat"), user("and now?"))
		if err := st.Exec(`CREATE TABLE saved AS SELECT * FROM blobs`); err != nil {
			t.Fatal(err)
		}
		before := texts(t, st, key)
		for what, damage := range map[string]string{
			"gone": `DELETE FROM blobs`,
			"head": `UPDATE blobs SET data = substr(data, 2)`,
			"tail": `UPDATE blobs SET data = substr(data, 1, 20000)`, // a window looks at the head first
		} {
			if err := st.Exec(damage); err != nil {
				t.Fatal(err)
			}
			checkSessionWorks(t, st, key, "[pare: entry 2 ")
			if open, n := problems(t, st, true); len(open) != 0 || n != 1 {
				t.Errorf("%s: %d quarantined, %v", what, n, open)
			}
			checkStore(t, st, key)
			if err := errors.Join(st.Exec(`DELETE FROM blobs`), st.Exec(`INSERT INTO blobs SELECT * FROM saved`)); err != nil {
				t.Fatal(err)
			}
			if open, n := problems(t, st, true); len(open) != 0 || n != 0 {
				t.Errorf("%s, restored: %d quarantined, %v", what, n, open)
			}
			if after := texts(t, st, key); strings.Join(after[:len(before)], "") != strings.Join(before, "") {
				t.Errorf("%s: it is not what it was", what)
			}
		}
	})
}
