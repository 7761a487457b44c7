package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pare-llm/pare/wire"
)

// A client is an agent and how to talk to it.
type client struct {
	name     string
	dialect  wire.Dialect
	program  []string // of its package, patterns below the folder of the client; the last one is found
	argv     []string // how it is run; filled by find
	folder   string   // below the folder of all clients
	setup    func(home, url string) map[string]string
	env      []string // HOME and URL are replaced
	begin    func(prompt, model string) []string
	resumed  func(prompt, model, id string) []string
	sessions string // pattern of its files, below the home
	id       func(file string) string
	models   [2]string
	read     func(n, file, cwd string) call
	run      func(n, command string) call
	look     func(n, file, cwd string) call // for pictures; nil: read
	agent    func(n string) call            // nil: it has no sub-agents
	overflow string
	large    int    // tokens, at which it compacts
	compact  string // prompt that makes it compact, if it does not compact by itself
	late     bool   // it compacts depending on the last answer
	gains    bool   // it compacts only if that makes the session shorter
	say      func(w http.ResponseWriter, a answer)
	damages  []damage
	speech   *regexp.Regexp           // of the lines that requests are made from; nil: all
	notes    []string                 // members that repeat texts
	proof    map[string]string        // words that the file of a kind of session holds, or it is not one
	storage  string                   // the folder of its sessions, below the home; "": they are files of their own
	stored   func(file string) []byte // the conversation in its database; nil: it has none
	clips    bool                     // it shortens results before it sends them
	small    string                   // a model of a small window, for sessions that are full; "": the first one
}

// find finds the program of a client.
func (c *client) find(clients string) bool {
	dirs, _ := filepath.Glob(filepath.Join(clients, c.folder))
	for _, dir := range dirs {
		for _, pattern := range c.program {
			if found, _ := filepath.Glob(filepath.Join(dir, pattern)); len(found) > 0 {
				c.argv = []string{found[0]}
				if ext := filepath.Ext(found[0]); ext == ".js" || ext == ".mjs" {
					c.argv = []string{"node", found[0]}
					if own, _ := filepath.Glob(filepath.Join(dir, "node_modules/node*/bin/node")); len(own) > 0 {
						c.argv[0] = own[0] // it needs a newer one
					}
				}
				return true
			}
		}
	}
	return false
}

// calls returns the calls of the model for an order, or nil.
func (c *client) calls(order, n, cwd string) []call {
	switch order {
	case "run", "large":
		return []call{c.run(n, "echo output "+n+" of the program")}
	case "read":
		return []call{c.read(n+"a", "a.txt", cwd), c.read(n+"b", "b.txt", cwd)}
	case "sleep":
		return []call{c.run(n, "sleep 100")}
	case "agent":
		return []call{c.agent(n)}
	case "miss":
		return []call{c.read(n, "missing.txt", cwd)}
	case "look":
		if c.look != nil {
			return []call{c.look(n, "picture.png", cwd)}
		}
		return []call{c.read(n, "picture.png", cwd)}
	case "many": // one after the other, as all of these
		var all []call
		for i := range 24 {
			id := n + strings.NewReplacer("0", "a", "1", "b").Replace(fmt.Sprintf("%05b", i))
			all = append(all, c.run(id, fmt.Sprintf("echo output %s of the program in step %d", n, i)))
		}
		return all
	case "chain":
		return []call{c.run(n, "echo output "+n+" of the program"), c.read(n+"a", "a.txt", cwd), c.read(n+"b", "b.txt", cwd)}
	}
	return nil
}

// allClients are the clients of the campaign.
func allClients() []*client {
	var all []*client
	for _, version := range []string{"1.0.128", "2.0.76", "2.1.325"} {
		all = append(all, claudeCode(version))
	}
	return append(all, codex(), pi(), gemini(), opencode(), opencodeSQL(), qwen(), copilot(), continues())
}

