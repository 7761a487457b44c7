// Package corpus reads, for tests, transcripts that were recorded elsewhere: requests
// that providers were sent, and the sessions of agents. They are not part of the
// project. They lie in shared/corpus beside the module, or where PARE_CORPUS says; a
// test that finds none is skipped and says so.
//
// Nothing here knows a dialect: bodies are handed out as they are, or put together from
// the messages of a session.
package corpus

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Dir is the folder of the corpus.
func Dir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("PARE_CORPUS")
	if dir == "" {
		dir = filepath.Join(module(t), "..", "shared", "corpus")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skip("there is no corpus of recorded transcripts in ../shared/corpus; PARE_CORPUS=DIR names another place")
	}
	return dir
}

// module is the root of the module that is tested.
func module(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil { // the module of the library, and others in it
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.work above the test")
		}
	}
	t.Fatal(err)
	return ""
}

// A File is one of the corpus, unpacked.
type File struct {
	Folder, Base string // Base is without .gz
	Raw          []byte // shared: not to be changed
}

// Name is the folder and the base.
func (f File) Name() string { return f.Folder + "/" + f.Base }

// Files reads what matches some patterns of folder and file, in order. A pattern that
// matches nothing is an error: a test on nothing tests nothing.
func Files(t testing.TB, patterns ...string) []File {
	t.Helper()
	dir := Dir(t)
	var all []File
	for _, p := range patterns {
		paths, err := filepath.Glob(filepath.Join(dir, p))
		if err != nil || len(paths) == 0 {
			t.Fatalf("nothing in the corpus is called %s: %v", p, err)
		}
		slices.Sort(paths)
		for _, path := range paths {
			all = append(all, File{filepath.Base(filepath.Dir(path)), strings.TrimSuffix(filepath.Base(path), ".gz"), unpacked(t, path)})
		}
	}
	return all
}

// read keeps the bytes of files that were asked for: several tests ask for the same.
var read sync.Map

func unpacked(t testing.TB, path string) []byte {
	t.Helper()
	if raw, ok := read.Load(path); ok {
		return raw.([]byte)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(raw))
		if err == nil {
			raw, err = io.ReadAll(z)
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	read.Store(path, raw)
	return raw
}
