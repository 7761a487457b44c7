package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare/internal/pgtest"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/store"
)

// poisoned is a history with thinking that the provider refuses.
func poisoned(turns int) string {
	var b strings.Builder
	b.WriteString(`{"model":"claude-sonnet-4-5","max_tokens":3000,"messages":[{"role":"user","content":"hi"}`)
	for i := range turns {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"Bad%d="},{"type":"text","text":"ok %d"}]},{"role":"user","content":"go on"}`, i, i)
	}
	return b.String() + `]}`
}

// TestReplicasShareLessons: what one server has learned of a conversation another one on the
// same store does from the start, with the same bytes, and so does the one after a restart.
func TestReplicasShareLessons(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		shareLessons(t, filepath.Join(t.TempDir(), "pare.db"))
	})
	t.Run("postgres", func(t *testing.T) {
		shareLessons(t, pgtest.DSN(t))
	})
}

func shareLessons(t *testing.T, dsn string) {
	var got []string
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, string(body))
		if strings.Contains(string(body), "Bad") {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, "{\"error\":{\"message\":\"messages.1.content.0: Invalid `signature` in `thinking` block\"}}")
		}
	}))
	defer upstream.Close()
	u, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	replica := func() *Server {
		st, err := store.Open(context.Background(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		return New(Options{PlanTime: -1, Store: st, Upstreams: map[string]proxy.Upstream{"anthropic": {URL: u, Private: true}}})
	}
	ask := func(s *Server, body string) int {
		t.Helper()
		got = nil
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://localhost/v1/messages", strings.NewReader(body)))
		if w.Code != http.StatusOK {
			t.Fatal(w.Code, w.Body)
		}
		return len(got)
	}
	a, b := replica(), replica()
	if n := ask(a, poisoned(2)); n != 2 {
		t.Fatalf("%d attempts", n)
	}
	a.learned.flush()
	b.learned.readChanges()
	if n := ask(a, poisoned(2)); n != 1 {
		t.Errorf("%d attempts by the one that has learned", n)
	}
	sent := got[0]
	if n := ask(b, poisoned(2)); n != 1 || got[0] != sent {
		t.Errorf("%d attempts by the other one, %q for %q", n, got, sent)
	}
	c := replica()
	c.learned.readChanges()
	if n := ask(c, poisoned(2)); n != 1 || got[0] != sent {
		t.Errorf("%d attempts after a restart", n)
	}
}

// A dead notebook fails.
type dead struct{}

func (dead) Note(context.Context, string, func(string) string) error { return errors.New("down") }
func (dead) Notes(context.Context, time.Time, int) ([]store.Note, error) {
	return nil, errors.New("down")
}
func (dead) ForgetNotes(context.Context, time.Time) (int64, error) { return 0, errors.New("down") }

// TestLessonsWithoutAStore: a store that is down costs no lesson of this process, and is
// counted.
func TestLessonsWithoutAStore(t *testing.T) {
	r := newLearnedSync(dead{}, nil)
	for i := range queueLength + 5 { // more than can wait
		proxyx.Learn(r.conversations, fmt.Sprint(i), proxy.Learned{Rules: []string{"overflow"}, Limit: 10})
	}
	r.readChanges()
	r.flush()
	if proxyx.Learned(r.conversations, "7").Limit != 10 || r.lost.Load() != queueLength+5 {
		t.Error(proxyx.Learned(r.conversations, "7"), r.lost.Load())
	}
}