func claudeCode(version string) *client {
	compact, task := "", object{"description": "look", "prompt": "look around", "subagent_type": "general-purpose"}
	if version[0] > '1' {
		compact, task["run_in_background"] = "/compact", false
	}
	return &client{
		compact: compact,
		name:    "Claude Code " + version, dialect: wire.Anthropic, folder: "claude-code@" + version,
		program: []string{"node_modules/@anthropic-ai/claude-code-linux-*/claude", "node_modules/@anthropic-ai/claude-code/cli.js"},
		env: []string{
			"ANTHROPIC_BASE_URL=URL", "ANTHROPIC_API_KEY=sk-ant-none", "CLAUDE_CODE_MAX_RETRIES=0", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1",
			"DISABLE_ERROR_REPORTING=1", "DISABLE_AUTOUPDATER=1", "DISABLE_BUG_COMMAND=1", "DISABLE_NON_ESSENTIAL_MODEL_CALLS=1", "DO_NOT_TRACK=1",
		},
		begin: func(prompt, model string) []string {
			return []string{"--model", model, "--allowedTools", "Read,Task,Bash(echo:*),Bash(sleep:*)", "-p", prompt}
		},
		resumed: func(prompt, model, id string) []string {
			return []string{"--model", model, "--allowedTools", "Read,Task,Bash(echo:*),Bash(sleep:*)", "--resume", id, "-p", prompt}
		},
		sessions: ".claude/projects/*/????????-????-*.jsonl", id: stem, models: [2]string{"claude-sonnet-4-5", "claude-opus-4-1"},
		read: func(n, file, cwd string) call {
			return call{id: n, tool: "Read", args: object{"file_path": filepath.Join(cwd, file)}}
		},
		run: func(n, command string) call {
			return call{id: n, tool: "Bash", args: object{"command": command, "description": "Run it"}}
		},
		agent: func(n string) call {
			return call{id: n, tool: "Task", args: task}
		},
		large:    199_000,
		overflow: `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}`,
		say:      sayAnthropic, damages: lineDamages(`"type":"tool_use"`, `"type":"tool_result"`),
		speech: regexp.MustCompile(`"type":"(user|assistant|system|attachment)"`), notes: []string{"toolUseResult"},
		proof: map[string]string{"compacted": `"isCompactSummary":true`, "killed": "sleep 100", "overflowed": "prompt 2: overflow"},
	}
}

func codex() *client {
	return &client{
		name: "Codex 0.166.0", dialect: wire.OpenAIResponses, folder: "codex@0.166.0",
		program: []string{"node_modules/@openai/codex*/vendor/*/bin/codex", "node_modules/@openai/codex*/vendor/*/codex/codex"},
		setup: func(_, url string) map[string]string {
			return map[string]string{".codex/config.toml": fmt.Sprintf("model_provider = \"local\"\napproval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\nmodel_auto_compact_token_limit = 200000\n[model_providers.local]\nname = \"local\"\nbase_url = \"%s/v1\"\nwire_api = \"responses\"\nenv_key = \"LOCAL_KEY\"\nrequest_max_retries = 0\nstream_max_retries = 0\n", url)}
		},
		env: []string{"CODEX_HOME=HOME/.codex", "LOCAL_KEY=x"},
		begin: func(prompt, model string) []string {
			return []string{"exec", "--skip-git-repo-check", "-m", model, prompt}
		},
		resumed: func(prompt, model, id string) []string {
			return []string{"exec", "--skip-git-repo-check", "-m", model, "resume", id, prompt}
		},
		sessions: ".codex/sessions/*/*/*/rollout-*.jsonl",
		id:       func(file string) string { s := stem(file); return s[max(0, len(s)-36):] },
		models:   [2]string{"gpt-5", "gpt-5-codex"}, clips: true,
		read: func(n, file, _ string) call {
			return call{id: n, tool: "exec_command", args: object{"cmd": "cat " + file}}
		},
		run: func(n, command string) call { return call{id: n, tool: "exec_command", args: object{"cmd": command}} },
		look: func(n, file, cwd string) call {
			return call{id: n, tool: "view_image", args: object{"path": filepath.Join(cwd, file)}}
		},
		agent: func(n string) call {
			return call{id: n, tool: "spawn_agent", space: "multi_agent_v1", args: object{"message": "look around"}}
		},
		large:    1_000_000,
		overflow: `{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`,
		say:      sayResponses, damages: lineDamages(`"type":"function_call",`, `"type":"function_call_output"`),
		speech: regexp.MustCompile(`"type":"(response_item|compacted)"`),
		proof:  map[string]string{"compacted": `"type":"compacted"`, "killed": "sleep 100", "overflowed": "prompt 2: overflow"},
	}
}

func pi() *client {
	return &client{
		late: true,
		name: "pi 0.87.1", dialect: wire.OpenAIChat, folder: "pi@0.87.1", program: []string{"node_modules/@earendil-works/pi-coding-agent/dist/cli.js"},
		setup: func(_, url string) map[string]string {
			return map[string]string{".pi/agent/settings.json": `{"compaction":{"enabled":true,"reserveTokens":1000,"keepRecentTokens":1}}`, ".pi/agent/models.json": fmt.Sprintf(`{"providers":{"local":{"baseUrl":"%s/v1","api":"openai-completions","apiKey":"x","models":[{"id":"m","input":["text","image"]},{"id":"n","input":["text","image"]},{"id":"gpt-4o","input":["text"]}]}}}`, url)}
		},
		env: []string{"PI_OFFLINE=1"},
		begin: func(prompt, model string) []string {
			return []string{"--provider", "local", "--model", model, "-p", prompt}
		},
		resumed: func(prompt, model, file string) []string {
			return []string{"--provider", "local", "--model", model, "--session", file, "-p", prompt}
		},
		sessions: ".pi/agent/sessions/*/*.jsonl", id: func(file string) string { return file }, models: [2]string{"m", "n"}, small: "gpt-4o",
		read:     func(n, file, _ string) call { return call{id: n, tool: "read", args: object{"path": file}} },
		run:      func(n, command string) call { return call{id: n, tool: "bash", args: object{"command": command}} },
		large:    1_000_000,
		overflow: `{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`,
		say:      sayChat, damages: lineDamages(`"type":"toolCall"`, `"role":"toolResult"`), notes: []string{"details"},
		proof: map[string]string{"compacted": `"type":"compaction"`, "killed": "sleep 100", "overflowed": "prompt 2: overflow"},
	}
}

