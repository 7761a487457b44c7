package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/wire"
)

func agent() {
	for _, name := range os.Args[1:] {
		if name == "wait" {
			awaitSignal(os.Getenv("ANTHROPIC_BASE_URL"))
		}
		body, err := os.ReadFile(name)
		if err != nil {
			panic(err)
		}
		answer, err := http.Post(os.Getenv("ANTHROPIC_BASE_URL")+"/v1/messages", "application/json", bytes.NewReader(body))
		if err != nil {
			panic(err)
		}
		answer.Body.Close()
		fmt.Println(name, answer.StatusCode)
	}
}

func awaitSignal(base string) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	fmt.Println("waiting", base)
	os.Exit(int((<-signals).(syscall.Signal)))
}

type agentStandIn struct {
	name    string
	dialect wire.Dialect
	url     func() string
	set     string
}

var agentStandIns = []agentStandIn{
	{"claude", wire.Anthropic, variable("ANTHROPIC_BASE_URL", "/v1/messages"), ""},
	{"codex", wire.OpenAIResponses, func() string {
		base := regexp.MustCompile(`^openai_base_url="(.*)"$`).FindStringSubmatch(os.Args[2])
		return base[1] + "/responses"
	}, ""},
	{"gemini", wire.Gemini, variable("GOOGLE_GEMINI_BASE_URL", "/v1beta/models/"+histories.DefaultModel(wire.Gemini)+":generateContent"), ""},
	{"opencode", wire.Anthropic, func() string {
		var conf struct {
			Provider map[string]struct{ Options struct{ BaseURL string } }
		}
		if err := json.Unmarshal([]byte(os.Getenv("OPENCODE_CONFIG_CONTENT")), &conf); err != nil {
			panic(err)
		}
		return conf.Provider["anthropic"].Options.BaseURL + "/messages"
	}, ""},
	{"pi", wire.Gemini, func() string {
		text, err := os.ReadFile(os.Args[2])
		if err != nil {
			panic(err)
		}
		base := regexp.MustCompile(`registerProvider\("google", \{ baseUrl: "(.*)" \}\)`).FindStringSubmatch(string(text))
		return base[1] + "/models/" + histories.DefaultModel(wire.Gemini) + ":generateContent"
	}, ""},
	{"qwen", wire.OpenAIChat, variable("OPENAI_BASE_URL", "/chat/completions"), ""},
	{"aider", wire.OpenAIChat, variable("OPENAI_API_BASE", "/chat/completions"), ""},
	{"mini", wire.Anthropic, variable("ANTHROPIC_API_BASE", "/v1/messages"), ""},
	{"goose", wire.OpenAIChat, variable("OPENAI_HOST", "/v1/chat/completions"), ""},
	{"crush", wire.Anthropic, variable("ANTHROPIC_API_ENDPOINT", "/v1/messages"), ""},
	{"copilot", wire.OpenAIChat, variable("COPILOT_PROVIDER_BASE_URL", "/chat/completions"), "COPILOT_PROVIDER_BASE_URL"},
	{"openhands", wire.OpenAIChat, variable("LLM_BASE_URL", "/chat/completions"), "LLM_BASE_URL"},
	{"kimi", wire.OpenAIChat, variable("KIMI_BASE_URL", "/chat/completions"), "KIMI_BASE_URL"},
}

func variable(name, path string) func() string {
	return func() string { return os.Getenv(name) + path }
}

func (a agentStandIn) run() {
	for _, name := range os.Args[1:] {
		status, ends := strings.CutPrefix(name, "exit=")
		switch {
		case ends && status == "7":
			os.Exit(7)
		case name == "wait":
			awaitSignal(a.url())
		case !strings.HasSuffix(name, ".json"):
			continue // added by pare
		}
		body, err := os.ReadFile(name)
		if err != nil {
			panic(err)
		}
		answer, err := http.Post(a.url(), "application/json", bytes.NewReader(body))
		if err != nil {
			panic(err)
		}
		answer.Body.Close()
		fmt.Println(name, answer.StatusCode)
	}
}

func standInByName() {
	program := filepath.Base(os.Args[0])
	if name := os.Getenv("PARE_STAND_IN"); name != "" && !strings.HasPrefix(program, "pare") {
		dialStandIn(name)
		os.Exit(0)
	}
	for _, a := range agentStandIns {
		if a.name == program {
			a.run()
			os.Exit(0)
		}
	}
}
