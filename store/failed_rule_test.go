package store_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/store/storehttp"
	"github.com/pare-llm/pare/wire"
)

// TestWindowSkipsFailedRule checks that a session has a window although a rule fails, and that the
// plan, the header and the log name the rule, the log once.
func TestWindowSkipsFailedRule(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		put(t, st, key, user("go"), call("toolu_1"), user("and?"))
		rules, err := pare.Compile(
			pare.Rule{Name: "panics", Prepare: func(*wire.Request) (pare.Process, error) { panic("no idea") }},
			pare.Rule{Name: "errs", Prepare: func(*wire.Request) (pare.Process, error) { return nil, errors.New("no idea") }},
		)
		if err != nil {
			t.Fatal(err)
		}
		p := &pare.Policy{Rules: rules}
		w, err := st.Window(ctx, key, store.WindowOptions{Policy: p})
		if err != nil {
			t.Fatal(err)
		}
		clean(t, w.Body)
		if f := w.Plan.Faults(); len(f) != 2 || f[0].Part != "rule errs" || f[1].Part != "rule panics" {
			t.Error(f)
		}
		var said bytes.Buffer
		h := storehttp.Handler(st, storehttp.Options{Scope: func(*http.Request) (string, bool) { return key.Scope, true }, Policy: p, Log: slog.New(slog.NewTextHandler(&said, nil))})
		for range 2 {
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/pare/v1/sessions/a/window", strings.NewReader("{}")))
			if got := strings.Join(rec.Result().Header["Pare-Faults"], ", "); rec.Code != 200 || got != "rule errs, rule panics" {
				t.Error(rec.Code, got, rec.Body)
			}
		}
		for _, part := range []string{"rule errs", "rule panics"} {
			if n := strings.Count(said.String(), part+" failed, and is left out"); n != 1 {
				t.Errorf("%s is named %d times: %s", part, n, &said)
			}
		}
	})
}