func gemini() *client {
	return &client{
		name: "Gemini CLI 0.61.0", dialect: wire.Gemini, folder: "gemini-cli@0.61.0", program: []string{"node_modules/@google/gemini-cli/bundle/gemini.js"},
		setup: func(_, url string) map[string]string {
			return map[string]string{".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}},"telemetry":{"enabled":false},"privacy":{"usageStatisticsEnabled":false},"general":{"disableAutoUpdate":true}}`}
		},
		env:   []string{"GEMINI_API_KEY=x", "GOOGLE_GEMINI_BASE_URL=URL", "GEMINI_CLI_TRUST_WORKSPACE=true", "NO_BROWSER=1"},
		begin: func(prompt, model string) []string { return []string{"-m", model, "--yolo", "-p", prompt} },
		resumed: func(prompt, model, id string) []string {
			return []string{"-m", model, "--yolo", "--resume", id, "-p", prompt}
		},
		sessions: ".gemini/tmp/*/chats/session-*.json*", id: geminiID, models: [2]string{"gemini-2.5-pro", "gemini-2.5-flash"},
		read: func(n, file, _ string) call { return call{id: n, tool: "read_file", args: object{"file_path": file}} },
		run: func(n, command string) call {
			return call{id: n, tool: "run_shell_command", args: object{"command": command}}
		},
		agent: func(n string) call {
			return call{id: n, tool: "invoke_agent", args: object{"agent_name": "generalist", "prompt": "look around"}}
		},
		large:    1_000_000,
		overflow: `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`,
		say:      sayGemini, damages: lineDamages(`"toolCalls":[{`, `"functionResponse"`), notes: []string{"resultDisplay", "description"},
		proof: map[string]string{"compacted": "summary of what was said", "killed": "prompt 2: sleep", "overflowed": "prompt 2: overflow"},
	}
}

func opencode() *client {
	return &client{
		name: "opencode 1.1.65", dialect: wire.OpenAIChat, folder: "opencode@1.1.65", program: []string{"node_modules/opencode-linux-*/bin/opencode"},
		setup: func(_, url string) map[string]string {
			return map[string]string{".config/opencode/opencode.json": fmt.Sprintf(`{"autoupdate":false,"share":"disabled","provider":{"local":{"npm":"@ai-sdk/openai-compatible","name":"local","options":{"baseURL":"%s/v1","apiKey":"x"},"models":{"m":{"name":"m","tool_call":true,"attachment":true,"modalities":{"input":["text","image"],"output":["text"]},"limit":{"context":128000,"output":4096}},"n":{"name":"n","tool_call":true,"limit":{"context":128000,"output":4096}},"gpt-4o":{"name":"gpt-4o","tool_call":true,"limit":{"context":128000,"output":4096}}}}},"model":"local/m","small_model":"local/m"}`, url)}
		},
		env:   []string{"XDG_DATA_HOME=", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1"},
		begin: func(prompt, model string) []string { return []string{"run", "--model", "local/" + model, prompt} },
		resumed: func(prompt, model, _ string) []string {
			return []string{"run", "--model", "local/" + model, "--continue", prompt}
		},
		sessions: ".local/share/opencode/storage/part/*/*.json", id: stem, models: [2]string{"m", "n"}, small: "gpt-4o",
		read: func(n, file, cwd string) call {
			return call{id: n, tool: "read", args: object{"filePath": filepath.Join(cwd, file)}}
		},
		run: func(n, command string) call {
			return call{id: n, tool: "bash", args: object{"command": command, "description": "run it"}}
		},
		agent: func(n string) call {
			return call{id: n, tool: "task", args: object{"description": "look", "prompt": "look around", "subagent_type": "general"}}
		},
		large:    1_000_000,
		overflow: `{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`,
		say:      sayChat, damages: partDamages(), storage: ".local/share/opencode/storage", notes: []string{"metadata", "title", "summary"},
		proof: map[string]string{"compacted": `"type":"compaction"`, "killed": "sleep 100", "overflowed": "prompt 2: overflow"},
	}
}

// geminiID is the id in the head of a file of Gemini CLI, without which it resumes the latest session.
func geminiID(file string) string {
	data, _ := os.ReadFile(file)
	if id := sessionIDs.FindSubmatch(data); id != nil {
		return string(id[1])
	}
	return "latest"
}

var sessionIDs = regexp.MustCompile(`"sessionId": ?"([0-9a-f-]{36})"`)

func stem(file string) string {
	name := filepath.Base(file)
	return name[:len(name)-len(filepath.Ext(name))]
}

// write writes files below a folder.
func write(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
