package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/store/storehttp"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// TestAppendRefusesNonMessages checks that an element that is not a message of the session's
// dialect is refused with an example, and that repairable messages are accepted.
func TestAppendRefusesNonMessages(t *testing.T) {
	st := open(t, filepath.Join(t.TempDir(), "pare.db"))
	for _, name := range []string{"", "anthropic", "openai-chat", "openai-responses", "gemini", "gemini-interactions", "bedrock"} {
		key := store.ID("s" + name)
		if _, err := st.Create(ctx, key, store.Create{Dialect: name}); err != nil {
			t.Fatal(err)
		}
		for _, raw := range []string{
			`null`, `5`, `{}`, `[]`, `"text"`, `true`, `[{"role":"user","content":"Hi"}]`, `{"foo":1}`, `{"content":"Hi"}`,
			`{"role":5,"content":"Hi"}`, `{"role":"wizard","content":"Hi"}`, `{"messages":[{"role":"user","content":"Hi"}]}`, `{"role":"user","parts":5}`,
		} {
			if raw == `{"role":"user","parts":5}` && name == "gemini" {
				raw = `{"role":"user","content":"Hi"}` // it would be missing from every window
			}
			if raw == `{"role":"user","parts":5}` && name == "" {
				continue // it shows the dialect, and is repaired
			}
			_, err := st.Append(ctx, key, store.Anywhere, store.Message("m1", []byte(raw)))
			var bad *store.EntryError
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), "it is no message of ") || !strings.Contains(err.Error(), "send an object such as {") {
				t.Errorf("%q: %s: %v", name, raw, err)
			}
			if _, err := st.Append(ctx, key, store.Anywhere, store.Entry{Kind: "state", Raw: []byte(raw)}); err != nil {
				t.Errorf("%q: %s as a state: %v", name, raw, err)
			}
		}
		if name == "" {
			continue
		}
		d, err := wire.ParseDialect(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, raw := range [][]byte{
			dialect.TextMessage(d, transcript.User, "Hi"), dialect.TextMessage(d, transcript.Assistant, "Hi"), dialect.TextMessage(d, transcript.User, ""), []byte(`{"role":"user"}`),
			[]byte(strings.NewReplacer("assistant", "bot", "model", "bot").Replace(string(dialect.TextMessage(d, transcript.Assistant, "Hi")))),
		} {
			if name == "gemini-interactions" && strings.Contains(string(raw), "bot") {
				continue // its steps have types in the place of roles
			}
			if _, err := st.Append(ctx, key, store.Anywhere, store.Message("", raw)); err != nil {
				t.Errorf("%s: %s: %v", name, raw, err)
			}
		}
		if _, err := st.Window(ctx, key, store.WindowOptions{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if found, err := st.Fsck(ctx, false); err != nil || len(found) > 0 {
		t.Errorf("fsck: %v %v", found, err)
	}
}

// TestImportRefusesNonMessages checks that a refused import creates no session.
func TestImportRefusesNonMessages(t *testing.T) {
	st := open(t, filepath.Join(t.TempDir(), "pare.db"))
	r, err := wire.Parse([]byte(`{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"Hi"},null]}`), wire.Options{Dialect: wire.Anthropic})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Import(ctx, store.ID("s"), "", r); err == nil || !strings.Contains(err.Error(), "messages.1: it is no message of the dialect anthropic: it is null") {
		t.Error(err)
	}
	if _, err := st.Session(ctx, store.ID("s")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a session was made: %v", err)
	}
}

// TestCompactTinySession checks that a summary that is longer than its messages counts as nothing
// to compact, with a reason if a summary was requested.
func TestCompactTinySession(t *testing.T) {
	st := open(t, filepath.Join(t.TempDir(), "pare.db"))
	key := create(t, st, "s")
	for _, raw := range []string{`{"role":"user","content":"Hi"}`, `{"role":"assistant","content":"Hi"}`, `{"role":"user","content":"Hi"}`} {
		put(t, st, key, []byte(raw))
	}
	compact := func(o storehttp.Options) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", "/pare/v1/sessions/s/compact", strings.NewReader(`{"min_keep":1}`))
		r.RemoteAddr, r.Host = "127.0.0.1:1", "127.0.0.1:1"
		w := httptest.NewRecorder()
		storehttp.Handler(st, o).ServeHTTP(w, r)
		return w
	}
	if w := compact(storehttp.Options{}); w.Code != 200 || strings.TrimSpace(w.Body.String()) != `{"compaction":null}` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	long := func(context.Context, pare.Removed) (pare.Summary, error) {
		return pare.Summary{Text: strings.Repeat("They said hi. ", 50)}, nil
	}
	if w := compact(storehttp.Options{Compactor: &pare.Compactor{Summarize: long}}); w.Code != 422 || !strings.Contains(w.Body.String(), `"type":"nothing_to_compact"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A session that an earlier version took for one of another dialect is found, and repaired:
// its calls and results, its turns, and its forks.
func TestFsckDialect(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		messages := [][]byte{user("Hi"), call("t1"), result("t1", "done"), user("Thanks"), call("t2"), result("t2", "done")}
		for len(messages) < 200 { // more than one batch of marks
			messages = append(messages, call(fmt.Sprint("c", len(messages))), result(fmt.Sprint("c", len(messages)), "done"))
		}
		right := create(t, st, "right")
		wrong := create(t, st, "wrong")
		for _, raw := range messages {
			put(t, st, right, raw)
			put(t, st, wrong, raw)
		}
		if _, err := st.Fork(ctx, wrong, "", store.ID("fork")); err != nil {
			t.Fatal(err)
		}
		// As it was: no pairs, and a turn begins wherever the user has the word.
		for _, query := range []string{
			`UPDATE sessions SET dialect = 'openai-chat' WHERE id IN ('wrong', 'fork')`,
			`DELETE FROM marks WHERE sid = (SELECT sid FROM sessions WHERE id = 'wrong')`,
			`UPDATE sessions SET settled = 0 WHERE id = 'wrong'`,
			`UPDATE entries SET pairs = NULL, flags = CASE WHEN flags & 8 = 0 AND (pos & 1) = 1 THEN 7 ELSE 6 END WHERE pos >> 28 = (SELECT sid FROM sessions WHERE id = 'wrong')`,
		} {
			if err := st.Exec(query); err != nil {
				t.Fatal(err)
			}
		}
		said := func(found []store.Problem) (n int) {
			for _, p := range found {
				if strings.Contains(p.What, "its dialect is noted as openai-chat, and its messages are of anthropic") {
					n++
				}
			}
			return n
		}
		if found, err := st.Fsck(ctx, false); err != nil || said(found) != 2 || found[0].Repaired {
			t.Fatalf("%d of 2 found, %v", said(found), err)
		}
		if found, err := st.Fsck(ctx, true); err != nil || said(found) != 2 || !found[0].Repaired {
			t.Fatalf("%d of 2 repaired, %v", said(found), err)
		}
		if found, err := st.Fsck(ctx, false); err != nil || len(found) > 0 {
			t.Fatalf("afterwards: %v %v", found, err)
		}
		for _, id := range []string{"wrong", "fork"} {
			session, err := st.Session(ctx, store.ID(id))
			if err != nil || session.Dialect != "anthropic" {
				t.Fatalf("%s: %q, %v", id, session.Dialect, err)
			}
			put(t, st, session.Key, call("last"))
			put(t, st, session.Key, result("last", "done"))
		}
		put(t, st, right, call("last"))
		put(t, st, right, result("last", "done"))
		want, err := st.Window(ctx, right, store.WindowOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"wrong", "fork"} {
			if got, err := st.Window(ctx, store.ID(id), store.WindowOptions{}); err != nil || string(got.Body) != string(want.Body) {
				t.Errorf("%s: another window, %v", id, err)
			}
			a, err := st.RevertTurns(ctx, store.ID(id), store.Anywhere, 1)
			if err != nil || a != 199 {
				t.Errorf("%s: %d messages are reverted, %v", id, a, err)
			}
		}
	})
}

// A session of one dialect with messages of two is not made one of the other.
func TestFsckDialectOfSeveral(t *testing.T) {
	st := open(t, filepath.Join(t.TempDir(), "pare.db"))
	key := create(t, st, "s")
	put(t, st, key, call("t1"))
	put(t, st, key, result("t1", "done"))
	if _, err := st.Create(ctx, store.ID("o"), store.Create{Dialect: "openai-chat"}); err != nil {
		t.Fatal(err)
	}
	put(t, st, store.ID("o"), []byte(`{"role":"tool","tool_call_id":"t1","content":"done"}`))
	if err := st.Exec(`UPDATE entries SET pos = (SELECT sid FROM sessions WHERE id = 's') * 268435456 + 3 WHERE pos >> 28 = (SELECT sid FROM sessions WHERE id = 'o')`); err != nil {
		t.Fatal(err)
	}
	found, err := st.FsckSession(ctx, key, true)
	if err != nil || len(found) == 0 {
		t.Fatal(found, err)
	}
	if session, err := st.Session(ctx, key); err != nil || session.Dialect != "anthropic" {
		t.Errorf("%q, %v", session.Dialect, err)
	}
}

// TestMessagesAreOneObject checks that a message is exactly one JSON object in every dialect,
// because it becomes an element of a list.
func TestMessagesAreOneObject(t *testing.T) {
	st := open(t, filepath.Join(t.TempDir(), "pare.db"))
	r := rand.New(rand.NewPCG(7, 7))
	pieces := []string{`,`, `]`, `[`, `}`, `{`, `"`, `\`, ` `, "\n", `],[`, `},{`, `null`, `1`, `"x"`, `{}`, `[]`, "\x00", "\xff", `\ud800`, `//`, `/**/`}
	taken := 0
	for _, d := range wire.Dialects() {
		base := dialect.TextMessage(d, transcript.User, "Hi there")
		key := store.ID(d.String())
		if _, err := st.Create(ctx, key, store.Create{Dialect: d.String()}); err != nil {
			t.Fatal(err)
		}
		for range trial.Size(300) {
			raw := slices.Clone(base)
			for range 1 + r.IntN(3) {
				at := r.IntN(len(raw) + 1)
				switch r.IntN(4) {
				case 0:
					at = len(raw)
				case 1:
					at = 0
				case 2:
					raw = slices.Delete(raw, min(at, len(raw)), min(at+1, len(raw)))
					at = min(at, len(raw))
				}
				raw = slices.Insert(raw, at, []byte(pieces[r.IntN(len(pieces))])...)
				if r.IntN(8) == 0 {
					raw = slices.Concat(raw, []byte(","), base)
				}
			}
			_, err := st.Append(ctx, key, store.Anywhere, store.Message("", raw))
			if err != nil {
				continue
			}
			taken++
			if text := bytes.TrimSpace(raw); !json.Valid(raw) || text[0] != '{' {
				t.Errorf("%s: taken: %q", d, raw)
			}
		}
	}
	if taken == 0 {
		t.Error("nothing was taken")
	}
}
