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

// Project returns the folder in which the session works, or "". raw is the content of its file.
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
		// The folder's name has dashes in place of separators, which cannot be distinguished from
		// other dashes.
		return filepath.Base(folder)
	}
	return ""
}

// cwdLines is the number of lines that are searched for the working folder.
const cwdLines = 64

// cwdIn returns the working folder that one of the first lines names.
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
		_ = json.Unmarshal(line, &l) // other lines name none
		for _, cwd := range []string{l.CWD, l.Payload.CWD, l.Data.Context.CWD, l.WorkingDir} {
			if cwd != "" {
				return cwd
			}
		}
	}
	return ""
}

// workspace matches the sentence with which Cline and its derivatives give the model the working
// folder.
var workspace = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`Current Work(?:ing|space) Directory \(((?:[^()"\\]|\\\\)+)\)`)
})

// workspaceIn returns the working folder in the first messages of a task.
func workspaceIn(raw []byte) string {
	m := workspace().FindSubmatch(raw[:min(len(raw), 1<<20)])
	if m == nil {
		return ""
	}
	return strings.ReplaceAll(string(m[1]), `\\`, `\`)
}

// openCodeProject reads the working folder from the session's own file. The older layout has a
// folder for each project.
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
