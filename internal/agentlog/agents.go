package agentlog

import "slices"

// An Agent is a program that keeps sessions, and where it does so. Patterns are below
// the home folder and hold for all systems: what is not there costs nothing, and the
// home may be a copy from another machine. A * stands for one name or a part of it. Many
// goroutines may read it.
type Agent struct {
	Name      string
	Format    Format
	files     []string // sessions that are resumed
	secondary []string // sessions that are not resumed by themselves: archived ones, those of sub-agents
	// mixed: other files lie there too, and only the content tells.
	sharesFolder bool
	// alone: of those only an index is not a session, and that is JSON.
	onlySessions bool
	// unread are stores that are newer than what is read here.
	unreadable []string
	// databases hold sessions, too.
	databases []string
}

// agents is the table of all agents that are known, in the order of the report. Where
// each keeps its sessions is what its documentation or its source says; the variables
// that move a folder are in moved.
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
		// Here a session is a folder: its messages; their parts are elsewhere.
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
	cline3File = ".messages.json" // from version 3 on, behind the id
)

// inEditors is where an extension of VS Code, or of one of the editors made from it,
// keeps its tasks.
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

// inGoose is where the versions of goose keep sessions.
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

// A move is a variable of the environment that puts a folder elsewhere.
type folderOverride struct{ folder, variable, below string }

// moved lists the variables; the first that is set and whose folder leads to a pattern counts.
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

// Agents lists all agents that are known, in the order of the table.
func Agents() []Agent { return slices.Clone(agents) }

// AgentNames lists the names of all agents, in order.
func AgentNames() []string {
	var names []string
	for _, a := range Agents() {
		names = append(names, a.Name)
	}
	return names
}
