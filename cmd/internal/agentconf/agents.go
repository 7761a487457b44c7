package agentconf

import (
	"path/filepath"
	"slices"
	"strings"
)

// An agent is a row of the table of agents: the places it reads base URLs from, and the way to
// replace them.
type agent struct {
	title    string
	programs []string
	// single is true if the agent sends all requests to one host, so that a host that does not
	// answer makes the start pointless.
	single bool
	// generic is true for the row of commands that are no known agent.
	generic bool
	// anywhere is true if a variable that only this agent reads replaces all of its settings, so
	// that the override also works if a script starts the agent.
	anywhere bool
	read     func(*reader) reading
}

// A reading is the configuration of an agent and the way to replace the hosts in it.
type reading struct {
	endpoints []endpoint
	override  func(*Override, overrideInput) // modifies the override
}

// An overrideInput is the input for the override of one agent.
type overrideInput struct {
	bases      map[string]string // base URLs at the proxy by provider; none for one that is left alone
	command    Command
	getenv     func(string) string
	folder     string
	usesVendor func(provider string) bool
}

func (a *agent) name() string { return a.programs[0] }

// agents are the agents with settings of their own, in the order of their names.
var agents = []agent{
	{title: "Claude Code", programs: []string{"claude"}, single: true, read: readClaude},
	{title: "Codex", programs: []string{"codex"}, read: readCodex},
	{title: "Gemini CLI", programs: []string{"gemini"}, read: readGemini},
	{title: "goose", programs: []string{"goose"}, read: readGoose},
	{title: "Kilo", programs: []string{"kilo", "kilocode"}, anywhere: true, read: kilo.read},
	{title: "opencode", programs: []string{"opencode"}, anywhere: true, read: opencode.read},
	{title: "pi", programs: []string{"pi"}, read: readPi},
	{title: "Qwen Code", programs: []string{"qwen"}, read: readQwen},
}

// anyCommand is the row for commands that are no known agent: scripts, shells, and agents that
// read only variables, such as aider, OpenHands, Crush, Copilot CLI and Kimi CLI.
var anyCommand = agent{title: "this command", programs: []string{"command"}, generic: true, read: readVariables}

// agentsFor returns the rows that apply to a program. named is false for a command that is no
// known agent; it may start one, so that the rows that are set by variables apply as well.
func agentsFor(program string) (all []*agent, named bool) {
	program = strings.TrimSuffix(program, filepath.Ext(program))
	for i := range agents {
		if slices.Contains(agents[i].programs, program) {
			return []*agent{&agents[i]}, true
		}
	}
	all = []*agent{&anyCommand}
	for i := range agents {
		if agents[i].anywhere {
			all = append(all, &agents[i])
		}
	}
	return all, false
}

// vendorURLs are the hosts of the vendors' APIs, by the names of their upstreams.
var vendorURLs = map[string]string{
	"anthropic":  "https://api.anthropic.com",
	"openai":     "https://api.openai.com",
	"gemini":     "https://generativelanguage.googleapis.com",
	"codeassist": "https://cloudcode-pa.googleapis.com",   // Gemini CLI with the login of a person
	"chatgpt":    "https://chatgpt.com/backend-api/codex", // Codex with the login of a person
}

// A vendorVariable is a variable by which programs choose the host of a vendor.
type vendorVariable struct {
	name     string
	upstream string // the vendor; "": any host, and without the variable the program uses another API
	version  string // the end of its default value
}

