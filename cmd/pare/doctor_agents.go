package main

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/pare-llm/pare/agentlog"
)

// An agent is a program that keeps sessions, and where it does so. Patterns are below
// the home folder and hold for all systems: what is not there costs nothing, and the
// home may be a copy from another machine. A * stands for one name or a part of it.
type agent struct {
	name   string
	format agentlog.Format
	files  []string // sessions that are resumed
	aside  []string // sessions that are not resumed by themselves: archived ones, those of sub-agents
	// mixed: other files lie there too, and only the content tells.
	mixed bool
	// unread are stores that are newer than what agentlog reads.
	unread []string
}

// agents is the table of all agents that are known, in the order of the report. Where
// each keeps its sessions is what its documentation or its source says; the variables
// that move a folder are in moved.
var agents = []agent{
	{
		name: "claude-code", format: agentlog.ClaudeCode,
		files: []string{".claude/projects/*/*.jsonl", ".config/claude/projects/*/*.jsonl"},
		aside: []string{".claude/projects/*/*/subagents/*.jsonl", ".config/claude/projects/*/*/subagents/*.jsonl"},
	},
	{
		name: "codex", format: agentlog.Codex,
		files: []string{".codex/sessions/*/*/*/rollout-*.jsonl", ".codex/sessions/rollout-*.jsonl"},
		aside: []string{".codex/archived_sessions/rollout-*.jsonl"},
	},
	{
		name: "gemini-cli", format: agentlog.GeminiCLI,
		files: []string{".gemini/tmp/*/chats/*.json", ".gemini/tmp/*/chats/*.jsonl"},
		aside: []string{".gemini/tmp/*/chats/*/*.jsonl"},
	},
	{
		name: "pi", format: agentlog.Pi,
		files: []string{".pi/agent/sessions/*.jsonl", ".pi/agent/sessions/*/*.jsonl"},
	},
	{
		name: "openclaw", format: agentlog.Pi, mixed: true,
		files: []string{".openclaw/agents/*/sessions/*.jsonl"},
	},
	{name: "cline", format: agentlog.Cline, files: append(inEditors("saoudrizwan.claude-dev"), ".cline/data/tasks/*/"+clineFile)},
	{name: "roo", format: agentlog.Cline, files: inEditors("rooveterinaryinc.roo-cline")},
	{name: "kilo", format: agentlog.Cline, files: inEditors("kilocode.kilo-code")},
	{
		name: "goose", format: agentlog.Goose,
		files: inGoose("*.jsonl"), unread: inGoose("sessions.db"),
	},
	{
		name: "openhands", format: agentlog.OpenHands, mixed: true,
		files:  []string{".openhands/*.json", ".openhands/*/*.json", ".openhands/*/*.jsonl"},
		unread: []string{".openhands/conversations/*/events", ".openhands/sessions/*/events"},
	},
	{
		// Here a session is a folder: its messages; their parts are elsewhere.
		name: "opencode", format: agentlog.OpenCode,
		files:  []string{".local/share/opencode/storage/message/*", ".local/share/opencode/project/*/storage/session/message/*"},
		unread: []string{".local/share/opencode/opencode.db"},
	},
}

const clineFile = "api_conversation_history.json"

// inEditors is where an extension of VS Code, or of one of the editors made from it,
// keeps its tasks.
func inEditors(extension string) []string {
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
func inGoose(name string) []string {
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
type move struct{ folder, variable, below string }

// moved lists the variables; the first that is set and whose folder leads to a pattern counts.
var moved = []move{
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

func agentNames() []string {
	var names []string
	for _, a := range agents {
		names = append(names, a.name)
	}
	return names
}

// A session is one session of an agent, as its folder shows it.
type session struct {
	agent *agent
	path  string
	info  fs.FileInfo // of the file, or of the newest message of a folder
	bytes int64
}

// A search finds sessions.
type search struct {
	home   string
	getenv func(string) string // says where folders were moved
	aside  bool                // look for sessions that are not resumed by themselves, too

	found  []session
	unread []session       // stores that cannot be read
	failed []*fs.PathError // folders that cannot be read
}

// look finds all sessions of an agent, sorted by path.
func (s *search) look(a *agent) {
	patterns := a.files
	if s.aside {
		patterns = slices.Concat(a.files, a.aside)
	}
	seen := map[string]bool{} // a variable may lead two patterns to one place
	first := len(s.found)
	for _, p := range patterns {
		folder, rest := s.root(p)
		s.match(folder, rest, func(name string) {
			if x, ok := sessionAt(a, name); ok && !seen[name] && !isBackup(name) {
				seen[name] = true
				s.found = append(s.found, x)
			}
		})
	}
	slices.SortFunc(s.found[first:], func(a, b session) int { return cmp.Compare(a.path, b.path) })
	for _, p := range a.unread {
		folder, rest := s.root(p)
		s.match(folder, rest, func(name string) {
			if info, err := os.Stat(name); err == nil && !seen[name] {
				seen[name] = true
				s.unread = append(s.unread, session{agent: a, path: name, info: info})
			}
		})
	}
}

// root puts a pattern below the home folder, or where it was moved to, and returns the
// folder and what is to be matched below it.
func (s *search) root(pattern string) (folder, rest string) {
	for _, m := range moved {
		below, inside := strings.CutPrefix(pattern, m.folder+"/")
		if to := s.getenv(m.variable); inside && to != "" {
			return filepath.Join(to, m.below), below
		}
	}
	return s.home, pattern
}

// match calls visit with everything that a pattern stands for. Unlike filepath.Glob it
// tells of folders that cannot be read.
func (s *search) match(folder, pattern string, visit func(string)) {
	name, rest, more := strings.Cut(pattern, "/")
	next := func(name string) {
		if more {
			s.match(filepath.Join(folder, name), rest, visit)
			return
		}
		visit(filepath.Join(folder, name))
	}
	if !strings.Contains(name, "*") {
		next(name)
		return
	}
	entries, err := os.ReadDir(folder)
	var failed *fs.PathError
	if errors.As(err, &failed) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) &&
		!slices.ContainsFunc(s.failed, func(e *fs.PathError) bool { return e.Path == failed.Path }) {
		s.failed = append(s.failed, failed)
	}
	for _, e := range entries {
		if ok, _ := path.Match(name, e.Name()); ok {
			next(e.Name())
		}
	}
}

// sessionAt returns the session at a path that a pattern has matched, or false if there
// is none.
func sessionAt(a *agent, name string) (session, bool) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return session{}, false // it has just gone
	case a.format == agentlog.OpenCode:
		return folderSession(a, name, info)
	case !info.Mode().IsRegular():
		return session{}, false
	}
	return session{agent: a, path: name, info: info, bytes: info.Size()}, true
}

// folderSession returns the session whose messages lie in a folder. Its time is that of
// the newest message.
func folderSession(a *agent, name string, info fs.FileInfo) (session, bool) {
	entries, err := os.ReadDir(name)
	if err != nil || len(entries) == 0 {
		return session{}, false
	}
	x := session{agent: a, path: name, info: info}
	for _, e := range entries {
		if i, err := e.Info(); err == nil && i.Mode().IsRegular() {
			x.bytes += i.Size()
			if x.info.IsDir() || i.ModTime().After(x.info.ModTime()) {
				x.info = i
			}
		}
	}
	return x, true
}
