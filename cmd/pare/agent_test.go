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

// agent is a stand-in for a coding agent: agent FILE... sends each file to the API at
// ANTHROPIC_BASE_URL and prints the status; "agent wait" says that it runs, and ends with the number
// of the signal that it gets.
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

// awaitSignal says that it waits, and where the API is, and ends with the number of the signal that comes.
func awaitSignal(base string) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	fmt.Println("waiting", base)
	os.Exit(int((<-signals).(syscall.Signal)))
}

// An agentStandIn is a small program in the place of an agent: it finds its base URL exactly where that
// agent looks for it, and sends to the paths that the agent sends to.
type agentStandIn struct {
	name    string
	dialect wire.Dialect
	url     func() string
	set     string // the variable that people set for it, and that it does nothing without
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
	{"pi", wire.Gemini, func() string { // os.Args: --extension FILE
		text, err := os.ReadFile(os.Args[2])
		if err != nil {
			panic(err)
		}
		base := regexp.MustCompile(`registerProvider\("google", \{ baseUrl: "(.*)" \}\)`).FindStringSubmatch(string(text))
		return base[1] + "/models/" + histories.DefaultModel(wire.Gemini) + ":generateContent"
	}, ""},
	{"qwen", wire.OpenAIChat, variable("OPENAI_BASE_URL", "/chat/completions"), ""},
	{"aider", wire.OpenAIChat, variable("OPENAI_API_BASE", "/chat/completions"), ""},
	{"mini", wire.Anthropic, variable("ANTHROPIC_API_BASE", "/v1/messages"), ""}, // mini-swe-agent
	{"goose", wire.OpenAIChat, variable("OPENAI_HOST", "/v1/chat/completions"), ""},
	{"crush", wire.Anthropic, variable("ANTHROPIC_API_ENDPOINT", "/v1/messages"), ""},
	{"copilot", wire.OpenAIChat, variable("COPILOT_PROVIDER_BASE_URL", "/chat/completions"), "COPILOT_PROVIDER_BASE_URL"},
	{"openhands", wire.OpenAIChat, variable("LLM_BASE_URL", "/chat/completions"), "LLM_BASE_URL"},
	{"kimi", wire.OpenAIChat, variable("KIMI_BASE_URL", "/chat/completions"), "KIMI_BASE_URL"},
}

func variable(name, path string) func() string {
	return func() string { return os.Getenv(name) + path }
}

// run is the program: it sends each file that it is given, prints the status, and ends as it is told;
// "wait" says that it runs, and ends with the number of the signal that it gets.
func (a agentStandIn) run() {
	for _, name := range os.Args[1:] {
		status, ends := strings.CutPrefix(name, "exit=")
		switch {
		case ends && status == "7":
			os.Exit(7)
		case name == "wait":
			awaitSignal(a.url())
		case !strings.HasSuffix(name, ".json"):
			continue // what pare has put in front
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

// standInByName runs the stand-in that this program is called as, if it is one.
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
