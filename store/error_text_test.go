package store_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/store/storehttp"
)

// TestConflictNamesFirstCall checks that the text of a conflict is deterministic.
func TestConflictNamesFirstCall(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "s")
		put(t, st, key, user("go"))
		put(t, st, key, call("a", "b", "c", "d", "e", "f", "g", "h"))
		for range 30 {
			_, err := st.Append(ctx, key, store.Disjoint(1), store.Message("", user("meanwhile")))
			var conflict *store.ConflictError
			if !errors.As(err, &conflict) || !strings.Contains(conflict.Reason, `call "a" (run) was made`) {
				t.Fatal(err)
			}
		}
	})
}

// TestFsckOfSecondResult checks that fsck distinguishes second results from orphan results.
func TestFsckOfSecondResult(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "s")
		put(t, st, key, user("go"), call("a"), result("a", "one"), result("a", "two"), result("z", "three"))
		problems, err := st.Fsck(ctx, false)
		if err != nil || len(problems) != 2 {
			t.Fatal(problems, err)
		}
		for i, want := range []string{"of entry 2, is answered already", "no entry before it makes that call"} {
			if p := problems[i]; !p.Harmless || !strings.Contains(p.What, want) {
				t.Errorf("%v: want %q", p, want)
			}
		}
	})
}

// TestInvalidTextIDsAreRefused checks that invalid text is refused in ids, because two ids could
// become equal.
func TestInvalidTextIDsAreRefused(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "s")
		put(t, st, key, user("go"))
		create(t, st, "\uFFFD") // the replacement of encoding/json
		h := storehttp.Handler(st, storehttp.Options{})
		for _, bad := range []string{`"\ud800"`, `"\udc00x"`, `"a\ud83d"`, "\"\xff\"", "\"a\xc3\""} {
			for _, c := range []struct{ path, body string }{
				{"/s/entries", `{"entries":[{"id":` + bad + `,"raw":{"role":"user","content":"hi"}}]}`},
				{"", `{"id":` + bad + `}`},
				{"", `{"id":"n","path":` + bad + `}`},
				{"/s/fork", `{"id":` + bad + `}`},
				{"/s/fork", `{"id":"f","at":` + bad + `}`},
				{"/s/revert", `{"to":` + bad + `}`},
				{"/s/merge", `{"from":` + bad + `}`},
				{"/s/swap", `{"upto":` + bad + `,"messages":[{"role":"user","content":"hi"}]}`},
			} {
				w := httptest.NewRecorder()
				q := httptest.NewRequest("POST", "/pare/v1/sessions"+c.path, strings.NewReader(c.body))
				q.RemoteAddr = "127.0.0.1:1"
				h.ServeHTTP(w, q)
				if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "no text") {
					t.Errorf("%s %q: %d %s", c.path, c.body, w.Code, w.Body)
				}
			}
		}
		for _, id := range []string{"\xff", "a\xc3", "\xed\xa0\x80"} {
			if _, err := st.Append(ctx, key, store.Anywhere, store.Message(id, user("x"))); err == nil {
				t.Errorf("%q was taken", id)
			}
			if _, err := st.Create(ctx, store.ID(id), anthropic); err == nil {
				t.Errorf("session %q was made", id)
			}
		}
		if session, err := st.Session(ctx, key); err != nil || session.Head != 1 {
			t.Error(fmt.Sprint(session, err))
		}
	})
}
