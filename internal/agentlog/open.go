package agentlog

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// A Stored is a session that was read from disk, with the information of its files from before the
// read. It is not safe for concurrent use.
type Stored struct {
	*Log
	Path  string // of the file, or of the folder with Files
	Files map[string]fs.FileInfo

	mark []byte // the byte order mark, if any
	rows Rows   // nil for files
}

// byteOrderMark precedes the text in files of some editors. It is not part of the first line.
var byteOrderMark = []byte{0xef, 0xbb, 0xbf}

// OpenFile reads a session file from its bytes. info describes the file before it was read and may
// be nil.
func OpenFile(path string, info fs.FileInfo, raw []byte, o Options) (*Stored, error) {
	l, err := Read(path, raw, o)
	if err != nil {
		return nil, err
	}
	s := &Stored{Log: l, Path: path}
	if o.HasByteOrderMark {
		s.mark = byteOrderMark
	}
	if info != nil {
		s.Files = map[string]fs.FileInfo{"": info}
	}
	return s, nil
}

// OpenFolder reads the storage folder of an agent: all sessions, or only the one with the given id.
func OpenFolder(path, session string, o Options) (*Stored, error) {
	seen := &recordingFS{FS: os.DirFS(path), id: session, files: map[string]fs.FileInfo{}}
	o.Format = Auto
	l, err := ReadFolder(seen, o)
	if err != nil {
		return nil, err
	}
	return &Stored{Log: l, Path: path, Files: seen.files}, nil
}

// OpenRows reads a session in a database.
func OpenRows(name string, rows Rows, o Options) (*Stored, error) {
	raw, format, err := rows.Read()
	if err != nil {
		return nil, err
	}
	o.Format = format
	l, err := Read(name, raw, o)
	if err != nil {
		return nil, err
	}
	_, info := rows.File()
	return &Stored{Log: l, Path: name, Files: map[string]fs.FileInfo{"": info}, rows: rows}, nil
}

// Open reads a session that a search has found. Its error wraps [ErrFormat] if the place holds no
// session.
func (x Place) Open(o Options) (*Stored, error) {
	if x.Agent == nil {
		return nil, fmt.Errorf("open a session: %w: the place names no agent; Find makes such places", ErrFormat)
	}
	if x.Rows != nil {
		return OpenRows(x.Path, x.Rows, o)
	}
	if x.Agent.Format == OpenCode {
		return OpenFolder(x.storage(), filepath.Base(x.Path), o)
	}
	f, err := os.Open(x.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	raw := bytes.NewBuffer(make([]byte, 0, int(info.Size())+bytes.MinRead))
	if _, err := raw.ReadFrom(f); err != nil {
		return nil, err
	}
	return x.open(info, raw.Bytes(), o)
}

// open reads the session with the given bytes.
func (x Place) open(info fs.FileInfo, raw []byte, o Options) (*Stored, error) {
	raw, o.HasByteOrderMark = bytes.CutPrefix(raw, byteOrderMark)
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, errEmpty
	}
	o.Format = x.Agent.Format
	if o.Format == Cline && strings.HasSuffix(x.Path, cline3File) {
		o.Format = Cline3
	}
	if x.Agent.sharesFolder {
		if f, ok := Detect(x.Path, raw); !ok || f != x.Agent.Format {
			if x.Agent.onlySessions && jsonspan.Valid(raw) != nil {
				return OpenFile(x.Path, info, raw, o) // a damaged session, which its agent no longer finds
			}
			return nil, ErrFormat
		}
	}
	return OpenFile(x.Path, info, raw, o)
}

// storage returns the opencode folder with the messages of all sessions.
func (x Place) storage() string { return filepath.Dir(filepath.Dir(x.Path)) }

// Newest returns the file of the session that was written last, which is the one a running agent
// writes to. info is nil if the session is not on disk.
func (s *Stored) Newest() (path string, info fs.FileInfo) {
	if s.rows != nil {
		return s.rows.File()
	}
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		if at := s.Files[name]; info == nil || at.ModTime().After(info.ModTime()) {
			path, info = s.file(name), at
		}
	}
	return path, info
}

