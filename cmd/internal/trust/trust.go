package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/atomicfile"
)

// A Store is a trust list on disk. Every method reads the file anew.
type Store struct{ file string }

// An Entry is a file that the user has accepted.
type Entry struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // of the content, in hexadecimal
}

type document struct {
	Trusted []Entry `json:"trusted"`
}

// Open returns the trust list in a folder, usually that of the user configuration. The file
// need not exist; Add creates it.
func Open(folder string) Store { return Store{filepath.Join(folder, "trust.json")} }

// IsTrusted reports whether the user has accepted this content at this path. If the list
// cannot be read, the answer is false, with the error.
func (s Store) IsTrusted(path string, content []byte) (bool, error) {
	entry, err := newEntry(path, content)
	if err != nil {
		return false, err
	}
	all, err := s.List()
	return slices.Contains(all, entry), err
}

// List returns the accepted files, sorted by path.
func (s Store) List() ([]Entry, error) {
	raw, err := os.ReadFile(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read trust list: %w", err)
	}
	var d document
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, fmt.Errorf("read trust list %s: %w", s.file, err)
	}
	return d.Trusted, nil
}

// Add accepts the content at the path, in the place of earlier content there.
func (s Store) Add(path string, content []byte) error {
	entry, err := newEntry(path, content)
	if err != nil {
		return err
	}
	return s.update(func(all []Entry) []Entry {
		return append(without(all, entry.Path), entry)
	})
}

// Revoke removes the path from the list. It reports whether the path was in the list.
func (s Store) Revoke(path string) (bool, error) {
	place, err := identify(path)
	if err != nil {
		return false, err
	}
	all, err := s.List()
	if err != nil || !slices.ContainsFunc(all, func(e Entry) bool { return e.Path == place }) {
		return false, err
	}
	return true, s.update(func(all []Entry) []Entry { return without(all, place) })
}

func without(all []Entry, path string) []Entry {
	return slices.DeleteFunc(all, func(e Entry) bool { return e.Path == path })
}

func newEntry(path string, content []byte) (Entry, error) {
	place, err := identify(path)
	sum := sha256.Sum256(content)
	return Entry{place, hex.EncodeToString(sum[:])}, err
}

// identify returns the path under which a file is listed. The file need not exist.
func identify(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(absolute))
	if errors.Is(err, fs.ErrNotExist) {
		return absolute, nil // a deleted folder, whose files can still be revoked
	}
	return filepath.Join(folder, filepath.Base(absolute)), err
}

// maxUpdates bounds how often an update starts again because another process was faster.
const maxUpdates = 20

// update replaces the list by change(list), atomically.
func (s Store) update(change func([]Entry) []Entry) error {
	if err := os.MkdirAll(filepath.Dir(s.file), 0o700); err != nil {
		return err
	}
	var err error
	for range maxUpdates {
		if err = s.replace(change); !errors.Is(err, atomicfile.ErrMoved) {
			break
		}
	}
	return err
}

// replace is one attempt of update. The error wraps [atomicfile.ErrMoved] if another process
// has replaced the list in the meantime.
func (s Store) replace(change func([]Entry) []Entry) error {
	var files atomicfile.Files
	files.Restrict(0o600)
	draft, err := files.New(s.file)
	if err != nil {
		return err
	}
	defer draft.Discard()
	all, err := s.List()
	if err != nil {
		return err
	}
	all = change(all)
	slices.SortFunc(all, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	raw, err := json.MarshalIndent(document{all}, "", "  ")
	if err != nil {
		return err
	}
	if _, err := draft.Write(append(raw, '\n')); err != nil {
		return err
	}
	_, err = draft.CommitOver(draft.Was(), atomicfile.Over{})
	return err
}
