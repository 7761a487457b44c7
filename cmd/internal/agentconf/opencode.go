package agentconf

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// An opencodeFamily is opencode or a program made from it.
type opencodeFamily struct {
	prefix  string   // of the variables
	folder  string   // below the folders for settings and data
	names   []string // of the settings files, the strongest last
	folders []string // of a project
}

var (
	opencode = opencodeFamily{"OPENCODE", "opencode", []string{"opencode.json", "opencode.jsonc"}, []string{".opencode"}}
	kilo     = opencodeFamily{"KILO", "kilo", []string{"opencode.json", "opencode.jsonc", "kilo.json", "kilo.jsonc"}, []string{".kilocode", ".kilo"}}
)

// opencodeProvider are the members of a provider that choose its host.
type opencodeProvider struct {
	NPM     string `json:"npm"`
	API     string `json:"api"`
	Options struct {
		BaseURL string `json:"baseURL"`
	} `json:"options"`
	Models map[string]struct {
		Provider struct {
			API string `json:"api"`
		} `json:"provider"`
	} `json:"models"`
}

// opencodeVendor is a provider with a host of its vendor.
type opencodeVendor struct {
	provider, upstream, version string
	npm                         string // the adapter whose default host it is
	variable                    string // that the adapter reads; "": none
}

var opencodeVendors = []opencodeVendor{
	{"anthropic", "anthropic", "/v1", "@ai-sdk/anthropic", "ANTHROPIC_BASE_URL"},
	{"openai", "openai", "/v1", "@ai-sdk/openai", "OPENAI_BASE_URL"},
	{"google", "gemini", "/v1beta", "@ai-sdk/google", ""},
}

// read reads the settings of opencode (1.18.33). The order is: OPENCODE_CONFIG_CONTENT,
// OPENCODE_CONFIG_DIR, .opencode in the home folder, .opencode of the project, opencode.json of the
// project, OPENCODE_CONFIG, the files of the user.
func (f opencodeFamily) read(r *reader) reading {
	content := r.Getenv(f.prefix + "_CONFIG_CONTENT")
	sources := f.files(r)
	if content != "" {
		sources = append(sources, &file{path: f.prefix + "_CONFIG_CONTENT", content: []byte(content)})
	}
	merged := map[string]*opencodeMerged{}
	for _, v := range opencodeVendors {
		merged[v.provider] = &opencodeMerged{}
	}
	for _, source := range sources {
		var conf struct {
			Provider map[string]opencodeProvider `json:"provider"`
		}
		r.json(source, &conf)
		for id, p := range conf.Provider {
			if merged[id] == nil {
				merged[id] = &opencodeMerged{}
			}
			merged[id].add(source, p)
		}
	}
	remote := f.hasRemoteSettings(r)
	var all []endpoint
	for _, id := range slices.Sorted(maps.Keys(merged)) {
		if e, ok := merged[id].endpoint(r, id, remote); ok {
			all = append(all, e)
		}
	}
	tree := map[string]any{}
	r.json(&file{path: f.prefix + "_CONFIG_CONTENT", content: []byte(content)}, &tree)
	return reading{all, func(o *Override, in overrideInput) { f.override(o, in, tree) }}
}

// files returns the settings files, the weakest first.
func (f opencodeFamily) files(r *reader) (all []*file) {
	add := func(found *file) {
		if found != nil {
			all = append(all, found)
		}
	}
	config := filepath.Join(r.configHome(), f.folder)
	for _, name := range append([]string{"config.json"}, f.names...) {
		add(r.user(config, name))
	}
	if path := r.Getenv(f.prefix + "_CONFIG"); path != "" {
		if !filepath.IsAbs(path) {
			path = filepath.Join(r.Folder, path)
		}
		add(r.user(path))
	}
	projects := r.foldersUp(isRepository)
	if r.Getenv(f.prefix+"_DISABLE_PROJECT_CONFIG") != "" {
		projects = nil
	}
	for _, dir := range slices.Backward(projects) {
		for _, name := range f.names {
			add(r.project(dir, name))
		}
	}
	for _, dir := range projects {
		for _, folder := range f.folders {
			for _, name := range f.names {
				add(r.open(filepath.Join(dir, folder, name), dir != r.Home))
			}
		}
	}
	var homes []string
	for _, folder := range f.folders {
		homes = append(homes, filepath.Join(r.Home, folder))
	}
	if dir := r.Getenv(f.prefix + "_CONFIG_DIR"); dir != "" {
		homes = append(homes, dir)
	}
	for _, dir := range homes {
		for _, name := range f.names {
			add(r.user(dir, name))
		}
	}
	return all
}

