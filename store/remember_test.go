package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// newExchange returns a recorded exchange with these messages.
func newExchange(t *testing.T, scope string, reply string, messages ...[]byte) store.RecordedExchange {
	t.Helper()
	body := `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[` + string(bytes.Join(messages, []byte(","))) + `]}`
	r, err := wire.Parse([]byte(body), wire.Options{Dialect: wire.Anthropic})
	if err != nil {
		t.Fatal(err)
	}
	p := store.RecordedExchange{Scope: scope, Request: r, Agent: "claude-cli/2.0.1", Usage: tokens.Usage{Input: 10, Output: 1}}
	if reply != "" {
		p.Reply = [][]byte{assistant(reply)}
	}
	return p
}

func remember(t *testing.T, st *store.Store, all ...store.RecordedExchange) {
	t.Helper()
	if err := st.Remember(ctx, all...); err != nil {
		t.Fatal(err)
	}
}

// recordedHistories returns the messages and last replies of all sessions of a scope, sorted.
func recordedHistories(t *testing.T, st *store.Store, scope string) (all []string) {
	t.Helper()
	list, err := st.Sessions(ctx, scope, 1000, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, session := range list {
		var parts []string
		err := st.Export(ctx, session.Key, store.Export{}, func(e store.Entry) error {
			if e.Kind == store.KindReply {
				parts = append(parts, "reply:"+string(e.Raw))
			} else {
				parts = append(parts, string(e.Raw))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.Join(parts, "\n"))
	}
	slices.Sort(all)
	return all
}

func lines(parts ...any) string {
	var out []string
	for _, p := range parts {
		out = append(out, fmt.Sprintf("%s", p))
	}
	return strings.Join(out, "\n")
}

func wantHistories(t *testing.T, st *store.Store, scope string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := recordedHistories(t, st, scope); !slices.Equal(got, want) {
		t.Errorf("got %d sessions:\n%s\n\nwant %d:\n%s", len(got), strings.Join(got, "\n--\n"), len(want), strings.Join(want, "\n--\n"))
	}
}

// TestRememberAppendsAndForks checks that recorded requests become one session while the client
// continues its history, and a fork otherwise, without duplicates, and that messages replace
// replies.
func TestRememberAppendsAndForks(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		m1, m2, m3 := user("Fix the login."), []byte(`{ "role": "assistant", "content": "I look." }`), user("and the tests")
		remember(t, st, newExchange(t, "", "I look.", m1))
		wantHistories(t, st, "", lines(m1, "reply:"+string(assistant("I look."))))
		remember(t, st, newExchange(t, "", "Done.", m1, m2, m3))
		done := "reply:" + string(assistant("Done."))
		wantHistories(t, st, "", lines(m1, m2, m3, done))
		// The same again, from another replica, say.
		remember(t, st, newExchange(t, "", "Done.", m1, m2, m3))
		remember(t, st, newExchange(t, "", "I look.", m1))
		wantHistories(t, st, "", lines(m1, m2, m3, done))
		// Another answer to the same question, and an edited question.
		remember(t, st, newExchange(t, "", "No.", m1))
		edited := user("and nothing else")
		remember(t, st, newExchange(t, "", "", m1, m2, edited))
		wantHistories(t, st, "", lines(m1, m2, m3, done), lines(m1, "reply:"+string(assistant("No."))), lines(m1, m2, edited))
		// The next request continues the fork.
		remember(t, st, newExchange(t, "", "", m1, m2, edited, assistant("Well."), user("thanks")))
		wantHistories(t, st, "", lines(m1, m2, m3, done), lines(m1, "reply:"+string(assistant("No."))), lines(m1, m2, edited, assistant("Well."), user("thanks")))
		problems, err := st.Fsck(ctx, false)
		if err != nil || len(problems) > 0 {
			t.Errorf("%v %v", problems, err)
		}
		list, err := st.Sessions(ctx, "", 10, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, session := range list {
			if session.Title != "Fix the login." || session.Remembered == nil || session.Remembered.Agent != "claude-cli/2.0.1" {
				t.Errorf("%+v", session)
			}
			if len(list) == 3 && session.Parent == nil && (session.Remembered.Requests != 4 || session.Remembered.Usage.Input != 40) {
				t.Errorf("%+v", session.Remembered)
			}
		}
		// The fork shares the earlier messages.
		var n int
		for _, session := range list {
			if session.Parent != nil {
				n++
			}
		}
		if n != 2 {
			t.Errorf("%d forks, want 2", n)
		}
	})
}

// TestRememberMovesCacheMarkers checks that moved cache markers are no change, and that the session
// has those of the last request.
func TestRememberMovesCacheMarkers(t *testing.T) {
	marks := []string{`"cache_control":{"type":"ephemeral"},`, `"cache_control" : {"type":"ephemeral","ttl":"1h"} , `}
	block := func(i int, marked bool) []byte {
		mark := ""
		if marked {
			mark = marks[i%2]
		}
		role := []string{"user", "assistant"}[i%2]
		if i%3 == 0 && i%5 > 0 && marked { // after the text
			return []byte(fmt.Sprintf(`{"role":%q,"content":[{"type":"text","text":"part %d","cache_control":{"type":"ephemeral"}}]}`, role, i))
		}
		if i%5 == 0 { // next to the text
			return []byte(fmt.Sprintf(`{%s"role":%q,"content":"part %d"}`, mark, role, i))
		}
		return []byte(fmt.Sprintf(`{"role":%q,"content":[{%s"type":"text","text":"part %d"}]}`, role, mark, i))
	}
	both(t, func(t *testing.T, st *store.Store) {
		var last [][]byte
		for n := 1; n <= 21; n += 2 {
			last = nil
			for i := range n {
				last = append(last, block(i, i >= n-3))
			}
			remember(t, st, newExchange(t, "", "so", last...))
		}
		want := string(bytes.Join(last, []byte("\n"))) + "\nreply:" + string(assistant("so"))
		wantHistories(t, st, "", want)
	})
}

// TestConcurrentRemember lets two stores on one database record the same conversations, which must
// be stored once.
func TestConcurrentRemember(t *testing.T) {
	engines(t, func(t *testing.T, dsn string) {
		a, b := open(t, dsn), open(t, dsn)
		rng := rand.New(rand.NewPCG(1, 2))
		var talks [][][]byte
		var want []string
		for i := range 6 {
			var talk [][]byte
			for k := range 1 + 2*rng.IntN(6) {
				text := fmt.Sprintf("talk %d, message %d", i, k)
				if k%2 == 0 {
					talk = append(talk, user(text))
				} else {
					talk = append(talk, assistant(text))
				}
			}
			talks, want = append(talks, talk), append(want, string(bytes.Join(talk, []byte("\n"))))
		}
		var wg sync.WaitGroup
		for _, st := range []*store.Store{a, b, a, b} {
			wg.Go(func() {
				for k := 1; k < 12; k += 2 {
					var some []store.RecordedExchange
					for _, talk := range talks {
						some = append(some, newExchange(t, "", "", talk[:min(k, len(talk))]...))
					}
					if err := st.Remember(ctx, some...); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		wantHistories(t, a, "", want...)
	})
}

// TestRememberSeparatesScopes checks that equal requests of different scopes share nothing.
func TestRememberSeparatesScopes(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		m1, m2, m3 := user("our plan"), assistant("secret"), user("go on")
		remember(t, st, newExchange(t, "alpha", "secret", m1), newExchange(t, "alpha", "", m1, m2, m3))
		// A client that guesses the first messages gets a separate session.
		remember(t, st, newExchange(t, "beta", "other", m1))
		wantHistories(t, st, "alpha", lines(m1, m2, m3))
		wantHistories(t, st, "beta", lines(m1, "reply:"+string(assistant("other"))))
		wantHistories(t, st, "")
		for _, scope := range []string{"beta", "", "alpha\x00", "d\x00alpha"} {
			if hits, err := st.Search(ctx, store.Key{Scope: scope}, "secret", 10); err != nil || len(hits) > 0 {
				t.Errorf("%q finds %v, %v", scope, hits, err)
			}
		}
	})
}

// TestRememberSearchesReplies checks that a reply is found until the client sends its own version,
// and that one once.
func TestRememberSearchesReplies(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		found := func() (n int) {
			hits, err := st.Search(ctx, store.Key{}, "heron", 10)
			if err != nil {
				t.Fatal(err)
			}
			return len(hits)
		}
		remember(t, st, newExchange(t, "", "a heron", user("which bird?")))
		if n := found(); n != 1 {
			t.Errorf("%d hits of the reply, want 1", n)
		}
		remember(t, st, newExchange(t, "", "", user("which bird?"), []byte(`{"role":"assistant","content":"a heron"}`), user("thanks")))
		if n := found(); n != 1 {
			t.Errorf("%d hits of the message, want 1", n)
		}
	})
}

// TestForget checks that retention deletes old recorded sessions, then the oldest until the rest is
// small enough, and no other sessions.
func TestForget(t *testing.T) {
	engines(t, func(t *testing.T, dsn string) {
		now := time.UnixMicro(1e15)
		st, err := store.OpenWith(ctx, dsn, store.Options{Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		own := create(t, st, "own")
		put(t, st, own, user("mine"))
		for i := range 10 {
			now = now.Add(time.Hour)
			remember(t, st, newExchange(t, []string{"", "alpha"}[i%2], "", user(fmt.Sprintf("%d %s", i, strings.Repeat("x", 1000)))))
		}
		n, err := st.Forget(ctx, now.Add(-7*time.Hour-time.Minute), 0)
		if err != nil || n != 2 {
			t.Errorf("by age: %d, %v", n, err)
		}
		n, err = st.Forget(ctx, time.Time{}, 3500)
		if err != nil || n != 5 {
			t.Errorf("by size: %d, %v", n, err)
		}
		left := len(recordedHistories(t, st, "")) + len(recordedHistories(t, st, "alpha"))
		if left != 4 {
			t.Errorf("%d sessions left, want 3 and the caller's own", left)
		}
		// A deleted session is recorded again.
		remember(t, st, newExchange(t, "", "", user("0 "+strings.Repeat("x", 1000))))
		if left := len(recordedHistories(t, st, "")) + len(recordedHistories(t, st, "alpha")); left != 5 {
			t.Errorf("%d sessions left, want 5", left)
		}
	})
}

// TestRememberRefusesInvalidMessages checks that a message that cannot be stored is an error and
// leaves nothing.
func TestRememberRefusesInvalidMessages(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		p := newExchange(t, "", "", user("hi"), []byte(`{"role":"user","role":"assistant","content":"two"}`))
		err := st.Remember(ctx, p)
		var bad *store.EntryError
		if !errors.As(err, &bad) {
			t.Errorf("%v", err)
		}
		wantHistories(t, st, "")
	})
}
