package store_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/store/storehttp"
	"github.com/pare-llm/pare/wire"
)

// TestMessagesDetermineDialect checks that plain text determines no dialect, and that later
// messages are paired in the dialect that they determine.
func TestMessagesDetermineDialect(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		for name, c := range map[string]struct {
			model, call, want string
		}{
			"anthropic":        {"claude-sonnet-4-5", `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"run","input":{}}]}`, "anthropic"},
			"openai-chat":      {"claude-sonnet-4-5", `{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"run","arguments":"{}"}}]}`, "openai-chat"},
			"openai-chat, gpt": {"gpt-5", `{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"run","arguments":"{}"}}]}`, "openai-chat"},
			"openai-responses": {"gpt-5", `{"type":"function_call","call_id":"t1","name":"run","arguments":"{}"}`, "openai-responses"},
			"no model":         {"", `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"run","input":{}}]}`, "anthropic"},
		} {
			for _, together := range []bool{false, true} {
				key := store.Key{ID: name, Path: map[bool]string{true: "together"}[together]}
				if _, err := st.Create(ctx, key, store.Create{Model: c.model}); err != nil {
					t.Fatal(err)
				}
				first := []store.Entry{store.Message("m1", user("Hi")), store.Message("m2", []byte(` {"role":"developer","content":"Be brief."}`))}
				if c.model != "gpt-5" { // only OpenAI's models take words of the developer
					first = first[:1]
				}
				entries := append(first, store.Message("m3", []byte(c.call)))
				if !together {
					for _, e := range first {
						if _, err := st.Append(ctx, key, store.Anywhere, e); err != nil {
							t.Fatal(err)
						}
					}
					session, err := st.Session(ctx, key)
					if err != nil || session.Dialect != "" {
						t.Fatalf("%s: plain text: dialect %q, %v", name, session.Dialect, err)
					}
					w, err := st.Window(ctx, key, store.WindowOptions{})
					if err != nil {
						t.Fatal(err)
					}
					if d := w.Plan.Result().Dialect; strings.HasPrefix(c.model, "claude") != (d == wire.Anthropic) {
						t.Errorf("%s: plain text for %q is sent as %s", name, c.model, d)
					}
					entries = entries[len(entries)-1:]
				}
				result, err := st.Append(ctx, key, store.Anywhere, entries...)
				if err != nil {
					t.Fatal(err)
				}
				if e := result.Entries[len(result.Entries)-1]; len(e.Calls)+len(e.Answers) != 1 {
					t.Errorf("%s: %d calls and %d answers are seen", name, len(e.Calls), len(e.Answers))
				}
				session, err := st.Session(ctx, key)
				if err != nil || session.Dialect != c.want {
					t.Errorf("%s: dialect %q, want %q, %v", name, session.Dialect, c.want, err)
				}
				w, err := st.Window(ctx, key, store.WindowOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if left := w.Plan.Result().Check(wire.CheckOptions{}); len(left) > 0 {
					t.Errorf("%s: the window is refused for %v", name, left)
				}
			}
		}
		if found, err := st.Fsck(ctx, false); err != nil || len(found) > 0 {
			t.Errorf("fsck: %v %v", found, err)
		}
	})
}

