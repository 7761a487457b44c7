package store_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/store/storehttp"
)

// TestNamesAreNoStatements checks that names from clients are never part of a statement.
func TestNamesAreNoStatements(t *testing.T) {
	names := []string{`'; DROP TABLE entries; --`, `" OR 1=1`, `a%_b`, `$1 ? :x @y`, `NEAR(a b)`, `body:*`, `"`, `\`, "né\u202e", `(a | b) & !c`, `x'00'`}
	both(t, func(t *testing.T, st *store.Store) {
		for i, name := range names {
			key := store.Key{Scope: name, ID: name, Path: ""}
			if _, err := st.Create(ctx, key, store.Create{Dialect: "anthropic", Model: name, Title: name}); err != nil {
				t.Fatal(err)
			}
			if _, err := st.Append(ctx, key, store.Anywhere, store.Message(name, user(name+" heron")), store.Entry{ID: "k" + name, Kind: store.Kind(name), Raw: []byte(`1`)}); err != nil {
				t.Fatalf("%q: %v", name, err)
			}
			if page, err := st.Page(ctx, key, store.Page{After: name}); err != nil || len(page.Entries) != 1 || page.Entries[0].ID != "k"+name {
				t.Errorf("%q: %v, %v", name, page, err)
			}
			if hits, err := st.Search(ctx, key, name, 0); err != nil {
				t.Errorf("search %q: %v, %v", name, hits, err)
			}
			if hits, err := st.Search(ctx, key, "heron", 0); err != nil || len(hits) != 1 {
				t.Errorf("%q: %v, %v", name, hits, err)
			}
			if _, err := st.Recall(ctx, name, name); err == nil {
				t.Errorf("%q was recalled", name)
			}
			if list, err := st.Sessions(ctx, name, 0, nil); err != nil || len(list) != 1 {
				t.Errorf("%q: %d sessions, %v", name, len(list), err)
			}
			if i%2 == 0 {
				if err := st.Delete(ctx, key); err != nil {
					t.Error(err)
				}
			}
		}
		if n := st.Count(`SELECT count(*) FROM sessions WHERE deleted_at IS NULL`); n != len(names)/2 {
			t.Errorf("%d sessions are left", n)
		}
		checkStore(t, st)
	})
}

// TestStatementsAreConstants checks that statements consist of constants and a few listed
// variables.
func TestStatementsAreConstants(t *testing.T) {
	pieces := map[string]bool{ // variables, each of which holds one of several constants
		"entryColumns": true, "sessionColumns": true, "sessionLock": true, "where": true, "order": true, "table": true, "score": true, "query": true,
		"marks": true, // question marks
	}
	fset := token.NewFileSet()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Sprintf" && len(call.Args) > 0 {
					if lit, ok := call.Args[0].(*ast.BasicLit); ok && statement(lit.Value) {
						t.Errorf("%s: a statement is formatted", fset.Position(n.Pos()))
					}
				}
			}
			sum, ok := n.(*ast.BinaryExpr)
			if !ok || sum.Op != token.ADD {
				return true
			}
			text, others := flatten(sum)
			if !statement(text) {
				return true
			}
			seen++
			for _, x := range others {
				switch x := x.(type) {
				case *ast.Ident:
					if pieces[x.Name] {
						continue
					}
				case *ast.CallExpr: // s.eng.lock()
					if sel, ok := x.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "lock" {
						continue
					}
				}
				t.Errorf("%s: a statement holds something that is no constant", fset.Position(x.Pos()))
			}
			return false
		})
	}
	if seen < 15 {
		t.Errorf("only %d statements were looked at", seen)
	}
}

func statement(text string) bool {
	for _, verb := range []string{"SELECT ", "INSERT ", "UPDATE ", "DELETE FROM"} {
		if strings.Contains(text, verb) {
			return true
		}
	}
	return false
}

// flatten splits a sum into its constants and other terms.
func flatten(e ast.Expr) (text string, others []ast.Expr) {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		a, b := flatten(e.X)
		c, d := flatten(e.Y)
		return a + c, append(b, d...)
	case *ast.BasicLit:
		return e.Value, nil
	}
	return "", []ast.Expr{e}
}

// TestOnlyTheOwnerMayRead checks the modes of the database file and its journal.
func TestOnlyTheOwnerMayRead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no such modes")
	}
	dir := filepath.Join(t.TempDir(), "data")
	st := open(t, filepath.Join(dir, "pare.db"))
	put(t, st, create(t, st, "a"), user("secret"))
	files, err := os.ReadDir(dir)
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f.Name(), info.Mode(), err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestNoTokensMeansLoopbackOnly checks that a handler without tokens serves only clients on the
// same machine.
func TestNoTokensMeansLoopbackOnly(t *testing.T) {
	st := open(t, filepath.Join(t.TempDir(), "pare.db"))
	for from, want := range map[string]int{"127.0.0.1:4711": 200, "[::1]:4711": 200, "@": 200, "192.0.2.7:4711": 401, "[2001:db8::1]:80": 401, "nonsense": 401} {
		for _, tokens := range []map[string]string{nil, {"t": ""}} {
			q := httptest.NewRequest("GET", "/pare/v1/sessions", nil)
			q.RemoteAddr = from
			if tokens != nil {
				q.Header.Set("Authorization", "Bearer t")
				want = 200
			}
			w := httptest.NewRecorder()
			storehttp.Handler(st, storehttp.Options{Tokens: tokens}).ServeHTTP(w, q)
			if w.Code != want {
				t.Errorf("%s, %d tokens: %d, want %d", from, len(tokens), w.Code, want)
			}
		}
	}
	// An empty list of tokens refuses everyone.
	q := httptest.NewRequest("GET", "/pare/v1/sessions", nil)
	w := httptest.NewRecorder()
	storehttp.Handler(st, storehttp.Options{Tokens: map[string]string{}}).ServeHTTP(w, q)
	if w.Code != http.StatusUnauthorized {
		t.Errorf("an empty list of tokens: %d", w.Code)
	}
}

// TestLimits checks that errors name the limit that was exceeded.
func TestLimits(t *testing.T) {
	st, err := store.OpenWith(ctx, filepath.Join(t.TempDir(), "pare.db"), store.Options{MaxEntry: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	key := create(t, st, "a")
	long := strings.Repeat("x", 2000)
	for name, err := range map[string]error{
		"entry":    second(st.Append(ctx, key, store.Anywhere, store.Message("", user(long)))),
		"entry id": second(st.Append(ctx, key, store.Anywhere, store.Message(long, user("x")))),
		"kind":     second(st.Append(ctx, key, store.Anywhere, store.Entry{Kind: store.Kind(long), Raw: []byte(`1`)})),
		"session":  second(st.Create(ctx, store.ID(long), anthropic)),
		"title":    second(st.Create(ctx, store.ID("t"), store.Create{Title: long})),
		"base":     second(st.Create(ctx, store.ID("t"), store.Create{Base: []byte(`{"a":"` + long + `"}`)})),
		"settings": st.Update(ctx, key, store.Update{Settings: []byte(`{"a":"` + long + `"}`)}),
		"control":  second(st.Create(ctx, store.ID("a\nb"), anthropic)),
	} {
		if err == nil || strings.Contains(err.Error(), long) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNoBodyInEventsAndErrors checks that errors and events contain no text of conversations.
func TestNoBodyInEventsAndErrors(t *testing.T) {
	engines(t, func(t *testing.T, dsn string) {
		const secret = "heron-4711"
		var said []string
		st, err := store.OpenWith(ctx, dsn, store.Options{Sink: func(e pare.Event) { said = append(said, fmt.Sprintf("%s %+v", e.Type, e.Metadata)) }})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		key := create(t, st, "a")
		note := func(err error) {
			for ; err != nil; err = errors.Unwrap(err) {
				said = append(said, err.Error())
			}
		}
		put(t, st, key, user(secret))
		for i := range 8 {
			turn(t, st, key, i)
		}
		note(second(st.Append(ctx, key, store.Exactly(0), store.Message("x", user(secret)))))
		note(second(st.Append(ctx, key, store.Anywhere, store.Message("y", []byte(`{"role":"user","content":"`+secret)))))
		note(second(st.Append(ctx, key, store.Anywhere, store.Message("z", []byte(`{"role":"`+secret+`"}`)))))
		note(second(st.Window(ctx, key, store.WindowOptions{Policy: &pare.Policy{Window: &pare.Window{Tokens: 3}}})))
		compact(t, st, key, secret)
		note(second(st.RevertTurns(ctx, key, store.Anywhere, 1)))
		note(second(st.Undo(ctx, key)))
		note(st.Exec(`UPDATE entries SET raw = sum`))
		note(second(st.Window(ctx, key, store.WindowOptions{})))
		note(st.Delete(ctx, key))
		if len(said) < 20 {
			t.Errorf("only %d things were said", len(said))
		}
		for _, s := range said {
			if strings.Contains(s, secret) {
				t.Errorf("%s", s)
			}
		}
	})
	// An address that cannot be read is not repeated: it may hold a password.
	if _, err := store.Open(ctx, "postgres://u:hunter2@[bad/x"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
	if _, err := store.Open(ctx, "postgres://u:hunter2@127.0.0.1:1/x?connect_timeout=1"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}

// TestForeignDatabase checks that the database of another program is refused and not changed.
func TestForeignDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`CREATE TABLE sessions (id TEXT); INSERT INTO sessions VALUES ('theirs')`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := store.Open(t.Context(), path); err == nil {
		st.Close()
		t.Error("it was opened")
	} else if !strings.Contains(err.Error(), "other.db is a database of another program") {
		t.Error(err)
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("it was changed: %v", err)
	}
}
