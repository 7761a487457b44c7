package agentlog

import (
	"path"
	"strings"
)

// databases lists the SQLite files of agents: a pattern of the name, a part of the folder, and a
// description.
var databases = []struct{ name, below, is string }{
	{"opencode.db", "", "the database in which opencode keeps its sessions"},
	{"crush.db", "", "the database in which Crush keeps its sessions"},
	{"sessions.db", "goose", "the database in which goose keeps its sessions"},
	{"sessions.db", "cline", "an index of Cline: the sessions are the files *.messages.json beside it"},
	{"state_*.sqlite", "", "an index of Codex: the sessions are the files rollout-*.jsonl"},
	{"thread_history_*.sqlite", "", "an index of Codex: the sessions are the files rollout-*.jsonl"},
	{"session-store.db", "", "an index of GitHub Copilot CLI: the sessions are the files events.jsonl"},
}

// Database describes an agent's SQLite file by its name. It returns "" for an unknown file.
func Database(file string) string {
	folder, name := path.Split(strings.ToLower(strings.ReplaceAll(file, `\`, "/")))
	for _, d := range databases {
		if ok, _ := path.Match(d.name, name); ok && strings.Contains(folder, d.below) {
			return d.is
		}
	}
	return ""
}
