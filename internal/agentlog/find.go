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

// A Search selects the sessions to look for.
type Search struct {
	Home             string              // the home folder
	Getenv           func(string) string // returns variables that move agents' folders; may be nil
	Agents           []string            // names of agents; empty means all
	IncludeSecondary bool                // include archived sessions and those of sub-agents
	Since            time.Time           // include only files modified since then
	// Databases lists the sessions of a database. If it is nil or returns [ErrFormat], the search
	// reports the database as unreadable.
	Databases func(a *Agent, path string) ([]Place, error)
}

// A Place is the location of a session or of a store of sessions.
type Place struct {
	Agent *Agent
	Path  string
	Info  fs.FileInfo // of the file, or of the newest message of a folder
	Bytes int64
	// Client is the installed version of the agent, for files without a version.
	Client string
	Rows   Rows // of a session in a database; nil for files and folders
}

// Rows is a session in a database. A program with a database driver implements it. It presents a
// session as the document that the agent would export. It is not safe for concurrent use.
type Rows interface {
	// Read returns the session and the format of the document.
	Read() (document []byte, format Format, err error)
	// Write changes the session from was to now in one transaction and returns the name of the
	// backup. It fails if the session no longer equals was.
	Write(was, now []byte) (backup string, err error)
	// File returns the database, or the file next to it that was written last.
	File() (path string, info fs.FileInfo)
}

// Found is the result of a search.
type Found struct {
	Sessions   []Place
	Unreadable []Place         // stores that cannot be read
	Failed     []*fs.PathError // folders that cannot be read
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

// Folders returns the folders in which a search looks for the sessions of an agent, existing or
// not.
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

// A finder is a search in progress.
type finder struct {
	Search
	Found
}

// findSessions adds all sessions of an agent, sorted by path.
func (f *finder) findSessions(agent *Agent) {
	patterns := agent.files
	if f.IncludeSecondary {
		patterns = slices.Concat(agent.files, agent.secondary)
	}
	seen := map[string]bool{} // a variable may map two patterns to one place
	first := len(f.Sessions)
	for _, p := range patterns {
		folder, rest := f.root(p)
		f.match(folder, rest, func(name string) {
			if x, ok := sessionAt(agent, name); ok && !seen[name] && !atomicfile.IsBackup(name) {
				seen[name] = true
				f.Sessions = append(f.Sessions, x)
			}
		})
	}
	slices.SortFunc(f.Sessions[first:], func(agent, b Place) int { return cmp.Compare(agent.Path, b.Path) })
	for _, p := range agent.unreadable {
		f.stores(agent, p, seen, func(name string, info fs.FileInfo) {
			f.Unreadable = append(f.Unreadable, Place{Agent: agent, Path: name, Info: info})
		})
	}
	for _, p := range agent.databases {
		f.stores(agent, p, seen, func(name string, info fs.FileInfo) { f.database(agent, name, info) })
	}
}

// stores calls visit once for each store that matches a pattern.
func (f *finder) stores(a *Agent, pattern string, seen map[string]bool, visit func(name string, info fs.FileInfo)) {
	folder, rest := f.root(pattern)
	f.match(folder, rest, func(name string) {
		if info, err := os.Stat(name); err == nil && !seen[name] {
			seen[name] = true
			visit(name, info)
		}
	})
}

// database adds the sessions of a database.
func (f *finder) database(a *Agent, name string, info fs.FileInfo) {
	var all []Place
	err := ErrFormat
	if f.Databases != nil {
		all, err = f.Databases(a, name)
	}
	if errors.Is(err, ErrFormat) {
		f.Unreadable = append(f.Unreadable, Place{Agent: a, Path: name, Info: info})
	} else if err != nil {
		f.Failed = append(f.Failed, &fs.PathError{Op: "read", Path: name, Err: err})
	}
	f.Sessions = append(f.Sessions, all...)
}

// root returns the folder that a pattern is relative to, and the rest of the pattern. The folder is
// the home folder unless a variable moves it.
func (f *finder) root(pattern string) (folder, rest string) {
	for _, m := range folderOverrides {
		below, inside := strings.CutPrefix(pattern, m.folder+"/")
		if to := f.variable(m.variable); inside && to != "" {
			return filepath.Join(to, m.below), below
		}
	}
	return f.Home, pattern
}

// variable returns an environment variable.
func (f *finder) variable(name string) string {
	if f.Getenv == nil {
		return ""
	}
	return f.Getenv(name)
}

// match calls visit for each path that matches a pattern. Unlike filepath.Glob, it records folders
// that cannot be read.
func (f *finder) match(folder, pattern string, visit func(string)) {
	name, rest, more := strings.Cut(pattern, "/")
	next := func(name string) {
		if more {
			f.match(filepath.Join(folder, name), rest, visit)
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
		!slices.ContainsFunc(f.Failed, func(e *fs.PathError) bool { return e.Path == failed.Path }) {
		f.Failed = append(f.Failed, failed)
	}
	for _, e := range entries {
		if ok, _ := path.Match(name, e.Name()); ok {
			next(e.Name())
		}
	}
}

// sessionAt returns the session at a path, or false if there is none.
func sessionAt(a *Agent, name string) (Place, bool) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return Place{}, false // just deleted
	case a.Format == OpenCode:
		return folderSession(a, name, info)
	case !info.Mode().IsRegular():
		return Place{}, false
	}
	return Place{Agent: a, Path: name, Info: info, Bytes: info.Size()}, true
}

// folderSession returns the session whose messages are files in a folder. Its time is that of the
// newest message.
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
