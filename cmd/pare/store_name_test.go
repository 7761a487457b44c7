package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/atomicfile"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/store"
)

func namedStore(t *testing.T, keys ...store.Key) (dsn string) {
	t.Helper()
	dsn = filepath.Join(t.TempDir(), "pare.db")
	db, err := store.Open(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for i, key := range keys {
		if _, err := db.Create(context.Background(), key, store.Create{Dialect: "anthropic"}); err != nil {
			t.Fatal(key, err)
		}
		if _, err := db.Append(context.Background(), key, store.Anywhere, store.Message("", fmt.Appendf(nil, `{"role":"user","content":"message of %d."}`, i))); err != nil {
			t.Fatal(key, err)
		}
	}
	return dsn
}

func storeCopy(t *testing.T, dsn string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "pare.db")
	if err := new(atomicfile.Files).Copy(dsn, to); err != nil {
		t.Fatal(err)
	}
	return to
}

func thereIn(t *testing.T, dsn string, keys []store.Key) (left []store.Key) {
	t.Helper()
	db, err := store.Open(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, key := range keys {
		if _, err := db.Session(context.Background(), key); err == nil {
			left = append(left, key)
		}
	}
	return left
}

func TestSessionNamesRoundTrip(t *testing.T) {
	keys := []store.Key{
		{ID: "a"}, {ID: "a", Path: "b"}, {ID: "a", Path: "b/c"}, {ID: "a/b"}, {ID: "a/b", Path: "c"}, {ID: "a/b/c"}, {ID: "/a"}, {ID: "a/"},
		{ID: "a%2Fb"}, {ID: "a b"}, {ID: "-a/b"}, {ID: "it's"}, {ID: "a --path b"},
	}
	all := namedStore(t, keys...)
	for i, key := range keys {
		if i%trial.Stride(3) > 0 {
			continue
		}
		dsn := storeCopy(t, all)
		args := []string{"--store", dsn, "--", key.ID}
		if key.Path != "" {
			args = append([]string{"--path", key.Path}, args...)
		}
		for _, command := range []string{"show", "export", "window"} {
			status, out, errs := program(nil, append([]string{"session", command}, args...)...)
			if status != statusClean || !strings.Contains(out, fmt.Sprintf("message of %d.", i)) {
				t.Errorf("%s %v: status %d: %s%s", command, key, status, out, errs)
			}
		}
		if status, _, errs := program(nil, append([]string{"session", "delete"}, args...)...); status != statusClean {
			t.Errorf("delete %v: status %d: %s", key, status, errs)
		}
		rest := thereIn(t, dsn, keys)
		for _, k := range keys {
			below := k.ID == key.ID && (key.Path == "" || k.Path == key.Path || strings.HasPrefix(k.Path, key.Path+"/"))
			if left := slices.Contains(rest, k); left == below {
				t.Errorf("delete %v: %v is left: %v", key, k, left)
			}
		}
	}
}

func TestListedNamesCanBePasted(t *testing.T) {
	keys := []store.Key{{ID: "a"}, {ID: "a", Path: "b"}, {ID: "a/b"}, {ID: "with blank"}, {ID: "it's"}, {ID: "-dash"}}
	dsn := namedStore(t, keys...)
	_, list, _ := program(nil, "session", "list", "--store", dsn)
	_, below, _ := program(nil, "session", "list", "--store", dsn, "--in", "a")
	_, found, _ := program(nil, "session", "search", "--store", dsn, "message")
	for _, key := range keys {
		shown := map[store.Key]string{{ID: "with blank"}: "'with blank'", {ID: "it's"}: `'it'\''s'`, {ID: "a", Path: "b"}: "a --path b"}[key]
		if shown == "" {
			shown = key.ID
		}
		in := list
		if key.Path != "" {
			in = below
		}
		for _, text := range []string{in, found} {
			if !strings.Contains("\n"+text, "\n"+shown+"  ") {
				t.Errorf("%v is not shown as %s:\n%s", key, shown, text)
			}
		}
	}
	if strings.Contains(list, "--path") || strings.Count(below, "\n") != 1 {
		t.Errorf("%s\n%s", list, below)
	}
	// A path in the old notation is not a session id; the hint shows the new notation.
	status, _, errs := program(nil, "session", "delete", "--store", namedStore(t, keys[0], keys[1]), "a/b")
	if status != statusInvalid || !strings.Contains(errs, "no such session: a/b") || !strings.Contains(errs, "ID --path PATH") {
		t.Errorf("status %d: %s", status, errs)
	}
}

func TestIDsMayBeginWithADash(t *testing.T) {
	ids := []string{"-tmp-work-x", "-home-ada", "-x", "--odd", "-o", "-h", "-", "---", "--json-lines", "-1", "--json"}
	var keys []store.Key
	for _, id := range ids {
		keys = append(keys, store.ID(id))
	}
	all := namedStore(t, keys...)
	for i, id := range ids {
		if i%trial.Stride(4) > 0 {
			continue
		}
		dsn := storeCopy(t, all)
		isFlag := id == "-o" || id == "-h" || id == "--json"
		for _, dashes := range []bool{false, true} {
			for _, command := range []string{"show", "window", "export", "compact", "fork", "revert", "undo", "delete"} {
				args := []string{"session", command, "--store", dsn}
				if command == "revert" {
					args = append(args, "--turns", "1")
				}
				if dashes {
					args = append(args, "--")
				}
				args = append(args, id)
				if command == "fork" {
					args = append(args, "fork-"+fmt.Sprint(dashes))
				}
				if isFlag && !dashes {
					continue
				}
				if command == "delete" && !dashes {
					continue
				}
				status, out, errs := program(bytes.NewReader(nil), args...)
				if status != statusClean {
					t.Errorf("%q: status %d: %s", args, status, errs)
				}
				if (command == "show" || command == "window") && !dashes && !strings.Contains(out, fmt.Sprintf("message of %d.", i)) {
					t.Errorf("%q: %s", args, out)
				}
			}
		}
		if left := thereIn(t, dsn, keys); len(left) != len(keys)-1 {
			t.Errorf("delete %s: left are %v", id, left)
		}
	}
	for _, args := range [][]string{
		{"session", "show", "--store", namedStore(t), "-tmp-work-x"}, {"session", "delete", "--store", namedStore(t), "--no-such"},
		{"check", "-tmp.json"}, {"fix", "-q.json"}, {"session", "list", "--store", namedStore(t), "-tmp"},
	} {
		status, _, errs := program(nil, args...)
		if status != statusInvalid || !strings.Contains(errs, "unknown flag") || !strings.Contains(errs, "a name that begins with - goes after --") {
			t.Errorf("%q: status %d: %s", args, status, errs)
		}
	}
}
