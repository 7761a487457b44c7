package agentlog

import "slices"

// An Agent is a program that keeps sessions in files. Patterns are relative to the home folder and
// valid for all systems: a missing folder costs nothing, and the home folder may be a copy from
// another machine. A * matches one name or a part of it.
type Agent struct {
	Name      string
	Format    Format
	files     []string // sessions that users resume
	secondary []string // archived sessions and those of sub-agents
	// sharesFolder is true if the folder also holds other files, so that only the content
	// identifies a session.
	sharesFolder bool
	// onlySessions is true if the only other file in the folder is an index, which is JSON.
	onlySessions bool
	// unreadable are stores of newer versions that this package cannot read.
	unreadable []string
	// databases are SQLite files with sessions.
	databases []string
}

// agents lists the known agents in the order of the report. The patterns come from the
// documentation or the source of each agent. folderOverrides lists the variables that move folders.
var agents = []Agent{
	{
		Name: "claude-code", Format: ClaudeCode,
		files:     []string{".claude/projects/*/*.jsonl", ".config/claude/projects/*/*.jsonl"},
		secondary: []string{".claude/projects/*/*/subagents/*.jsonl", ".config/claude/projects/*/*/subagents/*.jsonl"},
	},
	{
		Name: "codex", Format: Codex,
		files:     []string{".codex/sessions/*/*/*/rollout-*.jsonl", ".codex/sessions/rollout-*.jsonl"},
		secondary: []string{".codex/archived_sessions/rollout-*.jsonl"},
	},
	{
		Name: "gemini-cli", Format: GeminiCLI,
		files:     []string{".gemini/tmp/*/chats/*.json", ".gemini/tmp/*/chats/*.jsonl"},
		secondary: []string{".gemini/tmp/*/chats/*/*.jsonl"},
	},
	{
		Name: "pi", Format: Pi,
		files: []string{".pi/agent/sessions/*.jsonl", ".pi/agent/sessions/*/*.jsonl"},
	},
	{
		Name: "openclaw", Format: Pi, sharesFolder: true,
		files: []string{".openclaw/agents/*/sessions/*.jsonl"},
	},
	{
		Name: "cline", Format: Cline,
		files: append(editorPatterns("saoudrizwan.claude-dev"), ".cline/data/tasks/*/"+clineFile, ".cline/data/sessions/*/*"+cline3File),
	},
	{Name: "roo", Format: Cline, files: editorPatterns("rooveterinaryinc.roo-cline")},
	{Name: "kilo", Format: Cline, files: editorPatterns("kilocode.kilo-code")},
	{
		Name: "goose", Format: Goose,
		files: goosePatterns("*.jsonl"), databases: goosePatterns("sessions.db"),
	},
	{
		Name: "openhands", Format: OpenHands, sharesFolder: true,
		files:      []string{".openhands/*.json", ".openhands/*/*.json", ".openhands/*/*.jsonl"},
		unreadable: []string{".openhands/conversations/*/events", ".openhands/sessions/*/events"},
	},
	{
		// A session is a folder with its messages. The parts of the messages are elsewhere.
		Name: "opencode", Format: OpenCode,
		files:     []string{".local/share/opencode/storage/message/*", ".local/share/opencode/project/*/storage/session/message/*"},
		databases: []string{".local/share/opencode/opencode.db"},
	},
	{Name: "qwen-code", Format: QwenCode, files: []string{".qwen/projects/*/chats/*.jsonl"}},
	{Name: "copilot", Format: Copilot, files: []string{".copilot/session-state/*/events.jsonl"}},
	{Name: "continue", Format: Continue, sharesFolder: true, onlySessions: true, files: []string{".continue/sessions/*.json"}},
}

const (
	clineFile  = "api_conversation_history.json"
	cline3File = ".messages.json" // from version 3 on, after the id
)

// editorPatterns returns the places where VS Code and its derivatives keep the tasks of an
// extension.
func editorPatterns(extension string) []string {
	var all []string
	for _, user := range []string{
		".config/*/User", "Library/Application Support/*/User", "AppData/Roaming/*/User",
		".vscode-server/data/User", ".vscode-server-insiders/data/User", ".cursor-server/data/User", ".windsurf-server/data/User",
	} {
		all = append(all, user+"/globalStorage/"+extension+"/tasks/*/"+clineFile)
	}
	return all
}

// goosePatterns returns the places where the versions of goose keep sessions.
func goosePatterns(name string) []string {
	var all []string
	for _, folder := range []string{
		".local/share/goose", ".local/share/Block/goose", "Library/Application Support/goose", "Library/Application Support/Block/goose",
		"AppData/Roaming/Block/goose", "AppData/Roaming/Block/goose/data", ".config/goose",
	} {
		all = append(all, folder+"/sessions/"+name)
	}
	return all
}

// A folderOverride is an environment variable that moves a folder.
type folderOverride struct{ folder, variable, below string }

// folderOverrides lists the variables. The first one that is set and whose folder begins a pattern
// applies.
var folderOverrides = []folderOverride{
	{".claude", "CLAUDE_CONFIG_DIR", ""},
	{".codex", "CODEX_HOME", ""},
	{".gemini", "GEMINI_CLI_HOME", ".gemini"},
	{".pi/agent", "PI_CODING_AGENT_DIR", ""},
	{".openclaw", "OPENCLAW_STATE_DIR", ""},
	{".local/share/goose", "GOOSE_PATH_ROOT", "data"},
	{".local/share", "XDG_DATA_HOME", ""},
	{".config", "XDG_CONFIG_HOME", ""},
	{"AppData/Roaming", "APPDATA", ""},
}

// Agents returns the known agents in the order of the report.
func Agents() []Agent { return slices.Clone(agents) }

// AgentNames returns the names of all agents in the order of the report.
func AgentNames() []string {
	var names []string
	for _, a := range Agents() {
		names = append(names, a.Name)
	}
	return names
}
