package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unicode"
)

// A Use is the role of a file in a run.
type Use uint8

const (
	Read    Use = iota // it is read, perhaps in several roles
	Write              // it is written, in this role alone
	Replace            // it is read and replaced in place; its backup stands beside it
)

// A Clash is the error for a file with two conflicting roles.
type Clash struct {
	Roles [2]string // such as "the input" and "--receipt", the earlier one first
	Names [2]string // as they were spelt
}

func (c *Clash) Error() string {
	return fmt.Sprintf("%s and %s are the same file", phrase(c.Roles[0], c.Names[0]), phrase(c.Roles[1], c.Names[1]))
}

func phrase(role, name string) string {
	if name == "" {
		return role
	}
	return role + " " + name
}

// A claim is a file in a role.
type claim struct {
	role, name string
	use        Use
	place      string // the folder by identity, and the name in it; "": not known
	file       string // the file by identity; "": it is not there yet
	folder     string
	base       string
}

// Claim notes that a file has a role, or returns a *[Clash]. Two names are one file if
// they lead to one, by links, hard links, the spelling of the path or, where the system
// does not tell it apart, the case of letters. What is neither a file nor absent, such as
// a terminal or a pipe, can have many roles.
func (f *Files) Claim(role, name string, use Use) error {
	return f.claim(role, name, use, true)
}

// Check is Claim without the note, for the many files of a folder. st is the file, if it
// is open already: a run that writes nothing but standard output then looks at no path.
func (f *Files) Check(role, name string, st fs.FileInfo, use Use) error {
	if use == Read && st != nil {
		if told, err := f.mayRead(claim{role: role, name: name, use: use}, st); told {
			return err
		}
	}
	return f.claim(role, name, use, false)
}

// mayRead reports whether the identity of a file alone shows that it may be read. It does not while
// something is written to a path, which may lead to the file in many ways.
func (f *Files) mayRead(c claim, st fs.FileInfo) (told bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.changed == changed{}:
		return true, nil
	case f.changed.paths > 0:
		return false, nil
	}
	id, ok := fileIdentity(st)
	if !ok {
		return false, nil
	}
	c.file = id
	return true, f.take(c, false)
}

// changed counts the claims on files that are written or replaced.
type changed struct {
	paths int // by their paths
	open  int // by nothing but their identity
}

// ClaimOpen is Claim for a file that is open already, such as standard output.
func (f *Files) ClaimOpen(role string, file *os.File, use Use) error {
	st, err := file.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return nil
	}
	id, ok := fileIdentity(st)
	if !ok {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.take(claim{role: role, use: use, file: id}, true)
}