var vendorVariables = []vendorVariable{
	{"ANTHROPIC_BASE_URL", "anthropic", ""},
	{"ANTHROPIC_API_BASE", "anthropic", ""},     // LiteLLM, with which aider, OpenHands and mini-swe-agent send
	{"ANTHROPIC_HOST", "anthropic", ""},         // goose
	{"ANTHROPIC_API_ENDPOINT", "anthropic", ""}, // Crush
	{"OPENAI_BASE_URL", "openai", "/v1"},
	{"OPENAI_API_BASE", "openai", "/v1"},
	{"OPENAI_HOST", "openai", ""},
	{"OPENAI_API_ENDPOINT", "openai", "/v1"},
	{"GOOGLE_GEMINI_BASE_URL", "gemini", ""},
	{"GEMINI_BASE_URL", "gemini", ""},
	{"GOOGLE_HOST", "gemini", ""},
	{"GEMINI_API_ENDPOINT", "gemini", ""},
	{"CODE_ASSIST_ENDPOINT", "codeassist", ""},
	{"AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "bedrock", ""},
	{"ANTHROPIC_BEDROCK_BASE_URL", "bedrock", ""},
	{"COPILOT_PROVIDER_BASE_URL", "", ""}, // Copilot CLI with a key of the user
	{"LLM_BASE_URL", "", ""},              // OpenHands
	{"KIMI_BASE_URL", "", ""},             // Kimi CLI
}

// relatedTo returns the variables of a vendor, without those that the agent reads.
func relatedTo(upstream string, read ...string) (all []string) {
	for _, v := range vendorVariables {
		if v.upstream == upstream && !slices.Contains(read, v.name) {
			all = append(all, v.name)
		}
	}
	return all
}

// upstreamOf returns the name of the route for the host that a variable names.
func (v vendorVariable) upstreamOf() string {
	return strings.ToLower(strings.ReplaceAll(v.name, "_", "-"))
}

// readVariables reads the variables of all vendors. A file that a known agent prefers to nothing,
// but not to a variable, keeps the variable from being set: the command may be such an agent.
func readVariables(r *reader) reading {
	var all []endpoint
	files := r.variablesInFiles()
	for _, v := range vendorVariables {
		e := endpoint{provider: v.name, upstream: v.upstream, version: v.version, base: r.variable(v.name)}
		inFile, hasFile := files[v.name]
		switch {
		case v.upstream == "bedrock":
			continue // requests are signed for their host, unless an upstream is given
		case e.base.source == "" && hasFile && inFile.file.project:
			e.base = inFile
		case e.base.source == "" && hasFile:
			e.alone = inFile.file.path + " sets it to " + redacted(inFile.url) + " for one agent; start that agent by its name"
		case e.base.source == "" && (v.upstream == "" || hasSibling(files, v)):
			continue
		}
		if e.base.source == "" {
			e.related = relatedTo(v.upstream, v.name)
		} else if v.upstream == "" || !isFirstSet(r, v) {
			e.upstream = v.upstreamOf()
		}
		all = append(all, e)
	}
	return reading{all, overrideVariables}
}

// hasSibling reports whether a .env file names a host by another variable of the vendor. Programs
// that read several variables differ in their order.
func hasSibling(files map[string]setting, v vendorVariable) bool {
	return slices.ContainsFunc(vendorVariables, func(o vendorVariable) bool {
		s, ok := files[o.name]
		return ok && o.upstream == v.upstream && filepath.Base(s.file.path) == ".env"
	})
}

// isFirstSet reports whether no earlier variable of the vendor is set.
func isFirstSet(r *reader, v vendorVariable) bool {
	i := slices.IndexFunc(vendorVariables, func(o vendorVariable) bool {
		return o.upstream == v.upstream && r.Getenv(o.name) != ""
	})
	return i < 0 || vendorVariables[i].name == v.name
}

// variablesInFiles returns the settings of vendor variables in files that programs read for
// variables that are not set: .env files above the working folder, and the files of agents.
func (r *reader) variablesInFiles() map[string]setting {
	all := map[string]setting{}
	add := func(f *file, values map[string]string) {
		for name, value := range values {
			if _, known := all[name]; !known && value != "" {
				all[name] = f.in(value)
			}
		}
	}
	for _, dir := range r.foldersUp(never) {
		if dir == r.Home {
			continue // its .env file is one of the user
		}
		f := r.project(dir, ".env")
		add(f, assignments(f, "="))
	}
	for _, path := range [][]string{{r.Home, ".env"}, {r.Home, ".gemini", ".env"}, {r.Home, ".qwen", ".env"}, {r.configHome(), "mini-swe-agent", ".env"}} {
		f := r.user(path...)
		add(f, assignments(f, "="))
	}
	f := r.gooseConfig()
	add(f, assignments(f, ":"))
	return all
}

// overrideVariables sets the variables that are named like the providers.
func overrideVariables(o *Override, in overrideInput) {
	for _, v := range vendorVariables {
		if base := in.bases[v.name]; base != "" {
			o.Env = append(o.Env, Variable{v.name, base})
		}
	}
	if in.usesVendor("ANTHROPIC_BASE_URL") {
		o.Env = append(o.Env, toolSearch(in)...)
	}
}

// toolSearch returns the variable that keeps Claude Code from sending all tools in each request.
// Claude Code does so if the base URL is not the one of Anthropic, unless the variable is set.
func toolSearch(in overrideInput) []Variable {
	if in.getenv("ENABLE_TOOL_SEARCH") != "" {
		return nil
	}
	return []Variable{{"ENABLE_TOOL_SEARCH", "true"}}
}