// hasRemoteSettings reports whether the agent loads settings from a server at its start, which
// may name hosts.
func (f opencodeFamily) hasRemoteSettings(r *reader) bool {
	data := r.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) {
		data = filepath.Join(r.Home, ".local", "share")
	}
	var auth map[string]struct {
		Type string `json:"type"`
	}
	r.json(r.user(data, f.folder, "auth.json"), &auth)
	for _, a := range auth {
		if a.Type == "wellknown" {
			return true
		}
	}
	return false
}

// An opencodeMerged is a provider with the strongest settings of all files.
type opencodeMerged struct {
	base, api setting
	npm       string
	modelAPI  bool // a model has a host of its own
}

// add merges a stronger source.
func (m *opencodeMerged) add(f *file, p opencodeProvider) {
	m.base = f.in(p.Options.BaseURL).or(m.base)
	m.api = f.in(p.API).or(m.api)
	if p.NPM != "" {
		m.npm = p.NPM
	}
	for _, model := range p.Models {
		m.modelAPI = m.modelAPI || model.Provider.API != ""
	}
}

// endpoint returns the endpoint of a provider. ok is false for a provider that Pare does not
// need to know: nothing names its host, and it is none of the vendors.
func (m *opencodeMerged) endpoint(r *reader, id string, remote bool) (e endpoint, ok bool) {
	e = endpoint{provider: id, upstream: id, base: m.base.or(m.api)}
	i := slices.IndexFunc(opencodeVendors, func(v opencodeVendor) bool { return v.provider == id })
	if i >= 0 {
		v := opencodeVendors[i]
		e.upstream, e.version, e.related = v.upstream, v.version, relatedTo(v.upstream, v.variable)
		if e.base.source == "" && v.variable != "" {
			e.base = r.variable(v.variable)
		}
		if e.base.source == "" && m.npm != "" && m.npm != v.npm {
			e.alone = "its adapter is " + m.npm
		}
	}
	e.base.url = r.expanded(e.base.url)
	switch {
	case i < 0 && e.base.source == "", strings.HasPrefix(id, "amazon-bedrock"):
		return e, false // requests to Bedrock are signed for their host
	case m.base.source == "" && m.modelAPI:
		e.alone = "a model has a host of its own"
	case e.base.source == "" && remote:
		e.alone = "the agent loads settings from a server, which may name its host; use --upstream " + e.upstream + "=URL"
	case strings.Contains(e.base.url, "{file:") || strings.Contains(e.base.url, "${"):
		e.alone = "its base URL contains a reference"
	case strings.ContainsAny(id, "/?#% \t"):
		e.alone = "its name cannot be part of a path"
	}
	return e, true
}

var (
	variableReference = regexp.MustCompile(`\{env:([^}]+)\}|\$\{([^}]+)\}`)
)

// expanded returns an address with the references to variables that are set replaced.
func (r *reader) expanded(address string) string {
	return variableReference.ReplaceAllStringFunc(address, func(reference string) string {
		m := variableReference.FindStringSubmatch(reference)
		if m[1] != "" {
			return r.Getenv(m[1])
		}
		if v := r.Getenv(m[2]); v != "" {
			return v
		}
		return reference
	})
}

// override adds the base URLs to the settings in the variable, which beat those of all files. It
// modifies the override and the tree.
func (f opencodeFamily) override(o *Override, in overrideInput, tree map[string]any) {
	if len(in.bases) == 0 {
		return
	}
	for id, base := range in.bases {
		member(member(member(tree, "provider"), id), "options")["baseURL"] = base
	}
	text, err := json.Marshal(tree)
	if err != nil {
		panic(err) // it was parsed from JSON
	}
	o.Env = append(o.Env, Variable{f.prefix + "_CONFIG_CONTENT", string(text)})
}

// member returns an object in an object, and adds it if it is missing.
func member(tree map[string]any, name string) map[string]any {
	m, ok := tree[name].(map[string]any)
	if !ok {
		m = map[string]any{}
		tree[name] = m
	}
	return m
}
