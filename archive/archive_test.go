package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pare-llm/pare/archive"
)

var ctx = context.Background()

func open(t *testing.T, name string) *archive.File {
	t.Helper()
	f, err := archive.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// The same bytes have the same id, of 128 bits, and other bytes another.
func TestID(t *testing.T) {
	a, b := archive.ID([]byte(`{"a":1}`)), archive.ID([]byte(`{"a": 1}`))
	if a == b || a != archive.ID([]byte(`{"a":1}`)) || len(a) != len("pare-")+32 {
		t.Errorf("%s, %s", a, b)
	}
	one, two := archive.New("p", []byte("1")), archive.New("q", []byte("2"))
	if archive.Name([]archive.Item{one, two}) == archive.Name([]archive.Item{two, one}) {
		t.Error("the order of items makes no difference to their name")
	}
	one.Raw = []byte("3")
	if one.Genuine() || !two.Genuine() {
		t.Error("genuine is what it should not be")
	}
}

// What was put comes back byte for byte, from the same file and from one that was opened
// later, and lies there once.
func TestFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "removed.jsonl")
	items := []archive.Item{
		archive.New("messages.1", []byte(`{"role":"user","content":"hello <b> & “you”"}`)),
		archive.New("messages.2.content.0", []byte("{\n  \"type\": \"text\",\r\n\t\"text\": \"a\\nb\"\n}")),
		archive.New("", []byte(`[]`)),
	}
	a := open(t, name)
	for range 2 {
		if err := a.Put(ctx, append(items, items[0])...); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(name)
	if err != nil || bytes.Count(raw, []byte{'\n'}) != len(items) {
		t.Fatalf("%v, %d lines:\n%s", err, bytes.Count(raw, []byte{'\n'}), raw)
	}
	for _, f := range []*archive.File{a, open(t, name)} {
		for _, want := range items {
			got, err := f.Get(ctx, want.ID)
			if err != nil || !bytes.Equal(got.Raw, want.Raw) || got.Path != want.Path || got.ID != want.ID {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
		}
		if _, err := f.Get(ctx, archive.ID([]byte("never"))); !errors.Is(err, archive.ErrNotFound) {
			t.Errorf("err %v, want not found", err)
		}
	}
	forged := items[0]
	forged.Raw = []byte("other")
	if err := a.Put(ctx, forged); err == nil {
		t.Error("an item with the id of another was kept")
	}
}

// A crash at any byte of a write costs nothing that was kept before, and what it tore can
// be put again.
func TestFileTorn(t *testing.T) {
	dir := t.TempDir()
	first, second := archive.New("a", []byte(`{"first":{"x":1}}`)), archive.New("b", []byte(`{"second":{"y":{"z":2}}}`))
	head := archive.Line{Item: first}.Append(nil)
	whole := archive.Line{Item: second}.Append(bytes.Clone(head))
	for n := 0; n <= len(whole); n++ {
		name := filepath.Join(dir, fmt.Sprint(n))
		if err := os.WriteFile(name, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		a := open(t, name)
		if _, err := a.Get(ctx, first.ID); (err == nil) != (n >= len(head)-1) {
			t.Errorf("%d bytes: %v", n, err)
		}
		if err := a.Put(ctx, first, second); err != nil {
			t.Fatal(err)
		}
		a.Close()
		again := open(t, name)
		for _, want := range []archive.Item{first, second} {
			if got, err := again.Get(ctx, want.ID); err != nil || !bytes.Equal(got.Raw, want.Raw) {
				t.Errorf("%d bytes: %q, %v", n, got.Raw, err)
			}
		}
	}
}

// What could not be read again is not written: nothing of it, and nothing beside it.
func TestFileRefusesNoJSON(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.jsonl")
	f := open(t, name)
	good := archive.New("p", []byte("{\n\"a\": \"half \\ud83d\", \"a\": 2}"))
	for _, raw := range []string{"", "x", "{", "1 2", "\"\x00\"", "\"\xff\""} {
		if err := f.Put(ctx, good, archive.New("q", []byte(raw))); err == nil || !strings.Contains(err.Error(), "is no JSON") {
			t.Errorf("%q: %v", raw, err)
		}
	}
	if raw, err := os.ReadFile(name); err != nil || len(raw) > 0 {
		t.Errorf("%q, %v", raw, err)
	}
	if err := f.Put(ctx, good); err != nil {
		t.Fatal(err)
	}
	if got, err := open(t, name).Get(ctx, good.ID); err != nil || !bytes.Equal(got.Raw, good.Raw) {
		t.Errorf("%q, %v", got.Raw, err)
	}
}

// A file that is no archive is left alone.
func TestFileForeign(t *testing.T) {
	for i, content := range []string{"hello\n", "{}\n", `{"id":"other-1"}` + "\n", "x", string(archive.Line{Item: archive.New("", []byte("1"))}.Append(nil)) + "stray\n"} {
		name := filepath.Join(t.TempDir(), fmt.Sprint(i))
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Open(name); !errors.Is(err, archive.ErrNoArchive) {
			t.Errorf("%q: %v", content, err)
		}
		if got, _ := os.ReadFile(name); string(got) != content {
			t.Errorf("%q has become %q", content, got)
		}
	}
	if _, err := archive.Open(t.TempDir()); err == nil {
		t.Error("a folder is taken for an archive")
	}
}

// Ids of 64 bits, which older archives have, still name their bytes.
func TestOldIDs(t *testing.T) {
	name := filepath.Join(t.TempDir(), "old.jsonl")
	item := archive.New("messages.1", []byte(`{"role":"user"}`))
	old := item.ID[:len("pare-")+16]
	line := strings.Replace(string(archive.Line{Item: item}.Append(nil)), item.ID, old, 1)
	if err := os.WriteFile(name, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := open(t, name).Get(ctx, old)
	if err != nil || !bytes.Equal(got.Raw, item.Raw) {
		t.Errorf("%+v, %v", got, err)
	}
}

// Many goroutines, and two files on one name, as of two processes.
func TestFileShared(t *testing.T) {
	name := filepath.Join(t.TempDir(), "removed.jsonl")
	files := []*archive.File{open(t, name), open(t, name)}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			f := files[g%2]
			for i := range 50 {
				item := archive.New("p", fmt.Appendf(nil, `{"n":%d,"pad":%q}`, i*(g%2+1), strings.Repeat("x", 100*i)))
				if err := f.Put(ctx, item); err != nil {
					t.Error(err)
				}
				if got, err := f.Get(ctx, item.ID); err != nil || !bytes.Equal(got.Raw, item.Raw) {
					t.Errorf("%v", err)
				}
			}
		}()
	}
	wg.Wait()
	again := open(t, name)
	for i := range 50 {
		item := archive.New("p", fmt.Appendf(nil, `{"n":%d,"pad":%q}`, i, strings.Repeat("x", 100*i)))
		if _, err := again.Get(ctx, item.ID); err != nil {
			t.Error(err)
		}
	}
}

// A Writer writes no line twice and keeps what it was given.
func TestWriter(t *testing.T) {
	old := archive.Line{Item: archive.New("a", []byte("1")), Source: "s.jsonl", Number: 3}
	var b bytes.Buffer
	w := archive.NewWriter(&b)
	if err := w.Copy(bytes.NewReader(bytes.TrimSuffix(old.Append(nil), []byte("\n")))); err != nil || w.Added() {
		t.Fatal(err, w.Added())
	}
	fresh := archive.Line{Item: archive.New("b", []byte("2"))}
	if err := w.Add(old, fresh, fresh); err != nil || !w.Added() {
		t.Fatal(err, w.Added())
	}
	if want := string(fresh.Append(old.Append(nil))); b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	if err := archive.NewWriter(&b).Copy(strings.NewReader("hello")); !errors.Is(err, archive.ErrNoArchive) {
		t.Error(err)
	}
	l, err := archive.ParseLine(bytes.TrimSpace(old.Append(nil)))
	if err != nil || l.Source != "s.jsonl" || l.Number != 3 || l.Path != "a" || string(l.Raw) != "1" {
		t.Errorf("%+v, %v", l, err)
	}
}
