package agentconf

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
)

const claudeVariable = "ANTHROPIC_BASE_URL"

// claudeSettings are the members of settings.json of Claude Code that choose a host.
type claudeSettings struct {
	Env map[string]any `json:"env"`
}

// readClaude reads the settings of Claude Code (2.1.325). The order is: managed settings,
// argument, local settings of the repository and of the folder, settings of the folder, settings
// of the user, variable.
func readClaude(r *reader) reading {
	files := r.claudeManaged()
	managed := len(files)
	inline, path := r.claudeArgument()
	files = append(files, inline, r.project(r.repository(), ".claude", "settings.local.json"), r.project(r.Folder, ".claude", "settings.local.json"),
		r.project(r.Folder, ".claude", "settings.json"), r.user(r.folderOr("CLAUDE_CONFIG_DIR", ".claude"), "settings.json"))
	e := endpoint{provider: claudeVariable, upstream: "anthropic", related: relatedTo("anthropic", claudeVariable)}
	for i, f := range files {
		var s claudeSettings
		r.json(f, &s)
		address, _ := s.Env[claudeVariable].(string)
		if address == "" || e.base.source != "" {
			continue
		}
		e.base = f.in(address)
		if f == inline && path == "" {
			e.base = setting{url: address, source: "--settings"}
		}
		if i < managed {
			e.alone = f.path + " sets " + claudeVariable + ", which no other setting replaces"
		}
	}
	if e.base.source == "" {
		e.base = r.variable(claudeVariable)
		return reading{[]endpoint{e}, overrideVariables}
	}
	return reading{[]endpoint{e}, func(o *Override, in overrideInput) { overrideClaude(o, in, r.claudeTree(inline)) }}
}

// claudeTree returns all settings of an argument.
func (r *reader) claudeTree(inline *file) map[string]any {
	settings := map[string]any{}
	r.json(inline, &settings)
	return settings
}

// claudeManaged returns the settings files of the administrator, the strongest first.
func (r *reader) claudeManaged() (all []*file) {
	folder := systemFolder("/etc/claude-code", "/Library/Application Support/ClaudeCode", `C:\Program Files\ClaudeCode`)
	extra, err := filepath.Glob(filepath.Join(folder, "managed-settings.d", "*.json"))
	if err != nil {
		return nil // the pattern is constant
	}
	slices.Reverse(extra)
	for _, path := range append(extra, filepath.Join(folder, "managed-settings.json")) {
		if f := r.user(path); f != nil {
			all = append(all, f)
		}
	}
	return all
}

// claudeArgument returns the settings of the last --settings argument, and the path if they are
// a file.
func (r *reader) claudeArgument() (f *file, path string) {
	a, ok := flagValue(r.command.Args, "--settings")
	if !ok {
		return nil, ""
	}
	if strings.HasPrefix(strings.TrimSpace(a.value), "{") {
		return &file{path: "--settings", content: []byte(a.value)}, ""
	}
	path = a.value
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.Folder, path)
	}
	return r.user(path), path
}

// repository returns the top of the repository of the working folder, or the working folder.
func (r *reader) repository() string {
	dirs := r.foldersUp(isRepository)
	if top := dirs[len(dirs)-1]; isRepository(top) {
		return top
	}
	return r.Folder
}

// overrideClaude sets the variable, and the --settings argument, which replaces the variable in
// all settings files of the user and the project. The settings in an argument of the user stay.
// It modifies the override and the settings.
func overrideClaude(o *Override, in overrideInput, settings map[string]any) {
	base := in.bases[claudeVariable]
	if base == "" {
		return
	}
	member(settings, "env")[claudeVariable] = base
	text, err := json.Marshal(settings)
	if err != nil {
		panic(err) // the settings were parsed from JSON
	}
	o.Env = append(o.Env, Variable{claudeVariable, base})
	args := withoutArguments(in.command.Args, flagArguments(in.command.Args, "--settings"))
	o.Args = append([]string{"--settings", string(text)}, args...)
}
