package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

type dialAgent struct {
	name     string
	program  string
	path     string
	version  string
	vendor   string
	variable string
	foreign  string
	user     string
	project  string
	text     func(base string) string
	args     func(base string) []string
	base     func() string
	generic  bool
	many     bool
}

const (
	anthropicVendor = "https://api.anthropic.com"
	openaiVendor    = "https://api.openai.com"
	geminiVendor    = "https://generativelanguage.googleapis.com"
	messages        = "/v1/messages"
	generate        = "/v1beta/models/gemini-2.5-pro:generateContent"
)

var dialAgents = []dialAgent{
	{name: "Claude Code", program: "claude", path: messages, vendor: anthropicVendor, variable: "ANTHROPIC_BASE_URL", user: ".claude/settings.json", project: ".claude/settings.json",
		text: claudeText, args: func(base string) []string { return []string{"--settings", claudeText(base)} }, base: claudeBase},
	{name: "Claude Code, local settings", program: "claude", path: messages, vendor: anthropicVendor, project: ".claude/settings.local.json", text: claudeText, base: claudeBase},
	{name: "Codex", program: "codex", path: "/responses", version: "/v1", vendor: openaiVendor + "/v1", foreign: "OPENAI_BASE_URL", user: ".codex/config.toml", many: true,
		text: func(base string) string { return "openai_base_url = \"" + base + "\"\n" },
		args: func(base string) []string { return []string{"-c", `openai_base_url="` + base + `"`} },
		base: func() string { return codexBase("openai_base_url", openaiVendor+"/v1") }},
	{name: "Codex, a provider", program: "codex", path: "/responses", version: "/v1", user: ".codex/config.toml", many: true,
		text: func(base string) string {
			return "model_provider = \"corp\"\n[model_providers.corp]\nname = \"Corp\"\nbase_url = \"" + base + "\"\n"
		},
		args: func(base string) []string { return []string{"-c", "model_providers.corp.base_url=" + base} },
		base: func() string { return codexBase("model_providers.corp.base_url", "") }},
	{name: "Gemini CLI", program: "gemini", path: generate, vendor: geminiVendor, variable: "GOOGLE_GEMINI_BASE_URL", user: ".gemini/.env", project: ".env", many: true,
		text: func(base string) string { return "GOOGLE_GEMINI_BASE_URL=" + base + "\n" },
		base: func() string {
			return firstBase(os.Getenv("GOOGLE_GEMINI_BASE_URL"), lineOf(".gemini/.env", "GOOGLE_GEMINI_BASE_URL="), lineOf(".env", "GOOGLE_GEMINI_BASE_URL="), lineOf(inHome(".gemini/.env"), "GOOGLE_GEMINI_BASE_URL="), geminiVendor)
		}},
	{name: "Qwen Code", program: "qwen", path: "/chat/completions", version: "/v1", vendor: openaiVendor + "/v1", variable: "OPENAI_BASE_URL", user: ".qwen/settings.json", project: ".qwen/settings.json", many: true,
		text: func(base string) string {
			return `{"security":{"auth":{"selectedType":"openai","baseUrl":"` + base + `"}}}`
		},
		base: func() string {
			return firstBase(os.Getenv("OPENAI_BASE_URL"), jsonIn(".qwen/settings.json", "security", "auth", "baseUrl"), jsonIn(inHome(".qwen/settings.json"), "security", "auth", "baseUrl"), openaiVendor+"/v1")
		}},
	{name: "opencode", program: "opencode", path: "/messages", version: "/v1", vendor: anthropicVendor + "/v1", variable: "ANTHROPIC_BASE_URL", user: ".config/opencode/opencode.json", project: "opencode.json", many: true,
		text: providerText("anthropic"), base: func() string { return opencodeBase("OPENCODE", "anthropic") }},
	{name: "opencode, OpenAI", program: "opencode", path: "/responses", version: "/v1", vendor: openaiVendor + "/v1", variable: "OPENAI_BASE_URL", user: ".config/opencode/opencode.json", project: ".opencode/opencode.json", many: true,
		text: providerText("openai"), base: func() string { return opencodeBase("OPENCODE", "openai") }},
	{name: "opencode, a provider", program: "opencode", path: "/chat/completions", version: "/v1", user: ".config/opencode/opencode.json", project: "opencode.json", many: true,
		text: providerText("corp"), base: func() string { return opencodeBase("OPENCODE", "corp") }},
	{name: "Kilo", program: "kilo", path: "/messages", version: "/v1", vendor: anthropicVendor + "/v1", variable: "ANTHROPIC_BASE_URL", user: ".config/kilo/kilo.json", project: "kilo.json", many: true,
		text: providerText("anthropic"), base: func() string { return opencodeBase("KILO", "anthropic") }},
	{name: "pi", program: "pi", path: "/models/gemini-2.5-pro:generateContent", version: "/v1beta", vendor: geminiVendor + "/v1beta", foreign: "GOOGLE_GEMINI_BASE_URL", user: ".pi/agent/models.json", many: true,
		text: piText("google"), base: func() string { return piBase("google", geminiVendor+"/v1beta") }},
	{name: "pi, a provider", program: "pi", path: messages, user: ".pi/agent/models.json", text: piText("corp"), many: true, base: func() string { return piBase("corp", "") }},
	{name: "goose", program: "goose", path: "/v1/chat/completions", vendor: openaiVendor, variable: "OPENAI_HOST", foreign: "OPENAI_BASE_URL", user: ".config/goose/config.yaml", many: true,
		text: func(base string) string { return "GOOSE_PROVIDER: openai\nOPENAI_HOST: " + base + "\n" },
		base: func() string {
			return firstBase(os.Getenv("OPENAI_HOST"), lineOf(inHome(".config/goose/config.yaml"), "OPENAI_HOST: "), openaiVendor)
		}},
	{name: "aider", program: "aider", path: "/chat/completions", version: "/v1", vendor: openaiVendor + "/v1", variable: "OPENAI_API_BASE", generic: true,
		base: func() string {
			return firstBase(os.Getenv("OPENAI_BASE_URL"), os.Getenv("OPENAI_API_BASE"), openaiVendor+"/v1")
		}},
	{name: "mini-swe-agent", program: "mini", path: messages, vendor: anthropicVendor, variable: "ANTHROPIC_API_BASE", user: ".config/mini-swe-agent/.env", generic: true,
		text: func(base string) string { return "ANTHROPIC_API_BASE=" + base + "\n" },
		base: func() string {
			return firstBase(os.Getenv("ANTHROPIC_API_BASE"), lineOf(inHome(".config/mini-swe-agent/.env"), "ANTHROPIC_API_BASE="), os.Getenv("ANTHROPIC_BASE_URL"), anthropicVendor)
		}},
	{name: "Crush", program: "crush", path: messages, vendor: anthropicVendor, variable: "ANTHROPIC_API_ENDPOINT", generic: true, base: func() string { return firstBase(os.Getenv("ANTHROPIC_API_ENDPOINT"), anthropicVendor) }},
	{name: "Copilot CLI", program: "copilot", path: "/chat/completions", version: "/v1", variable: "COPILOT_PROVIDER_BASE_URL", generic: true, base: func() string { return os.Getenv("COPILOT_PROVIDER_BASE_URL") }},
	{name: "OpenHands", program: "openhands", path: "/chat/completions", version: "/v1", variable: "LLM_BASE_URL", generic: true, base: func() string { return os.Getenv("LLM_BASE_URL") }},
	{name: "Kimi CLI", program: "kimi", path: "/chat/completions", version: "/v1", variable: "KIMI_BASE_URL", generic: true, base: func() string { return os.Getenv("KIMI_BASE_URL") }},
	{name: "a script with a .env file", program: "script", path: "/responses", version: "/v1", vendor: openaiVendor + "/v1", variable: "OPENAI_BASE_URL", project: ".env", generic: true,
		text: func(base string) string { return "OPENAI_BASE_URL=" + base + "\n" },
		base: func() string {
			return firstBase(os.Getenv("OPENAI_BASE_URL"), lineOf(".env", "OPENAI_BASE_URL="), openaiVendor+"/v1")
		}},
	{name: "a script that starts opencode", program: "wrapper", path: "/messages", version: "/v1", vendor: anthropicVendor + "/v1", variable: "ANTHROPIC_BASE_URL", user: ".config/opencode/opencode.json", project: "opencode.json", generic: true, many: true,
		text: providerText("anthropic"), base: func() string { return opencodeBase("OPENCODE", "anthropic") }},
}

