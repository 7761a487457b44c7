package agentlog

import (
	"path"
	"strings"
)

// databases are the SQLite files that agents keep, by name and a part of the path, and what
// each is.
var databases = []struct{ name, below, is string }{
	{"opencode.db", "", "the database in which opencode keeps its sessions"},
	{"crush.db", "", "the database in which Crush keeps its sessions"},
	{"sessions.db", "goose", "the database in which goose keeps its sessions"},
	{"sessions.db", "cline", "an index of Cline: the sessions are the files *.messages.json beside it"},
	{"state_*.sqlite", "", "an index of Codex: the sessions are the files rollout-*.jsonl"},
	{"thread_history_*.sqlite", "", "an index of Codex: the sessions are the files rollout-*.jsonl"},
	{"session-store.db", "", "an index of GitHub Copilot CLI: the sessions are the files events.jsonl"},
}

// Database tells from its name what the SQLite file of an agent is; "" if nothing does.
func Database(file string) string {
	folder, name := path.Split(strings.ToLower(strings.ReplaceAll(file, `\`, "/")))
	for _, d := range databases {
		if ok, _ := path.Match(d.name, name); ok && strings.Contains(folder, d.below) {
			return d.is
		}
	}
	return ""
}
