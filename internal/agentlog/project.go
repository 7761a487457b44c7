package agentlog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// Project tells which folder a session is about; "" if nothing does. raw is the content
// of its file.
func (x Place) Project(raw []byte) string {
	folder := filepath.Dir(x.Path)
	if x.Agent == nil {
		return ""
	}
	if x.Rows != nil {
		if at, ok := soleValue(raw); ok {
			o := objectAt(raw, at)
			return cmp.Or(o.Object("info").Text("directory"), o.Text("working_dir"))
		}
		return ""
	}
	switch x.Agent.Format {
	case Cline:
		return workspaceIn(raw)
	case OpenCode:
		return openCodeProject(x)
	case GeminiCLI:
		for ; filepath.Base(filepath.Dir(folder)) != "tmp" && len(folder) > 3; folder = filepath.Dir(folder) {
		}
		if root, err := readFile(filepath.Join(folder, ".project_root")); err == nil {
			return strings.TrimSpace(string(root))
		}
		return filepath.Base(folder)
	}
	if cwd := cwdIn(raw); cwd != "" {
		return cwd
	}
	switch x.Agent.Format {
	case ClaudeCode, Pi:
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
			Data struct {
				Context struct {
					CWD string `json:"cwd"`
				} `json:"context"`
			} `json:"data"`
		}
		_ = json.Unmarshal(line, &l) // a line that does not fit names none
		for _, cwd := range []string{l.CWD, l.Payload.CWD, l.Data.Context.CWD, l.WorkingDir} {
			if cwd != "" {
				return cwd
			}
		}
	}
	return ""
}

// workspace is how Cline and those made from it tell the model where it works.
var workspace = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`Current Work(?:ing|space) Directory \(((?:[^()"\\]|\\\\)+)\)`)
})

// workspaceIn finds the folder that the first messages of a task name.
func workspaceIn(raw []byte) string {
	m := workspace().FindSubmatch(raw[:min(len(raw), 1<<20)])
	if m == nil {
		return ""
	}
	return strings.ReplaceAll(string(m[1]), `\\`, `\`)
}

// openCodeProject reads the file about a session that lies beside its messages; the
// older layout has a folder for each project.
func openCodeProject(x Place) string {
	storage := x.storage()
	found, _ := filepath.Glob(filepath.Join(storage, "session", "*", filepath.Base(x.Path)+".json"))
	for _, name := range found {
		raw, err := readFile(name)
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