func dialStandIn(name string) {
	for _, a := range dialAgents {
		if a.name != name {
			continue
		}
		base := a.base()
		fmt.Println("base", base)
		u, err := url.Parse(base)
		if err != nil || u.Hostname() != "127.0.0.1" {
			return
		}
		req, err := http.NewRequest("POST", base+a.path, strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`))
		if err != nil {
			panic(err)
		}
		req.Header.Set("X-Api-Key", "key of "+name)
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			fmt.Println("error", err)
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		fmt.Printf("status %d\nlocation %s\nbody %s\n", resp.StatusCode, resp.Header.Get("Location"), body)
	}
}

func firstBase(all ...string) string {
	for _, base := range all {
		if base != "" {
			return base
		}
	}
	return ""
}

func inHome(name string) string { return filepath.Join(os.Getenv("HOME"), name) }

func lineOf(path, prefix string) string {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			return strings.Trim(strings.TrimSpace(rest), `"`)
		}
	}
	return ""
}

func jsonIn(path string, keys ...string) string {
	text, _ := os.ReadFile(path)
	return jsonAt(text, keys...)
}

func jsonAt(text []byte, keys ...string) string {
	var v any
	json.Unmarshal(text, &v)
	for _, key := range keys {
		tree, _ := v.(map[string]any)
		v = tree[key]
	}
	s, _ := v.(string)
	return s
}

