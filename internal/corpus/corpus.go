// Package corpus reads recorded transcripts for tests: requests that were sent to providers,
// and sessions of agents. They are not part of the project. They are in shared/corpus next to
// the module, or in the folder PARE_CORPUS; a test that finds none is skipped with a message.
//
// The package knows no dialect: bodies are returned as they are, or assembled from the
// messages of a session.
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

// Files reads the files that match patterns of folder and file, in order. A pattern without a
// match is an error, because a test on no files tests nothing.
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

// read caches the bytes of files, because several tests read the same ones.
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