func (s *Stored) file(name string) string {
	if name == "" {
		return s.Path
	}
	return filepath.Join(s.Path, filepath.FromSlash(name))
}

// Replacements returns the new contents of the files that a fix changes.
func (s *Stored) Replacements(fixed *Fixed) []Replacement {
	if s.rows != nil {
		if bytes.Equal(fixed.Raw, s.Raw()) {
			return nil
		}
		return []Replacement{{Path: s.Path, Raw: fixed.Raw, rows: s.rows, oldRows: s.Raw()}}
	}
	if s.files == nil {
		switch {
		case fixed.RemovedMark:
			return []Replacement{s.replacement("", fixed.Raw)}
		case bytes.Equal(fixed.Raw, s.Raw()):
			return nil
		}
		return []Replacement{s.replacement("", slices.Concat(s.mark, fixed.Raw))}
	}
	var all []Replacement
	for _, f := range fixed.Files {
		all = append(all, s.replacement(f.Path, f.Raw))
	}
	return all
}

func (s *Stored) replacement(name string, raw []byte) Replacement {
	r := Replacement{Path: s.file(name), Raw: raw, OldInfo: s.Files[name]}
	if r.OldInfo != nil {
		r.Modified = r.OldInfo.ModTime()
	}
	if name == "" {
		r.OldContent = s.Raw()
		if len(s.mark) > 0 {
			r.OldContent = slices.Concat(s.mark, r.OldContent)
		}
	}
	return r
}

// IsStorage reports whether a folder is the storage of opencode: a file for each message, in a
// folder for each session.
func IsStorage(folder string) bool {
	if _, err := os.Stat(filepath.Join(folder, "message")); err != nil {
		return false
	}
	sessions, _ := filepath.Glob(filepath.Join(escapeGlob(folder), "message", "*", "*.json"))
	torn := false // a file has a name of opencode but no valid content
	for _, name := range sessions[:min(len(sessions), 4)] {
		raw, err := readFile(name)
		if err != nil {
			continue
		}
		at, ok := wholeObject(raw)
		if !ok {
			torn = torn || strings.HasPrefix(filepath.Base(name), "msg_") && strings.HasPrefix(filepath.Base(filepath.Dir(name)), "ses_")
			continue
		}
		// Not a request.
		if o := objectAt(raw, at); o.Has("sessionID") && !o.Has("messages") && !o.Has("input") && !o.Has("contents") {
			return true
		}
	}
	return torn
}

// readFile reads a regular file. Reading a pipe or device might never end.
func readFile(name string) ([]byte, error) {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return nil, cmp.Or(err, errNoFile)
	}
	return os.ReadFile(name)
}

var errNoFile = errors.New("it is not a regular file")

// escapeGlob returns a pattern that matches only path.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// A recordingFS records the information of each opened file. With an id, it shows only one session
// of an opencode storage, because the rest may be gigabytes.
type recordingFS struct {
	fs.FS
	id    string
	files map[string]fs.FileInfo
}

// Open opens a file and records its information.
func (r *recordingFS) Open(name string) (fs.File, error) {
	f, err := r.FS.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		r.files[name] = info
	}
	return f, nil
}

// ReadDir lists only the messages and parts of the session. Parts are in a folder named after their
// message or, in the older layout, after the session.
func (r *recordingFS) ReadDir(name string) ([]fs.DirEntry, error) {
	names := []string{r.id}
	switch {
	case r.id != "" && name == "message":
	case r.id != "" && name == "part":
		messages, err := fs.ReadDir(r.FS, path.Join("message", r.id))
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			names = append(names, strings.TrimSuffix(m.Name(), ".json"))
		}
	default:
		// Pipes and devices are not messages, and reading them might never end.
		all, err := fs.ReadDir(r.FS, name)
		return slices.DeleteFunc(all, func(d fs.DirEntry) bool {
			info, err := fs.Stat(r.FS, path.Join(name, d.Name()))
			return err == nil && !info.IsDir() && !info.Mode().IsRegular()
		}), err
	}
	var all []fs.DirEntry
	for _, n := range names {
		if info, err := fs.Stat(r.FS, path.Join(name, n)); err == nil {
			all = append(all, fs.FileInfoToDirEntry(info))
		}
	}
	return all, nil
}