func claudeText(base string) string { return `{"env":{"ANTHROPIC_BASE_URL":"` + base + `"}}` }

func claudeBase() string {
	const name = "ANTHROPIC_BASE_URL"
	var argument string
	for i, arg := range os.Args[:len(os.Args)-1] {
		if arg == "--settings" {
			argument = jsonAt([]byte(os.Args[i+1]), "env", name)
		}
	}
	return firstBase(argument, jsonIn(".claude/settings.local.json", "env", name), jsonIn(".claude/settings.json", "env", name), jsonIn(inHome(".claude/settings.json"), "env", name), os.Getenv(name), anthropicVendor)
}

func codexBase(key, vendor string) string {
	var argument string
	for i, arg := range os.Args[:len(os.Args)-1] {
		if value, ok := strings.CutPrefix(os.Args[i+1], key+"="); ok && arg == "-c" {
			argument = strings.Trim(value, `"`)
		}
	}
	return firstBase(argument, lineOf(inHome(".codex/config.toml"), key[strings.LastIndexByte(key, '.')+1:]+" = "), vendor)
}

func providerText(id string) func(string) string {
	return func(base string) string {
		return `{"provider":{"` + id + `":{"options":{"baseURL":"` + base + `"}}}}`
	}
}

func opencodeBase(prefix, id string) string {
	keys := []string{"provider", id, "options", "baseURL"}
	name := strings.ToLower(prefix)
	vendor := map[string]string{"anthropic": firstBase(os.Getenv("ANTHROPIC_BASE_URL"), anthropicVendor+"/v1"), "openai": firstBase(os.Getenv("OPENAI_BASE_URL"), openaiVendor+"/v1")}[id]
	return firstBase(jsonAt([]byte(os.Getenv(prefix+"_CONFIG_CONTENT")), keys...), jsonIn("."+name+"/"+name+".json", keys...), jsonIn(name+".json", keys...), jsonIn(inHome(".config/"+name+"/"+name+".json"), keys...), vendor)
}

func piText(id string) func(string) string {
	return func(base string) string { return `{"providers":{"` + id + `":{"baseUrl":"` + base + `"}}}` }
}

func piBase(id, vendor string) string {
	var extension string
	for i, arg := range os.Args[:len(os.Args)-1] {
		if arg != "--extension" {
			continue
		}
		text, _ := os.ReadFile(os.Args[i+1])
		if m := regexp.MustCompile(`registerProvider\("` + id + `", \{ baseUrl: "(.*)" \}\)`).FindSubmatch(text); m != nil {
			extension = string(m[1])
		}
	}
	return firstBase(extension, jsonIn(inHome(".pi/agent/models.json"), "providers", id, "baseUrl"), vendor)
}

func recordedPare() {
	file, err := os.OpenFile(os.Getenv("PARE_DIALS"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go answerNoName(server, file)
		return client, nil
	}}
	runProcess(func(address string) { fmt.Fprintln(file, "dial", address) })
}

func answerNoName(c net.Conn, file io.Writer) {
	defer c.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(c, query); err != nil || len(query) < 13 {
			return
		}
		var labels []string
		for rest := query[12:]; len(rest) > 0 && rest[0] > 0 && int(rest[0]) < len(rest); rest = rest[1+rest[0]:] {
			labels = append(labels, string(rest[1:1+rest[0]]))
		}
		fmt.Fprintln(file, "lookup", strings.Join(labels, "."))
		query[2], query[3] = 0x81, 0x83 // a response with the code NXDOMAIN
		c.Write(append(size[:], query...))
	}
}