// TestMessageOfOtherDialectIsRefused checks that messages of other dialects are refused if their
// text or pairs would be missing from windows.
func TestMessageOfOtherDialectIsRefused(t *testing.T) {
	st := open(t, filepath.Join(t.TempDir(), "pare.db"))
	key := store.ID("s")
	if _, err := st.Create(ctx, key, anthropic); err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{
		`{"role":"user","parts":[{"text":"Hi"}]}`,
		`{"role":"assistant","content":"Wait.","tool_calls":[{"id":"t1","type":"function","function":{"name":"run","arguments":"{}"}}]}`,
		`{"role":"tool","tool_call_id":"t1","content":"done"}`,
		`{"type":"function_call_output","call_id":"t1","output":"done"}`,
		`{"role":"assistant","content":[{"toolUse":{"toolUseId":"t1","name":"run","input":{}}}]}`,
	} {
		_, err := st.Append(ctx, key, store.Anywhere, store.Message("", []byte(raw)))
		var bad *store.EntryError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), "the session is one of anthropic") {
			t.Errorf("%s: %v", raw, err)
		}
	}
	// Problems within the dialect are repaired in windows.
	for _, raw := range []string{`{"role":"user","content":[{"type":"input_text","text":"Hi"}]}`, `{"role":"user","content":"Hi","name":"ada"}`, `{"role":"system","content":"Be brief."}`} {
		if _, err := st.Append(ctx, key, store.Anywhere, store.Message("", []byte(raw))); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// TestInvalidRequests checks that all invalid HTTP requests get errors of one form.
func TestInvalidRequests(t *testing.T) {
	st := open(t, filepath.Join(t.TempDir(), "pare.db"))
	var log bytes.Buffer
	h := storehttp.Handler(st, storehttp.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	ask := func(method, path, body string, header ...string) (int, string) {
		t.Helper()
		r := httptest.NewRequest(method, "/pare/v1"+path, strings.NewReader(body))
		r.RemoteAddr, r.Host = "127.0.0.1:1", "127.0.0.1:1"
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	if status, out := ask("POST", "/sessions", `{"id":"s","model":"claude-sonnet-4-5"}`); status != 201 {
		t.Fatal(status, out)
	}
	const entry = `{"entries":[{"id":"m1","raw":{"role":"user","content":"Hi"}}]}`
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"POST", "/sessions/s/entries", entry + ` {}`, 400, "there is more behind its end"},
		{"POST", "/sessions/s/entries", entry + `x`, 400, "there is more behind its end"},
		{"GET", "/sessions/s/entries?limt=1", "", 400, `there is no parameter \"limt\"`},
		{"GET", "/sessions/s/entries?limit=1&limit=2", "", 400, "limit is given 2 times"},
		{"GET", "/sessions/s/entries?last=yes", "", 400, "true or false is expected"},
		{"GET", "/sessions/s/entries?last=True", "", 400, "true or false is expected"},
		{"GET", "/sessions/s/entries?last=T", "", 400, "true or false is expected"},
		{"GET", "/sessions/s/entries?last=", "", 400, "true or false is expected"},
		{"GET", "/sessions/s/entries?limit=%2B1", "", 400, "a number is expected"},
		{"GET", "/sessions/s/search?q=a&limit=", "", 400, "a number is expected"},
		{"GET", "/sessions/s/events?from=x", "", 400, "the number of an entry is expected"},
		{"POST", "/sessions/s/merge", "", 400, "from is missing"},
		{"POST", "/sessions/s/window", "", 400, "the session is empty"},
		{"POST", "/sessions", `{"id":"b","base":[]}`, 400, "base is no JSON object"},
		{"POST", "/sessions/s/entries", `{"entries":[{"id":"a"}]}`, 422, "raw is missing"},
		{"POST", "/sessions/s/entries", `{"entries":[{"id":"a","raw":null}]}`, 422, "it is null"},
		{"POST", "/sessions/s/entries", `{"entries":[{"id":"a","raw":"text"}]}`, 422, "it is a string"},
		{"GET", "/sessions?path=a", "", 400, "there is no parameter"},
		{"POST", "/sessions/s/compact", `{"min_keep":-1}`, 400, "min_keep is -1"},
		{"PUT", "/sessions/s", "", 405, "takes GET, PATCH, DELETE, not PUT"},
		{"GET", "/sessions/s/window", "", 405, "takes POST, not GET"},
		{"GET", "/sessions/s/windows", "", 404, "there is no GET /pare/v1/sessions/s/windows"},
		{"POST", "/openapi.json", "", 405, "takes GET"},
		{"POST", "/sessions", `{"id":".."}`, 400, "leads elsewhere"},
	} {
		status, out := ask(c.method, c.path, c.body)
		if status != c.status || !strings.HasPrefix(out, `{"error":{"type":"`) || !strings.Contains(out, c.says) {
			t.Errorf("%s %s %s: %d %s, want %d, %s", c.method, c.path, c.body, status, out, c.status, c.says)
		}
	}
	if status, out := ask("POST", "/sessions/s/entries", "\x1f\x8b", "Content-Encoding", "gzip"); status != 415 || !strings.Contains(out, "without a Content-Encoding") {
		t.Error(status, out)
	}
	if session, err := st.Session(ctx, store.ID("s")); err != nil || session.Head != 0 {
		t.Errorf("something was written: %v %v", session, err)
	}
	if status, out := ask("GET", "/sessions/s/entries?last=1", ""); status != 200 {
		t.Error(status, out)
	}
	// The log has the details that the client does not get.
	if log.Len() > 0 {
		t.Errorf("nothing has failed yet: %s", &log)
	}
	st.Close()
	if status, out := ask("GET", "/sessions/s", ""); status != 500 || !strings.Contains(log.String(), "the store failed") || !strings.Contains(log.String(), "closed") {
		t.Errorf("%d %s, log: %s", status, out, &log)
	}
}
