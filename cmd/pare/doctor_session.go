package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/pare-llm/pare/agentlog"
	"github.com/pare-llm/pare/wire"
)

// A diagnosis is what is known of a session once it was read. It keeps no byte of the
// file, so that there may be many.
type diagnosis struct {
	session
	project  string // the folder that was worked in; "" if nothing tells
	modified time.Time
	tally    agentlog.Tally
	faults   []fault
	err      error // why it cannot be read
	foreign  bool  // it is no session at all

	mended bool
	backup string
	left   []fault // what could not be mended
	why    string  // it was not mended
}

// A fault is one finding, for --json and for the list.
type fault struct {
	Rule    string `json:"rule"`
	File    string `json:"file,omitempty"` // where a session has many
	Line    int    `json:"line"`
	Message string `json:"message"`
}

func faultsOf(found []agentlog.Finding) []fault {
	all := make([]fault, 0, len(found))
	for _, f := range found {
		// Clones, because the strings of a finding may be bytes of the file.
		all = append(all, fault{f.Rule, strings.Clone(f.File), f.Line, strings.Clone(f.Message)})
	}
	return all
}

// broken reports whether the session has faults that are still there.
func (d *diagnosis) broken() bool {
	if d.mended {
		return len(d.left) > 0
	}
	return len(d.faults) > 0
}

// diagnose reads and checks a session.
func diagnose(x session) (d *diagnosis) {
	d = &diagnosis{session: x, modified: x.info.ModTime()}
	// A bug that one session meets must not cost the others.
	defer func() {
		if p := recover(); p != nil {
			d.err = fmt.Errorf("pare has met a bug of its own: %v", p)
		}
	}()
	defer frugal(int(x.bytes))()
	l, newest, err := x.read()
	if err != nil {
		d.foreign = errors.Is(err, agentlog.ErrFormat)
		d.err = err
		return d
	}
	d.modified = newest.info.ModTime()
	d.bytes = int64(len(l.Raw()))
	d.project = projectOf(x, l.Raw())
	d.tally = l.Tally()
	d.faults = faultsOf(l.Check(wire.CheckOptions{}))
	return d
}

// A writtenFile is the file of a session that was written to last.
type writtenFile struct {
	path string
	info fs.FileInfo
}

// read reads all of a session.
func (x session) read() (*agentlog.Log, writtenFile, error) {
	if x.agent.format == agentlog.OpenCode {
		files := &oneSession{FS: os.DirFS(x.storage()), id: filepath.Base(x.path)}
		l, err := agentlog.ReadFolder(files, agentlog.Options{})
		files.newest.path = filepath.Join(x.storage(), filepath.FromSlash(files.newest.path))
		return l, files.newest, err
	}
	l, err := x.readFile()
	return l, writtenFile{x.path, x.info}, err
}

func (x session) readFile() (*agentlog.Log, error) {
	raw, err := os.ReadFile(x.path)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, agentlog.ErrFormat // begun, and nothing said yet
	}
	if !x.agent.mixed {
		return agentlog.Read(x.path, raw, agentlog.Options{Format: x.agent.format})
	}
	if f, ok := agentlog.Detect(x.path, raw); !ok || f != x.agent.format {
		return nil, agentlog.ErrFormat
	}
	return agentlog.Read(x.path, raw, agentlog.Options{})
}

// storage is the folder of opencode in which the messages of all sessions lie.
func (x session) storage() string { return filepath.Dir(filepath.Dir(x.path)) }

// oneSession shows, of the storage of opencode, one session: the rest may be gigabytes.
type oneSession struct {
	fs.FS
	id     string
	newest writtenFile // of those that were opened
}

// Open opens a file, and looks how old it is.
func (o *oneSession) Open(name string) (fs.File, error) {
	f, err := o.FS.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() && (o.newest.info == nil || info.ModTime().After(o.newest.info.ModTime())) {
		o.newest = writtenFile{name, info}
	}
	return f, nil
}

// ReadDir lists messages and parts of the session alone. A part lies in a folder named
// after its message or, in the older layout, after the session.
func (o *oneSession) ReadDir(name string) ([]fs.DirEntry, error) {
	names := []string{o.id}
	switch name {
	case "message":
	case "part":
		messages, err := fs.ReadDir(o.FS, path.Join("message", o.id))
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			names = append(names, strings.TrimSuffix(m.Name(), ".json"))
		}
	default:
		return fs.ReadDir(o.FS, name)
	}
	var all []fs.DirEntry
	for _, n := range names {
		if info, err := fs.Stat(o.FS, path.Join(name, n)); err == nil {
			all = append(all, fs.FileInfoToDirEntry(info))
		}
	}
	return all, nil
}

// projectOf tells which folder a session is about.
func projectOf(x session, raw []byte) string {
	folder := filepath.Dir(x.path)
	switch x.agent.format {
	case agentlog.Cline:
		return workspaceIn(raw)
	case agentlog.OpenCode:
		return openCodeProject(x)
	case agentlog.GeminiCLI:
		for ; filepath.Base(filepath.Dir(folder)) != "tmp" && len(folder) > 3; folder = filepath.Dir(folder) {
		}
		if root, err := os.ReadFile(filepath.Join(folder, ".project_root")); err == nil {
			return strings.TrimSpace(string(root))
		}
		return filepath.Base(folder)
	}
	if cwd := cwdIn(raw); cwd != "" {
		return cwd
	}
	switch x.agent.format {
	case agentlog.ClaudeCode, agentlog.Pi:
		// The name is the folder's with every separator as a dash, which cannot be
		// told from other dashes.
		return filepath.Base(folder)
	}
	return ""
}

// cwdLines is how many lines are searched for the folder that was worked in.
const cwdLines = 64

// cwdIn finds the folder that the first lines of a session name.
func cwdIn(raw []byte) string {
	n := 0
	for line := range bytes.Lines(raw) {
		if n++; n > cwdLines {
			break
		}
		if !bytes.Contains(line, []byte(`cwd"`)) && !bytes.Contains(line, []byte(`working_dir"`)) {
			continue
		}
		var l struct {
			CWD        string `json:"cwd"`
			WorkingDir string `json:"working_dir"`
			Payload    struct {
				CWD string `json:"cwd"`
			} `json:"payload"`
		}
		_ = json.Unmarshal(line, &l) // a line that does not fit names none
		for _, cwd := range []string{l.CWD, l.Payload.CWD, l.WorkingDir} {
			if cwd != "" {
				return cwd
			}
		}
	}
	return ""
}

// workspace is how Cline and those made from it tell the model where it works.
var workspace = regexp.MustCompile(`Current Work(?:ing|space) Directory \(((?:[^()"\\]|\\\\)+)\)`)

// workspaceIn finds the folder that the first messages of a task name.
func workspaceIn(raw []byte) string {
	m := workspace.FindSubmatch(raw[:min(len(raw), 1<<20)])
	if m == nil {
		return ""
	}
	return strings.ReplaceAll(string(m[1]), `\\`, `\`)
}

// openCodeProject reads the file about a session that lies beside its messages; the
// older layout has a folder for each project.
func openCodeProject(x session) string {
	storage := x.storage()
	found, _ := filepath.Glob(filepath.Join(storage, "session", "*", filepath.Base(x.path)+".json"))
	for _, name := range found {
		raw, err := os.ReadFile(name)
		var about struct{ Directory string }
		if err == nil && json.Unmarshal(raw, &about) == nil && about.Directory != "" {
			return about.Directory
		}
	}
	if filepath.Base(storage) == "session" {
		return filepath.Base(filepath.Dir(filepath.Dir(storage)))
	}
	return ""
}
