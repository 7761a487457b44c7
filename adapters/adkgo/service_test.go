package adkgo_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/session/sessiontestsuite"
	"google.golang.org/genai"

	"github.com/pare-llm/pare/adapters/adkgo"
	"github.com/pare-llm/pare/internal/pgtest"
	"github.com/pare-llm/pare/store"
)

func TestMain(m *testing.M) {
	code := m.Run()
	pgtest.Stop()
	os.Exit(code)
}

// engines runs a test on both databases.
func engines(t *testing.T, f func(t *testing.T, fresh func(t *testing.T) *store.Store)) {
	open := func(t *testing.T, dsn string) *store.Store {
		st, err := store.Open(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		return st
	}
	t.Run("sqlite", func(t *testing.T) {
		f(t, func(t *testing.T) *store.Store { return open(t, filepath.Join(t.TempDir(), "pare.db")) })
	})
	t.Run("postgres", func(t *testing.T) {
		f(t, func(t *testing.T) *store.Store { return open(t, pgtest.DSN(t)) })
	})
}

// The suite that adk-go has for services like this one.
func TestPublicSuite(t *testing.T) {
	engines(t, func(t *testing.T, fresh func(*testing.T) *store.Store) {
		sessiontestsuite.RunServiceTests(t, sessiontestsuite.SuiteOptions{SupportsUserProvidedSessionID: true}, func(t *testing.T) session.Service { return adkgo.New(fresh(t)) })
	})
}

func event(id string, parts ...*genai.Part) *session.Event {
	role := "model"
	for _, p := range parts {
		if p.FunctionResponse != nil || p.Text != "" {
			role = "user"
		}
	}
	return &session.Event{ID: id, Author: "a", LLMResponse: model.LLMResponse{Content: &genai.Content{Role: role, Parts: parts}}}
}

func callOf(id string) *genai.Part {
	return &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: "run", Args: map[string]any{"x": 1.0}}}
}

func responseTo(id string) *genai.Part {
	return &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: id, Name: "run", Response: map[string]any{"out": "ok"}}}
}

// The most recent events never begin with a response whose call is left out, a stale
// handle goes on where two runs do not touch, and what was kept can be sent.
func TestPairs(t *testing.T) {
	engines(t, func(t *testing.T, fresh func(*testing.T) *store.Store) {
		st := fresh(t)
		s := adkgo.New(st)
		made, err := s.Create(t.Context(), &session.CreateRequest{AppName: "app", UserID: "u/1", SessionID: "s 1"})
		if err != nil {
			t.Fatal(err)
		}
		get := func(n int) session.Session {
			got, err := s.Get(t.Context(), &session.GetRequest{AppName: "app", UserID: "u/1", SessionID: "s 1", NumRecentEvents: n})
			if err != nil {
				t.Fatal(err)
			}
			return got.Session
		}
		for _, e := range []*session.Event{event("1", genai.NewPartFromText("go")), event("2", callOf("c1")), event("3", responseTo("c1"))} {
			for range 2 { // the second time it is there
				if err := s.AppendEvent(t.Context(), made.Session, e); err != nil {
					t.Fatal(err)
				}
			}
		}
		if first := get(1).Events().At(0); first.ID != "2" {
			t.Errorf("the most recent events begin with %s", first.ID)
		}
		one, two := get(0), get(0)
		if one.Events().Len() != 3 {
			t.Errorf("%d events", one.Events().Len())
		}
		if err := s.AppendEvent(t.Context(), one, event("4", callOf("c2"))); err != nil {
			t.Fatal(err)
		}
		var conflict *store.ConflictError
		if err := s.AppendEvent(t.Context(), two, event("5", genai.NewPartFromText("meanwhile"))); !errors.As(err, &conflict) || len(conflict.Missed) != 2 {
			t.Errorf("words inside of an exchange: %v", err)
		}
		if err := s.AppendEvent(t.Context(), one, event("6", responseTo("c2"))); err != nil {
			t.Fatal(err)
		}
		if err := s.AppendEvent(t.Context(), two, event("7", genai.NewPartFromText("and now?"))); err != nil {
			t.Errorf("behind it: %v", err)
		}
		w, err := st.Window(t.Context(), adkgo.Key("app", "u/1", "s 1"), store.WindowOptions{})
		if err != nil || strings.Count(string(w.Body), "functionCall") != 2 {
			t.Errorf("%v: %s", err, w.Body)
		}
		if problems, err := st.Fsck(t.Context(), false); err != nil || len(problems) > 0 {
			t.Error(problems, err)
		}
	})
}

// The state of an app is changed from many sides at once: no change is lost.
func TestSharedState(t *testing.T) {
	engines(t, func(t *testing.T, fresh func(*testing.T) *store.Store) {
		s := adkgo.New(fresh(t))
		var wait sync.WaitGroup
		for w := range 4 {
			wait.Go(func() {
				made, err := s.Create(t.Context(), &session.CreateRequest{AppName: "app", UserID: fmt.Sprint(w)})
				if err != nil {
					t.Error(err)
					return
				}
				for i := range 40 {
					e := &session.Event{ID: fmt.Sprintf("%d-%d", w, i), Actions: session.EventActions{StateDelta: map[string]any{fmt.Sprintf("app:k%d.%d", w, i): float64(i)}}}
					if err := s.AppendEvent(t.Context(), made.Session, e); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wait.Wait()
		made, err := s.Create(t.Context(), &session.CreateRequest{AppName: "app", UserID: "x"})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for range made.Session.State().All() {
			n++
		}
		if n != 160 {
			t.Errorf("%d keys", n)
		}
	})
}
