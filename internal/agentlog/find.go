package agentlog

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pare-llm/pare/internal/atomicfile"
)

// A Search says where sessions are looked for. Many goroutines may read it.
type Search struct {
	Home   string              // the home folder
	Getenv func(string) string // says where agents keep their folders instead; nil: nothing does
	Agents []string            // names of the agents; none: all
	Aside  bool                // look for sessions that are not resumed by themselves, too
	Since  time.Time           // only what was written to since then
	// Databases opens a database in which an agent keeps its sessions, and lists them. nil: they
	// are not read, and found as what cannot be read; so is one for which it returns [ErrFormat].
	Databases func(a *Agent, path string) ([]Place, error)
}

// A Place is where a session, or a store of sessions, lies. Many goroutines may read it.
type Place struct {
	Agent *Agent
	Path  string
	Info  fs.FileInfo // of the file, or of the newest message of a folder
	Bytes int64
	// Client is the version of the agent that is installed, for files that do not name one.
	Client string
	Rows   Rows // of a session in a database; nil: it is a file or a folder
}

// Rows is a session in a database. The package brings no driver along: a program that has one says
// how a session is read and written, as the one document that its agent would export. One goroutine
// at a time may use it.
type Rows interface {
	// Read returns the session, and the file of the database as it was before that.
	Read() (document []byte, format Format, err error)
	// Write makes the session what now says, if it still is what was says, in one transaction,
	// and returns where the rows are kept that have changed.
	Write(was, now []byte) (backup string, err error)
	// File is the database, or the file beside it that was written to last.
	File() (path string, info fs.FileInfo)
}

// Found is what a search has found. Many goroutines may read it.
type Found struct {
	Sessions []Place
	Unread   []Place         // stores that cannot be read
	Failed   []*fs.PathError // folders that cannot be read
}

// Find looks for the sessions of agents, sorted by agent and path.
func Find(s Search) *Found {
	f := &finder{Search: s}
	for i := range agents {
		if len(s.Agents) == 0 || slices.Contains(s.Agents, agents[i].Name) {
			f.findSessions(&agents[i])
		}
	}
	if !s.Since.IsZero() {
		f.Sessions = slices.DeleteFunc(f.Sessions, func(p Place) bool { return p.Info.ModTime().Before(s.Since) })
	}
	return &f.Found
}

// Folders are where a search looks for the sessions of an agent, whether they are there or not.
func Folders(s Search, a *Agent) (all []string) {
	f := &finder{Search: s}
	for _, p := range slices.Concat(a.files, a.databases) {
		folder, rest := f.root(p)
		for name := range strings.SplitSeq(rest, "/") {
			if strings.Contains(name, "*") {
				break
			}
			folder = filepath.Join(folder, name)
		}
		if !slices.Contains(all, folder) {
			all = append(all, folder)
		}
	}
	return all
}

// A finder is one search.
type finder struct {
	Search
	Found
}

// findSessions finds all sessions of an agent, sorted by path.
func (s *finder) findSessions(a *Agent) {
	patterns := a.files
	if s.Aside {
		patterns = slices.Concat(a.files, a.secondary)
	}
	seen := map[string]bool{} // a variable may lead two patterns to one place
	first := len(s.Sessions)
	for _, p := range patterns {
		folder, rest := s.root(p)
		s.match(folder, rest, func(name string) {
			if x, ok := sessionAt(a, name); ok && !seen[name] && !atomicfile.IsBackup(name) {
				seen[name] = true
				s.Sessions = append(s.Sessions, x)
			}
		})
	}
	slices.SortFunc(s.Sessions[first:], func(a, b Place) int { return cmp.Compare(a.Path, b.Path) })
	for _, p := range a.unreadable {
		s.stores(a, p, seen, func(name string, info fs.FileInfo) {
			s.Unread = append(s.Unread, Place{Agent: a, Path: name, Info: info})
		})
	}
	for _, p := range a.databases {
		s.stores(a, p, seen, func(name string, info fs.FileInfo) { s.database(a, name, info) })
	}
}

// stores visits the stores that a pattern stands for, each once.
func (s *finder) stores(a *Agent, pattern string, seen map[string]bool, visit func(name string, info fs.FileInfo)) {
	folder, rest := s.root(pattern)
	s.match(folder, rest, func(name string) {
		if info, err := os.Stat(name); err == nil && !seen[name] {
			seen[name] = true
			visit(name, info)
		}
	})
}

// database finds the sessions in a database.
func (s *finder) database(a *Agent, name string, info fs.FileInfo) {
	var all []Place
	err := ErrFormat
	if s.Databases != nil {
		all, err = s.Databases(a, name)
	}
	if errors.Is(err, ErrFormat) {
		s.Unread = append(s.Unread, Place{Agent: a, Path: name, Info: info})
	} else if err != nil {
		s.Failed = append(s.Failed, &fs.PathError{Op: "read", Path: name, Err: err})
	}
	s.Sessions = append(s.Sessions, all...)
}

// root puts a pattern below the home folder, or where it was moved to, and returns the
// folder and what is to be matched below it.
func (s *finder) root(pattern string) (folder, rest string) {
	for _, m := range folderOverrides {
		below, inside := strings.CutPrefix(pattern, m.folder+"/")
		if to := s.variable(m.variable); inside && to != "" {
			return filepath.Join(to, m.below), below
		}
	}
	return s.Home, pattern
}

// variable returns what the environment says.
func (s *finder) variable(name string) string {
	if s.Getenv == nil {
		return ""
	}
	return s.Getenv(name)
}

// match calls visit with everything that a pattern stands for. Unlike filepath.Glob it
// tells of folders that cannot be read.
func (s *finder) match(folder, pattern string, visit func(string)) {
	name, rest, more := strings.Cut(pattern, "/")
	next := func(name string) {
		if more {
			s.match(filepath.Join(folder, name), rest, visit)
			return
		}
		visit(filepath.Join(folder, name))
	}
	if !strings.Contains(name, "*") {
		next(name)
		return
	}
	entries, err := os.ReadDir(folder)
	var failed *fs.PathError
	if errors.As(err, &failed) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) &&
		!slices.ContainsFunc(s.Failed, func(e *fs.PathError) bool { return e.Path == failed.Path }) {
		s.Failed = append(s.Failed, failed)
	}
	for _, e := range entries {
		if ok, _ := path.Match(name, e.Name()); ok {
			next(e.Name())
		}
	}
}

// sessionAt returns the session at a path that a pattern has matched, or false if there
// is none.
func sessionAt(a *Agent, name string) (Place, bool) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return Place{}, false // it has just gone
	case a.Format == OpenCode:
		return folderSession(a, name, info)
	case !info.Mode().IsRegular():
		return Place{}, false
	}
	return Place{Agent: a, Path: name, Info: info, Bytes: info.Size()}, true
}

// folderSession returns the session whose messages lie in a folder. Its time is that of
// the newest message.
func folderSession(a *Agent, name string, info fs.FileInfo) (Place, bool) {
	entries, err := os.ReadDir(name)
	if err != nil || len(entries) == 0 {
		return Place{}, false
	}
	x := Place{Agent: a, Path: name, Info: info}
	for _, e := range entries {
		if i, err := e.Info(); err == nil && i.Mode().IsRegular() {
			x.Bytes += i.Size()
			if x.Info.IsDir() || i.ModTime().After(x.Info.ModTime()) {
				x.Info = i
			}
		}
	}
	return x, true
}
