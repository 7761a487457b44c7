package agentconf

import (
	"path/filepath"
	"slices"
)

// variableEndpoint returns the endpoint of a variable that an agent reads, with the settings that
// the agent uses if the variable is not set.
func (r *reader) variableEndpoint(name string, below ...setting) endpoint {
	v := vendorVariables[slices.IndexFunc(vendorVariables, func(v vendorVariable) bool { return v.name == name })]
	base := r.variable(name)
	for _, b := range below {
		base = base.or(b)
	}
	return endpoint{provider: name, upstream: v.upstream, version: v.version, base: base, related: relatedTo(v.upstream, name)}
}

// readGemini reads the variables of Gemini CLI (0.61.0). A variable that is not set comes from
// the first .env file: .gemini/.env or .env in the working folder or above it, then in the home
// folder.
func readGemini(r *reader) reading {
	f := r.firstDotenv(".gemini")
	values := assignments(f, "=")
	var all []endpoint
	for _, name := range []string{"GOOGLE_GEMINI_BASE_URL", "CODE_ASSIST_ENDPOINT"} {
		all = append(all, r.variableEndpoint(name, f.in(values[name])))
	}
	return reading{all, overrideVariables}
}

// firstDotenv returns the first .env file of the working folder and the folders above it, and
// then of the home folder. In each folder, the file in the folder of the agent comes first.
func (r *reader) firstDotenv(folder string) *file {
	for _, dir := range r.foldersUp(never) {
		for _, path := range []string{filepath.Join(dir, folder, ".env"), filepath.Join(dir, ".env")} {
			if f := r.open(path, dir != r.Home); f != nil {
				return f
			}
		}
	}
	if f := r.user(r.Home, folder, ".env"); f != nil {
		return f
	}
	return r.user(r.Home, ".env")
}

// qwenSettings are the members of settings.json of Qwen Code that choose a host.
type qwenSettings struct {
	Env      map[string]any
	Security struct {
		Auth struct {
			BaseURL string `json:"baseUrl"`
		}
	}
}

// readQwen reads the settings of Qwen Code (0.24.4). The order is: argument, variable, .env
// files, env in settings.json, security.auth.baseUrl in settings.json. Models in modelProviders
// name their own hosts, which a variable does not replace.
func readQwen(r *reader) reading {
	home := r.folderOr("QWEN_HOME", ".qwen")
	system := systemFolder("/etc/qwen-code", "/Library/Application Support/QwenCode", `C:\ProgramData\qwen-code`)
	layers := []*file{r.user(system, "settings.json"), r.project(r.Folder, ".qwen", "settings.json"), r.user(home, "settings.json"), r.user(system, "system-defaults.json")}
	var below []map[string]setting
	dotenv := []*file{r.projectDotenv(".qwen"), r.user(home, ".env"), r.user(r.Home, ".qwen", ".env"), r.user(r.Home, ".env")}
	for _, f := range dotenv {
		below = append(below, settingsIn(f, assignments(f, "=")))
	}
	var auth setting
	for _, f := range layers {
		var s qwenSettings
		r.json(f, &s)
		values := map[string]string{}
		for name, v := range s.Env {
			if text, ok := v.(string); ok {
				values[name] = text
			}
		}
		below = append(below, settingsIn(f, values))
		auth = auth.or(f.in(s.Security.Auth.BaseURL))
	}
	var all []endpoint
	for _, name := range []string{"OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"} {
		var order []setting
		for _, m := range below {
			order = append(order, m[name])
		}
		e := r.variableEndpoint(name, append(order, auth)...)
		if name == "ANTHROPIC_BASE_URL" && e.base.source == "" {
			continue // without it, Qwen Code does not speak to Anthropic
		}
		if value, ok := flagValue(r.command.Args, "--openai-base-url", "--openaiBaseUrl"); ok && name == "OPENAI_BASE_URL" {
			e.alone = "the argument " + value.flag + " names the host"
		}
		all = append(all, e)
	}
	return reading{all, overrideVariables}
}

// settingsIn returns the settings that a file makes of values.
func settingsIn(f *file, values map[string]string) map[string]setting {
	all := map[string]setting{}
	for name, value := range values {
		all[name] = f.in(value)
	}
	return all
}

// projectDotenv returns the .env file that is nearest to the working folder, below the home
// folder.
func (r *reader) projectDotenv(folder string) *file {
	for _, dir := range r.foldersUp(func(dir string) bool { return dir == r.Home }) {
		if dir == r.Home {
			return nil
		}
		for _, path := range []string{filepath.Join(dir, folder, ".env"), filepath.Join(dir, ".env")} {
			if f := r.open(path, true); f != nil {
				return f
			}
		}
	}
	return nil
}

// readGoose reads the settings of goose: a variable, then config.yaml.
func readGoose(r *reader) reading {
	var all []endpoint
	f := r.gooseConfig()
	values := assignments(f, ":")
	for _, name := range []string{"ANTHROPIC_HOST", "OPENAI_HOST", "GOOGLE_HOST"} {
		all = append(all, r.variableEndpoint(name, f.in(values[name])))
	}
	return reading{all, overrideVariables}
}

func (r *reader) gooseConfig() *file {
	if root := r.Getenv("GOOSE_PATH_ROOT"); root != "" {
		return r.user(root, "config", "config.yaml")
	}
	return r.user(systemFolder(filepath.Join(r.configHome(), "goose"), filepath.Join(r.configHome(), "goose"), filepath.Join(r.Getenv("APPDATA"), "Block", "goose", "config")), "config.yaml")
}
