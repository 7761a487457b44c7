package main

import (
	"fmt"
	"path/filepath"
	"regexp"

	"github.com/pare-llm/pare/wire"
)

// opencodeSQL is opencode since it keeps its sessions in a database.
func opencodeSQL() *client {
	c := opencode()
	c.name, c.folder = "opencode 1.18.33", "opencode@1.18.33"
	c.sessions, c.storage = ".local/share/opencode/opencode.db", ""
	c.stored, c.damages = openCodeRows, rowDamages()
	return c
}

func qwen() *client {
	return &client{
		name: "qwen-code 0.24.4", dialect: wire.OpenAIChat, folder: "qwen-code@0.24.4", program: []string{"node_modules/@qwen-code/qwen-code/cli.js"},
		env: []string{"OPENAI_API_KEY=x", "OPENAI_BASE_URL=URL/v1", "QWEN_TELEMETRY_ENABLED=false", "NO_BROWSER=1"},
		setup: func(_, _ string) map[string]string {
			return map[string]string{".qwen/settings.json": `{"security":{"auth":{"selectedType":"openai"}},"telemetry":{"enabled":false},"privacy":{"usageStatisticsEnabled":false},"general":{"disableAutoUpdate":true,"enableAutoUpdate":false}}`}
		},
		begin: func(prompt, model string) []string {
			return []string{"-m", model, "--auth-type", "openai", "--yolo", "-p", prompt}
		},
		resumed: func(prompt, model, id string) []string {
			return []string{"-m", model, "--auth-type", "openai", "--yolo", "--resume", id, "-p", prompt}
		},
		sessions: ".qwen/projects/*/chats/*.jsonl", id: stem, models: [2]string{"gpt-4o", "gpt-4o-mini"},
		read: func(n, file, cwd string) call {
			return call{id: n, tool: "read_file", args: object{"file_path": filepath.Join(cwd, file)}}
		},
		run: func(n, command string) call {
			return call{id: n, tool: "run_shell_command", args: object{"command": command, "is_background": false, "description": "run it"}}
		},
		large:    1_000_000,
		gains:    true,
		overflow: tooLongChat,
		say:      sayChat, damages: lineDamages(`"functionCall":`, `"functionResponse":`),
		speech: regexp.MustCompile(`"type":"(user|assistant|tool_result)"|"subtype":"chat_compression"`), notes: []string{"toolCallResult", "resultDisplay"},
		proof: map[string]string{"compacted": "summary of what was said", "killed": "sleep 100", "overflowed": "prompt 2: overflow"},
	}
}

func copilot() *client {
	return &client{
		name: "Copilot CLI 1.0.102", dialect: wire.OpenAIChat, folder: "copilot@1.0.102", program: []string{"node_modules/@github/copilot-linux-*/copilot"},
		env: []string{
			"COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false", "COPILOT_PROVIDER_BASE_URL=URL/v1", "COPILOT_PROVIDER_API_KEY=x", "COPILOT_PROVIDER_WIRE_API=completions",
		},
		begin: func(prompt, model string) []string {
			return []string{"--model", model, "--allow-all-tools", "--allow-all-paths", "-p", prompt}
		},
		resumed: func(prompt, model, id string) []string {
			return []string{"--model", model, "--allow-all-tools", "--allow-all-paths", "--resume=" + id, "-p", prompt}
		},
		sessions: ".copilot/session-state/*/events.jsonl", id: func(file string) string { return filepath.Base(filepath.Dir(file)) },
		models: [2]string{"gpt-4o", "gpt-4o-mini"},
		read: func(n, file, cwd string) call {
			return call{id: n, tool: "view", args: object{"path": filepath.Join(cwd, file)}}
		},
		run: func(n, command string) call {
			return call{id: n, tool: "bash", args: object{"command": command, "description": "run it", "initial_wait": 120}}
		},
		large:    1_000_000,
		overflow: tooLongChat,
		say:      sayChat, damages: lineDamages(`"toolRequests":[{`, `"type":"tool.execution_complete"`),
		speech: regexp.MustCompile(`"type":"(user\.message|assistant\.message|tool\.execution_complete|session\.compaction_complete)"`),
		notes:  []string{"transformedContent", "toolTelemetry", "detailedContent", "intentionSummary"},
		proof:  map[string]string{"killed": "sleep 100", "overflowed": "prompt 2: overflow"},
	}
}

func continues() *client {
	return &client{
		name: "Continue 1.5.47", dialect: wire.OpenAIChat, folder: "continue@1.5.47", program: []string{"node_modules/@continuedev/cli/dist/cn.js"},
		setup: func(_, url string) map[string]string {
			return map[string]string{".continue/config.yaml": fmt.Sprintf("name: local\nversion: 1.0.0\nschema: v1\nmodels:\n  - name: local\n    provider: openai\n    model: gpt-4o\n    apiKey: x\n    apiBase: %s/v1\n    roles: [chat]\n    capabilities: [tool_use]\n", url)}
		},
		env: []string{"CONTINUE_TELEMETRY_ENABLED=0", "CONTINUE_CLI_ENABLE_TELEMETRY=0", "FORCE_NO_TTY=true"},
		begin: func(prompt, _ string) []string {
			return []string{"--config", "HOME/.continue/config.yaml", "--auto", "-p", prompt}
		},
		resumed: func(prompt, _, _ string) []string {
			return []string{"--config", "HOME/.continue/config.yaml", "--auto", "--resume", "-p", prompt}
		},
		sessions: ".continue/sessions/*-*.json", id: stem, models: [2]string{"gpt-4o", "gpt-4o"},
		read: func(n, file, cwd string) call {
			return call{id: n, tool: "Read", args: object{"filepath": filepath.Join(cwd, file)}}
		},
		run:      func(n, command string) call { return call{id: n, tool: "Bash", args: object{"command": command}} },
		large:    1_000_000,
		overflow: tooLongChat,
		say:      sayChat, damages: historyDamages(), notes: []string{"parsedArgs", "description", "contextItems"},
		proof: map[string]string{"killed": "sleep 100", "overflowed": "prompt 2: overflow"},
	}
}

const tooLongChat = `{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`
