package agentconf

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// piVendors are the providers of pi with a host of their vendor.
var piVendors = []opencodeVendor{
	{provider: "anthropic", upstream: "anthropic"},
	{provider: "openai", upstream: "openai", version: "/v1"},
	{provider: "google", upstream: "gemini", version: "/v1beta"},
}

// piProvider are the members of a provider in models.json of pi that choose a host.
type piProvider struct {
	BaseURL string `json:"baseUrl"`
	OAuth   string `json:"oauth"`
	Models  []struct {
		BaseURL string `json:"baseUrl"`
	} `json:"models"`
}

// readPi reads models.json of pi (0.87.1). pi reads no variables for hosts. An extension of the
// user or the project can replace a host in ways that Pare cannot read.
func readPi(r *reader) reading {
	home := r.folderOr("PI_CODING_AGENT_DIR", ".pi", "agent")
	f := r.user(home, "models.json")
	var conf struct {
		Providers map[string]piProvider `json:"providers"`
	}
	r.json(f, &conf)
	if conf.Providers == nil {
		conf.Providers = map[string]piProvider{}
	}
	versions := map[string]opencodeVendor{}
	for _, v := range piVendors {
		versions[v.provider] = v
		if _, ok := conf.Providers[v.provider]; !ok {
			conf.Providers[v.provider] = piProvider{}
		}
	}
	registering := r.piExtension(filepath.Join(home, "extensions"), filepath.Join(r.Folder, ".pi", "extensions"))
	var all []endpoint
	for _, id := range slices.Sorted(maps.Keys(conf.Providers)) {
		p, v := conf.Providers[id], versions[id]
		e := endpoint{provider: id, upstream: id, base: f.in(p.BaseURL)}
		if v.provider != "" {
			e.upstream, e.version, e.related = v.upstream, v.version, relatedTo(v.upstream)
		} else if e.base.source == "" {
			continue
		}
		switch {
		case registering != "":
			e.alone = registering + " registers providers, and may name its host"
		case p.OAuth != "":
			e.alone = "its login chooses the host"
		case slices.ContainsFunc(p.Models, func(m struct {
			BaseURL string `json:"baseUrl"`
		}) bool {
			return m.BaseURL != "" && m.BaseURL != p.BaseURL
		}):
			e.alone = "a model has a host of its own"
		case strings.ContainsAny(id, "/?#% \t"):
			e.alone = "its name cannot be part of a path"
		}
		all = append(all, e)
	}
	return reading{all, overridePi}
}

// maxExtensions bounds the files of extensions that are read.
const maxExtensions = 2000

// piExtension returns the path of an extension that registers providers; "" if there is none.
func (r *reader) piExtension(folders ...string) (found string) {
	n := 0
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !slices.Contains([]string{".ts", ".js", ".mjs"}, filepath.Ext(path)) {
				return nil
			}
			if n++; n > maxExtensions {
				found = folder
				return fs.SkipAll
			}
			text, err := os.ReadFile(path)
			if err != nil || bytes.Contains(text, []byte("registerProvider")) {
				found = path
				return fs.SkipAll
			}
			return nil
		})
		if err != nil || found != "" {
			return found
		}
	}
	return found
}

// piCommands are the commands of pi that use no model, and that must be the first argument.
var piCommands = []string{"install", "remove", "uninstall", "update", "list", "config"}

// overridePi adds an extension that replaces the hosts of providers. It modifies the override.
func overridePi(o *Override, in overrideInput) {
	noModel := len(in.command.Args) > 0 && slices.Contains(piCommands, in.command.Args[0])
	if noModel || len(in.bases) == 0 {
		return
	}
	text := "export default function (pi) {\n"
	for _, id := range slices.Sorted(maps.Keys(in.bases)) {
		text += fmt.Sprintf("  pi.registerProvider(%q, { baseUrl: %q });\n", id, in.bases[id])
	}
	path := filepath.Join(in.folder, "pare.mjs")
	o.Files = append(o.Files, File{path, text + "}\n"})
	o.Args = append([]string{"--extension", path}, in.command.Args...)
}