func (f *Files) claim(role, name string, use Use, note bool) error {
	path, err := Resolve(name)
	if err != nil {
		return nil // opening it reports the error
	}
	c := claim{role: role, name: name, use: use}
	st, err := os.Stat(path)
	switch {
	case err == nil && !st.Mode().IsRegular():
		return nil
	case err == nil:
		c.file, _ = fileIdentity(st)
	case !errors.Is(err, fs.ErrNotExist):
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c.folder, c.base = f.placeOf(path)
	c.place = c.folder + "/" + c.base
	return f.take(c, note)
}

// take compares a claim with the others.
func (f *Files) take(c claim, note bool) error {
	for _, id := range []string{c.place, c.file} {
		if id == "" {
			continue
		}
		for _, other := range f.claims[id] {
			if clashes(other, c) {
				return &Clash{[2]string{other.role, c.role}, [2]string{other.name, c.name}}
			}
		}
	}
	if err := f.meetsBackup(c); err != nil {
		return err
	}
	if !note {
		return nil
	}
	if f.claims == nil {
		f.claims = map[string][]claim{}
	}
	for _, id := range []string{c.place, c.file} {
		if id != "" {
			f.claims[id] = append(f.claims[id], c)
		}
	}
	if c.use == Write {
		f.writes = append(f.writes, c)
	}
	switch {
	case c.use == Read:
	case c.place != "":
		f.changed.paths++
	default:
		f.changed.open++
	}
	return nil
}

// clashes reports whether two claims on one file exclude each other. A file to replace
// may be named twice; but of two names that are hard links only one would be replaced.
func clashes(a, b claim) bool {
	if a.use == Read && b.use == Read {
		return false
	}
	return a.use != Replace || b.use != Replace || a.place != b.place
}

// meetsBackup returns a Clash if a written file is the backup of a replaced one.
func (f *Files) meetsBackup(c claim) error {
	switch c.use {
	case Replace:
		for _, w := range f.writes {
			if of, ok := originalOf(w.base); ok && of == c.base && w.folder == c.folder && w.base != "" {
				return &Clash{[2]string{w.role, "the backup of"}, [2]string{w.name, c.name}}
			}
		}
	case Write:
		of, ok := originalOf(c.base)
		if !ok {
			return nil
		}
		for _, other := range f.claims[c.folder+"/"+of] {
			if other.use == Replace {
				return &Clash{[2]string{"the backup of", c.role}, [2]string{other.name, c.name}}
			}
		}
	}
	return nil
}

// placeOf is the identity of a file's folder, and its name in it.
func (f *Files) placeOf(path string) (folder, base string) {
	dir, base := filepath.Split(path)
	dir = filepath.Clean(dir + ".")
	folder = dir
	if abs, err := filepath.Abs(dir); err == nil {
		folder = abs
	}
	if st, err := os.Stat(dir); err == nil {
		if id, ok := fileIdentity(st); ok {
			folder = id
		}
	}
	folds, known := f.folding[folder]
	if !known {
		folds = foldsCase(dir)
		if f.folding == nil {
			f.folding = map[string]bool{}
		}
		f.folding[folder] = folds
	}
	if folds {
		base = strings.ToLower(base)
	}
	return folder, base
}

// taken reports whether a place has a role. The caller holds the lock.
func (f *Files) taken(path string) bool {
	folder, base := f.placeOf(path)
	return len(f.claims[folder+"/"+base]) > 0
}

// foldsCase reports whether a folder ignores the case of names. It looks up the other spelling of
// an existing name.
func foldsCase(folder string) bool {
	var names []string
	if d, err := os.Open(folder); err == nil {
		names, _ = d.Readdirnames(16)
		d.Close()
	}
	for _, name := range names {
		if folds, told := otherCase(folder, name); told {
			return folds
		}
	}
	if abs, err := filepath.Abs(folder); err == nil {
		if folds, told := otherCase(filepath.Dir(abs), filepath.Base(abs)); told {
			return folds
		}
	}
	return runtime.GOOS == "darwin" || runtime.GOOS == "windows"
}

// otherCase reports whether the name in the other case leads to the same file; told is false if
// that is unknown.
func otherCase(folder, name string) (folds, told bool) {
	other := strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, name)
	if other == name {
		return false, false
	}
	st, err := os.Lstat(filepath.Join(folder, name))
	if err != nil {
		return false, false
	}
	alias, err := os.Lstat(filepath.Join(folder, other))
	if err != nil {
		return false, errors.Is(err, fs.ErrNotExist)
	}
	return os.SameFile(st, alias), true
}

// maxLinks is how many links may lead from one to the next.
const maxLinks = 40

// Resolve returns where a name leads, through links, also if nothing is there yet.
func Resolve(name string) (string, error) {
	for range maxLinks {
		real, err := filepath.EvalSymlinks(name)
		if err == nil {
			return real, nil
		}
		if _, there := os.Stat(name); there == nil {
			return name, nil // an open pipe, by its name in /proc
		}
		dir, base := filepath.Split(name)
		if !errors.Is(err, fs.ErrNotExist) || base == "" {
			return "", err
		}
		folder, err := filepath.EvalSymlinks(filepath.Clean(dir + "."))
		if err != nil {
			return "", err
		}
		name = filepath.Join(folder, base)
		to, err := os.Readlink(name)
		if err != nil {
			return name, nil // nothing is there
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(folder, to)
		}
		name = to
	}
	return "", &fs.PathError{Op: "resolve", Path: name, Err: errors.New("too many links")}
}
