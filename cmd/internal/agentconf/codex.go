package agentconf

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// codexConfig are the members of config.toml of Codex that choose a host.
type codexConfig struct {
	OpenAIBaseURL  string `toml:"openai_base_url"`
	ModelProviders map[string]struct {
		BaseURL string `toml:"base_url"`
	} `toml:"model_providers"`
	CredentialStore string `toml:"cli_auth_credentials_store"`
}

// codexFlags are the flags with which Codex takes a setting.
var codexFlags = []string{"-c", "--config"}

// readCodex reads the settings of Codex (0.166.0). The order is: -c arguments, the profile,
// config.toml of the user, config.toml of the system. Codex ignores hosts in the config.toml of
// a project.
func readCodex(r *reader) reading {
	home := r.folderOr("CODEX_HOME", ".codex")
	files := []*file{r.user(systemFolder("/etc/codex", "/etc/codex", `C:\ProgramData\OpenAI\Codex`), "config.toml"), r.user(home, "config.toml")}
	if profile, ok := flagValue(r.command.Args, "-p", "--profile"); ok && !strings.ContainsAny(profile.value, `/\`) {
		files = append(files, r.user(home, profile.value+".config.toml"))
	}
	openai, custom, store := setting{}, map[string]setting{}, ""
	for _, f := range files {
		var c codexConfig
		r.toml(f, &c)
		openai = f.in(c.OpenAIBaseURL).or(openai)
		for id, p := range c.ModelProviders {
			custom[id] = f.in(p.BaseURL).or(custom[id])
		}
		if c.CredentialStore != "" {
			store = c.CredentialStore
		}
	}
	replaced := r.codexArguments(&openai, custom)
	e := endpoint{provider: "openai", upstream: "openai", version: "/v1", base: openai, related: relatedTo("openai")}
	switch login := r.codexLogin(home); {
	case openai.source != "":
	case login && !slices.Contains(r.given, "openai"):
		e.upstream, e.version = "chatgpt", ""
	case store != "" && store != "file" && r.Getenv("CODEX_API_KEY") == "":
		e.alone = "its login is not in a file, so that its host is unknown; use --upstream openai=URL"
	}
	all := []endpoint{e}
	for _, id := range slices.Sorted(maps.Keys(custom)) {
		e := endpoint{provider: id, upstream: id, base: custom[id]}
		switch {
		case e.base.source == "" || strings.HasPrefix(id, "amazon-bedrock"):
			continue // requests to Bedrock are signed for their host
		case strings.ContainsAny(id, "./?#% \t\"'"):
			e.alone = "its name cannot be part of a -c argument"
		}
		all = append(all, e)
	}
	return reading{all, func(o *Override, in overrideInput) { overrideCodex(o, in, replaced) }}
}

// codexArguments adds the settings of the -c arguments that name hosts to the settings of the
// files, and returns these arguments. It modifies openai and custom.
func (r *reader) codexArguments(openai *setting, custom map[string]setting) (found []argument) {
	for _, a := range flagArguments(r.command.Args, codexFlags...) {
		key, value, ok := strings.Cut(a.value, "=")
		var c struct {
			V string `toml:"v"`
		}
		if !ok || toml.Unmarshal([]byte("v = "+value), &c) != nil {
			c.V = value // Codex takes a value that is no TOML as text
		}
		s := setting{url: c.V, source: a.flag + " " + key}
		id, isBase := strings.CutSuffix(strings.TrimPrefix(key, "model_providers."), ".base_url")
		switch {
		case key == "openai_base_url":
			*openai = s
		case isBase && id != key:
			custom[id] = s
		default:
			continue
		}
		found = append(found, a)
	}
	return found
}

// codexLogin reports whether Codex uses the login of a person, whose requests go to another
// host than those with a key.
func (r *reader) codexLogin(home string) bool {
	var auth struct {
		Key    *string         `json:"OPENAI_API_KEY"`
		Tokens json.RawMessage `json:"tokens"`
	}
	r.json(r.user(home, "auth.json"), &auth)
	return auth.Key == nil && len(auth.Tokens) > len("null") && r.Getenv("CODEX_API_KEY") == ""
}

// overrideCodex puts -c arguments before those of the user, in the place of the arguments that
// name hosts. It modifies the override.
func overrideCodex(o *Override, in overrideInput, replaced []argument) {
	if len(in.bases) == 0 {
		return
	}
	var args []string
	for _, id := range slices.Sorted(maps.Keys(in.bases)) {
		key := "model_providers." + id + ".base_url"
		if id == "openai" {
			key = "openai_base_url"
		}
		args = append(args, "-c", fmt.Sprintf("%s=%q", key, in.bases[id]))
	}
	var drop []argument
	for _, a := range replaced {
		key, _, _ := strings.Cut(a.value, "=")
		id := strings.TrimSuffix(strings.TrimPrefix(key, "model_providers."), ".base_url")
		if key == "openai_base_url" {
			id = "openai"
		}
		if in.bases[id] != "" {
			drop = append(drop, a)
		}
	}
	o.Args = append(args, withoutArguments(in.command.Args, drop)...)
}
