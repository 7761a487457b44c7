package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A vendor is an API that agents are pointed at by a variable.
type vendor struct {
	name     string // of its upstream
	variable string
	also     []string // other variables that say the same
	version  string   // what base URLs of its clients end with
}

var runVendors = []vendor{
	{"anthropic", "ANTHROPIC_BASE_URL", nil, ""},
	{"openai", "OPENAI_BASE_URL", []string{"OPENAI_API_BASE"}, "/v1"},
	{"gemini", "GOOGLE_GEMINI_BASE_URL", []string{"GEMINI_BASE_URL"}, ""},
	{"bedrock", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", []string{"ANTHROPIC_BEDROCK_BASE_URL"}, ""},
	{"codeassist", "CODE_ASSIST_ENDPOINT", nil, ""}, // Gemini CLI with the login of a person
}

// An ownVariable is one that a client reads in the place of the vendor's, or beside it.
type ownVariable struct {
	name    string
	vendor  string // whose requests go there; "": it is pointed at the proxy only where it is set
	version string // what is in it of the path
}

var ownVariables = []ownVariable{
	{"ANTHROPIC_API_BASE", "anthropic", ""},                                                           // LiteLLM, which aider, OpenHands and mini-swe-agent send with
	{"ANTHROPIC_HOST", "anthropic", ""}, {"OPENAI_HOST", "openai", ""}, {"GOOGLE_HOST", "gemini", ""}, // goose
	{"ANTHROPIC_API_ENDPOINT", "anthropic", ""}, {"OPENAI_API_ENDPOINT", "openai", "/v1"}, {"GEMINI_API_ENDPOINT", "gemini", ""}, // Crush
	{"COPILOT_PROVIDER_BASE_URL", "", ""}, // Copilot CLI with a key of one's own
	{"LLM_BASE_URL", "", ""},              // OpenHands
	{"KIMI_BASE_URL", "", ""},             // Kimi CLI
}

// upstream is what the address in a variable of its own is called.
func (v ownVariable) upstream() string { return strings.ToLower(strings.ReplaceAll(v.name, "_", "-")) }

// Upstreams that no path names, beside those of the vendors' APIs.
const (
	codeAssist = "https://cloudcode-pa.googleapis.com"
	chatGPT    = "https://chatgpt.com/backend-api/codex" // Codex with the login of a person
)

// A destination says where the requests of an agent go on to.
type destination struct {
	flag     []string          // --upstream as given
	set      map[string]string // base URLs of the environment, by vendor, or by the name of a client's own variable
	bedrock  bool              // requests to it are to be changed
	loggedIn bool              // Codex is used by a person's login, not by a key
}

// destinations reads the upstreams from the environment and the flags. It returns an error if a
// base URL of the environment names a port of this machine on which nothing listens: the requests
// would fail, and no other host may get them.
func destinations(getenv func(string) string, flags []string) (d destination, err error) {
	d = destination{flag: flags, set: map[string]string{}}
	given := map[string]bool{}
	for _, f := range flags {
		name, _, _ := strings.Cut(f, "=")
		given[name] = true
	}
	d.bedrock = given["bedrock"]
	for _, v := range runVendors {
		address := getenv(v.variable)
		for i := 0; address == "" && i < len(v.also); i++ {
			address = getenv(v.also[i])
		}
		switch {
		case address == "" || given[v.name] || v.name == "bedrock":
		case dead(address):
			return d, deadError(v.variable, address)
		default:
			d.set[v.name] = address
		}
	}
	for _, v := range ownVariables {
		switch address := getenv(v.name); {
		case address == "" || given[v.vendor]:
		case dead(address):
			return d, deadError(v.name, address)
		default:
			d.set[v.name] = address
		}
	}
	d.loggedIn = codexLogin(getenv)
	return d, nil
}

// deadError returns the error for a base URL at which nothing listens, with the next step.
func deadError(source, address string) error {
	return hinted{fmt.Errorf("%s is %s, and nothing listens there", source, address), "start the server at this address, or unset " + source + "; Pare sends the requests to no other host"}
}

// dead reports whether an address is one of this machine at which nobody listens.
func dead(address string) bool {
	u, err := url.Parse(address)
	if err != nil || !loopback(u.Hostname()) {
		return false
	}
	port := u.Port()
	if port == "" {
		port = u.Scheme
	}
	c, err := net.DialTimeout("tcp", net.JoinHostPort(u.Hostname(), port), time.Second)
	if err == nil {
		c.Close()
	}
	return err != nil
}

// codexLogin reports whether Codex is used with the login of a person: its requests go elsewhere.
func codexLogin(getenv func(string) string) bool {
	dir := getenv("CODEX_HOME")
	if dir == "" {
		dir = filepath.Join(getenv("HOME"), ".codex")
	}
	raw, err := os.ReadFile(filepath.Join(dir, "auth.json"))
	var auth struct {
		Key    *string         `json:"OPENAI_API_KEY"`
		Tokens json.RawMessage `json:"tokens"`
	}
	return err == nil && json.Unmarshal(raw, &auth) == nil && auth.Key == nil && len(auth.Tokens) > len("null")
}

// flags are the upstreams as --upstream has them.
func (d destination) flags() []string {
	all := append([]string{}, d.flag...)
	named := map[string]bool{}
	for _, f := range d.flag {
		name, _, _ := strings.Cut(f, "=")
		named[name] = true
	}
	for _, v := range runVendors {
		if address, ok := d.set[v.name]; ok {
			all, named[v.name] = append(all, v.name+"="+address), true
		}
	}
	for _, v := range ownVariables {
		if address, ok := d.set[v.name]; ok {
			all = append(all, v.upstream()+"="+address)
		}
	}
	for _, own := range [][2]string{{"codeassist", codeAssist}, {"chatgpt", chatGPT}} {
		if !named[own[0]] {
			all = append(all, own[0]+"="+own[1])
		}
	}
	return all
}

// bases are the addresses at which an agent reaches its vendors through the proxy.
type bases struct {
	destination
	address string
}

func (d destination) forBase(address string) bases { return bases{d, address} }

// of is the base URL of a vendor. One that was set takes the path of its own with it; the vendors'
// own are found by the paths of their APIs.
func (b bases) of(v vendor) string {
	if _, ok := b.set[v.name]; ok || v.name == "codeassist" {
		return b.address + "/u/" + v.name
	}
	return b.address + v.version
}

// own is what a client's own variable says; "" if it is none of ours to set.
func (b bases) own(v ownVariable) string {
	_, vendors := b.set[v.vendor]
	_, owns := b.set[v.name]
	switch {
	case owns:
		return b.address + "/u/" + v.upstream()
	case v.vendor == "openai" && vendors && v.version == "":
		return "" // the path of a base URL of OpenAI's has the version in it, or something else
	case v.vendor == "openai" && v.version == "":
		return b.address
	}
	return b.named(v.vendor, "")
}

// named is the base URL of a vendor by the name of its upstream, with the version of its API, which
// some clients want in it.
func (b bases) named(name, version string) string {
	for _, v := range runVendors {
		if v.name == name && v.version == "" {
			return b.of(v) + version
		}
		if v.name == name {
			return b.of(v)
		}
	}
	return ""
}

// variables are what the environment of an agent gets.
func (b bases) variables(getenv func(string) string) (all [][2]string) {
	for _, v := range runVendors {
		if v.name == "bedrock" && !b.bedrock {
			continue
		}
		for _, name := range append([]string{v.variable}, v.also...) {
			all = append(all, [2]string{name, b.of(v)})
		}
	}
	for _, v := range ownVariables {
		if base := b.own(v); base != "" {
			all = append(all, [2]string{v.name, base})
		}
	}
	// Claude Code sends all tools at once to a base URL that is not Anthropic's, unless it is told
	// that what is behind it is.
	if _, other := b.set["anthropic"]; !other && getenv("ENABLE_TOOL_SEARCH") == "" {
		all = append(all, [2]string{"ENABLE_TOOL_SEARCH", "true"})
	}
	for _, name := range []string{"OPENCODE_CONFIG_CONTENT", "KILO_CONFIG_CONTENT"} { // Kilo is made from it
		if content, ok := b.opencode(getenv(name)); ok {
			all = append(all, [2]string{name, content})
		}
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		if v := getenv(name); v != "*" {
			all = append(all, [2]string{name, strings.TrimPrefix(v+",127.0.0.1,localhost", ",")})
		}
	}
	return all
}

// environ is an environment with those variables in it.
func (b bases) environ(of []string) []string {
	values := map[string]string{}
	for _, line := range of {
		name, value, _ := strings.Cut(line, "=")
		values[name] = value
	}
	var all []string
	ours := map[string]bool{}
	for _, v := range b.variables(func(name string) string { return values[name] }) {
		ours[v[0]] = true
		all = append(all, v[0]+"="+v[1])
	}
	for _, line := range of {
		if name, _, _ := strings.Cut(line, "="); !ours[name] {
			all = append(all, line)
		}
	}
	return all
}

// opencode is a configuration of opencode in its environment, which beats its files. What is in
// there already stays; one that cannot be read is left alone.
func (b bases) opencode(have string) (content string, ok bool) {
	tree := map[string]any{}
	if have != "" && json.Unmarshal([]byte(have), &tree) != nil {
		return "", false
	}
	providers := member(tree, "provider")
	for _, p := range [][3]string{{"anthropic", "anthropic", "/v1"}, {"openai", "openai", "/v1"}, {"google", "gemini", "/v1beta"}} {
		options := member(member(providers, p[0]), "options")
		if options["baseURL"] == nil {
			options["baseURL"] = b.named(p[1], p[2])
		}
	}
	return strings.TrimSpace(string(encode(tree))), true
}

// member is an object in an object, made if it is not there.
func member(of map[string]any, name string) map[string]any {
	m, ok := of[name].(map[string]any)
	if !ok {
		m = map[string]any{}
		of[name] = m
	}
	return m
}

// codex are the arguments by which Codex is pointed at the proxy: it has no variable for that.
func (b bases) codex() []string {
	base := b.named("openai", "")
	if _, other := b.set["openai"]; !other && b.loggedIn {
		base = b.address + "/u/chatgpt"
	}
	return []string{"-c", fmt.Sprintf("openai_base_url=%q", base)}
}

// arguments are those that an agent gets in front of its own. What they name lies in a folder
// that is removed when the agent has ended; others have none, so that nothing of them is left when
// this process is killed.
func (b bases) arguments(program string, own []string) (args []string, dir string, err error) {
	switch strings.TrimSuffix(program, filepath.Ext(program)) {
	case "codex":
		return b.codex(), "", nil
	case "pi":
		if len(own) > 0 && slices.Contains(piCommands, own[0]) {
			return nil, "", nil
		}
		if dir, err = os.MkdirTemp("", "pare-run-"); err != nil {
			return nil, "", err
		}
		file := filepath.Join(dir, "pare.mjs")
		return []string{"--extension", file}, dir, os.WriteFile(file, []byte(b.pi()), 0o600)
	}
	return nil, "", nil
}

// piCommands are those of pi that talk to no model, and must stand first.
var piCommands = []string{"install", "remove", "uninstall", "update", "list", "config"}

// pi is an extension that points the providers of pi at the proxy.
func (b bases) pi() string {
	text := "export default function (pi) {\n"
	for _, p := range [][3]string{{"anthropic", "anthropic", ""}, {"openai", "openai", "/v1"}, {"google", "gemini", "/v1beta"}} {
		text += fmt.Sprintf("  pi.registerProvider(%q, { baseUrl: %q });\n", p[0], b.named(p[1], p[2]))
	}
	return text + "}\n"
}
